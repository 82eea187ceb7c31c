// The pass alone, before those that it needs.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-add-workspaces))' --verify-diagnostics

gpu.module @no_layout attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    %f = tl.alloc : memref<64x64xf32, #tl.fragment>
    %r = tl.alloc : memref<64xf32, #tl.fragment>
    tl.reduce sum %f to %r dim(1) : memref<64x64xf32, #tl.fragment> to memref<64xf32, #tl.fragment>
    gpu.return
  }
}
