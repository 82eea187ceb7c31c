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
