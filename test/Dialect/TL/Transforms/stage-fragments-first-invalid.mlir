// The pass alone, before those that it needs.

// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tl-stage-fragments))' --verify-diagnostics

gpu.module @no_layout attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    %f = tl.alloc : memref<64x64xf32, #tl.fragment>
    gpu.return
  }
}

// -----

!s = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @no_plan attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) : !s
    %f = tl.alloc layout(#tl.fragment_layout<shape = [64, 64], thread = [32] : [1], value = [2, 64] : [32, 64]>) : memref<64x64xf32, #tl.fragment>
    // expected-error @below {{has no plan: run `tl-plan-gemms` first}}
    tl.gemm %s, %s, %f : !s, !s, memref<64x64xf32, #tl.fragment>
    gpu.return
  }
}
