// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts))' --verify-diagnostics

!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @no_plan attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc : !s
    %acc = tl.alloc : !acc
    // expected-error @below {{has no plan: run `tl-plan-gemms` first}}
    tl.gemm %s, %s, %acc : !s, !s, !acc
    gpu.return
  }
}
