// RUN: tl-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))'

gpu.module @m {
  gpu.func @atan_f64(%x: f64, %p: !llvm.ptr<1>) {
    // expected-error @below {{'math.atan' op has no lowering to NVIDIA GPUs for 'f64'; cast to `f32`}}
    %y = math.atan %x : f64
    llvm.store %y, %p : f64, !llvm.ptr<1>
    gpu.return
  }
}
