// Code that loses the stack pointer is made again, without optimisations. A
// stand-in for an assembler makes it.

// RUN: env CUDA_HOME=%S/Inputs/loses-stack tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-assemble{assembler=ptxas}))' | FileCheck %s

// CHECK: kernel.cubin = "\7FELF
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.compiled_kernel @k params([]) block(128) shared(0) files({kernel.ptx = ".version 8.0\0A.target sm_90a\0A.address_size 64\0A.visible .entry k() {\0Aret;\0A}\0A"})
}
