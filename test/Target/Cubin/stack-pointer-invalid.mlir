// An assembler whose code loses the stack pointer whatever it is told. The code
// is that of a stand-in.

// RUN: env CUDA_HOME=%S/Inputs/loses-stack tl-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tl-assemble{assembler=ptxas}))'

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{kernel `k` cannot be assembled: the code that the assembler makes loses the stack pointer, with and without optimisations, as version 13.0 is known to do; use another version of CUDA}}
  tl.compiled_kernel @k params([]) block(128) shared(0) files({kernel.ptx = ".version 8.0\0A.target sm_80\0A.address_size 64\0A.visible .entry k() {\0Aret;\0A}\0A"})
}
