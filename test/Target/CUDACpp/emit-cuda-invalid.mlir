// RUN: tl-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))'

gpu.module @tile attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{`memref.alloca` is not a thread-level op}}
    %x = memref.alloca() : memref<vector<4xf32>>
    gpu.return
  }
}

// -----

gpu.module @double attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %p : !llvm.ptr<1> -> f64
    // expected-error @below {{'math.atan' op has no lowering to NVIDIA GPUs for 'f64'; cast to `f32`}}
    %y = math.atan %x : f64
    llvm.store %y, %p : f64, !llvm.ptr<1>
    gpu.return
  }
}
