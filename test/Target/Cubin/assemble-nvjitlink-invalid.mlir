// REQUIRES: nvjitlink
// RUN: tl-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tl-assemble{assembler=nvjitlink}))'

// PTX that is newer than the assembler. Who wrote it may say of which release it
// is.

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error-re @below {{kernel `k` cannot be assembled: `nvjitlink` reads PTX up to version {{[0-9.]+}}, and this is of version 99.5, as the compiler of CUDA 103.5 writes it; install version 103.5 or later of `nvidia-nvjitlink` from PyPI or the CUDA toolkit, or an older compiler}}
  tl.compiled_kernel @k params([]) block(128) shared(0) files({kernel.ptx = "// Cuda compilation tools, release 103.5, V103.5.37\0A.version 99.5\0A.target sm_90a\0A.address_size 64\0A"})
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error-re @below {{`nvjitlink` reads PTX up to version {{[0-9.]+}}, and this is of version 99.5; install a newer version of `nvidia-nvjitlink`}}
  tl.compiled_kernel @k params([]) block(128) shared(0) files({kernel.ptx = ".version 99.5\0A.target sm_90a\0A.address_size 64\0A"})
}
