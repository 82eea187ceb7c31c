// REQUIRES: ptxas
// RUN: tl-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tl-assemble{assembler=ptxas}))'

// expected-error @below {{module `m` has no `tl.target`}}
gpu.module @m {
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error @below {{kernel `k` has no `kernel.ptx`}}
  tl.compiled_kernel @k params([]) block(128) shared(0) files({})
}

// -----

// The assembler's own words, with a name that means something to the reader.

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error-re @below {{kernel `k` cannot be assembled: `ptxas` failed: ptxas kernel.ptx, line 5; error {{.*}}Unknown symbol '%missing'}}
  tl.compiled_kernel @k params([]) block(128) shared(0) files({kernel.ptx = ".version 8.0\0A.target sm_90a\0A.address_size 64\0A.visible .entry k() {\0Amov.u32 %missing, 0;\0Aret;\0A}\0A"})
}

// -----

// PTX that is newer than the assembler. Who wrote it may say of which release it
// is.

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error-re @below {{kernel `k` cannot be assembled: `ptxas` reads PTX up to version {{[0-9.]+}}, and this is of version 99.5, as the compiler of CUDA 103.5 writes it; install version 103.5 or later of `nvidia-cuda-nvcc` from PyPI or the CUDA toolkit, or an older compiler}}
  tl.compiled_kernel @k params([]) block(128) shared(0) files({kernel.ptx = "// Cuda compilation tools, release 103.5, V103.5.37\0A.version 99.5\0A.target sm_90a\0A.address_size 64\0A"})
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error-re @below {{`ptxas` reads PTX up to version {{[0-9.]+}}, and this is of version 99.5; install a newer version of `nvidia-cuda-nvcc`}}
  tl.compiled_kernel @k params([]) block(128) shared(0) files({kernel.ptx = ".version 99.5\0A.target sm_90a\0A.address_size 64\0A"})
}
