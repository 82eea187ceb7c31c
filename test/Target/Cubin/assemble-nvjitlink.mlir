// nvJitLink assembles in this process.

// REQUIRES: nvjitlink
// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-assemble{assembler=nvjitlink}))' | FileCheck %s

// CHECK: files({kernel.cubin = "\7FELF
// CHECK-SAME: {tl.resources = {registers = {{[1-9][0-9]*}} : i64

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.compiled_kernel @k params([]) block(128) shared(0) files({kernel.ptx = ".version 8.0\0A.target sm_90a\0A.address_size 64\0A.visible .entry k() {\0A.reg .b32 %r;\0Amov.u32 %r, %tid.x;\0Aret;\0A}\0A"})
}
