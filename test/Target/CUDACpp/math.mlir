// A function that is no instruction is written once, ahead of the kernels, from
// the formula that PTX is made of.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text | FileCheck %s

// CHECK-LABEL: namespace math {
// CHECK: static __device__ __forceinline__ float exp(float x0) {
// CHECK: tl::minnum(tl::maxnum(
// CHECK: tl::ex2_approx_ftz(
// CHECK: static __device__ __forceinline__ float exp_approx(float x0) {
// CHECK-NEXT: float x = tl::ex2_approx_ftz(x0 * 1.442695f);
// CHECK-NEXT: return x;
// CHECK: static __device__ __forceinline__ tl::half exp_f16(tl::half x0) {
// CHECK: static __device__ __forceinline__ float sqrt(float x0) {
// CHECK: tl::rsqrt_approx_ftz(
// CHECK: } // namespace math
// CHECK-LABEL: functions(
// CHECK: math::exp_approx(math::exp(
// CHECK: [i] = math::exp(
// CHECK: math::exp_f16(
// CHECK: math::sqrt(tl::fma(
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @functions(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %p : !llvm.ptr<1> -> f32
    %a = math.exp %x : f32
    %b = math.exp %a fastmath<afn> : f32
    llvm.store volatile %b, %p : f32, !llvm.ptr<1>
    %v = llvm.load %p : !llvm.ptr<1> -> vector<4xf32>
    %w = math.exp %v : vector<4xf32>
    llvm.store volatile %w, %p : vector<4xf32>, !llvm.ptr<1>
    %h = llvm.load %p : !llvm.ptr<1> -> f16
    %e = math.exp %h : f16
    llvm.store volatile %e, %p : f16, !llvm.ptr<1>
    %f = math.fma %x, %x, %x : f32
    %s = math.sqrt %f : f32
    llvm.store volatile %s, %p : f32, !llvm.ptr<1>
    gpu.return
  }
}
