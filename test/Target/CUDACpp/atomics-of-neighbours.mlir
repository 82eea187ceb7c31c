// A sum of neighbours is a function of a vector, whose registers one instruction
// takes, and compiles.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text | FileCheck %s
// RUN: %if nvcc %{ rm -rf %t && mkdir %t && \
// RUN:   tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text > %t/unit.cu && \
// RUN:   %nvcc -std=c++17 -Werror all-warnings -I %tl_src/include -arch=sm_90a -cubin -o %t/unit.cubin %t/unit.cu %}

// CHECK:      static __device__ __forceinline__ void atomically_add_bfloat16x2_relaxed_device_global(void *address, tl::vec<tl::bfloat16, 2> value) {
// CHECK-NEXT:   auto words = tl::bit_cast<tl::vec<unsigned, 1>>(value);
// CHECK-NEXT:   asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;"
// CHECK-NEXT:                :
// CHECK-NEXT:                : "l"(__cvta_generic_to_global(address)), "r"(words[0])
// CHECK-NEXT:                : "memory");
// CHECK-NEXT: }
// CHECK:      static __device__ __forceinline__ void atomically_add_floatx4_relaxed_device_global(void *address, tl::vec<float, 4> value) {
// CHECK:        "red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
gpu.module @atomics attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: atomics(
  // CHECK: atomically_add_floatx4_relaxed_device_global(
  // CHECK: atomically_add_bfloat16x2_relaxed_device_global(
  gpu.func @atomics(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %f4 = arith.constant dense<1.0> : vector<4xf32>
    %b2 = arith.constant dense<1.0> : vector<2xbf16>
    %0 = tl.atom add %p, %f4 : !llvm.ptr<1>, vector<4xf32>
    %1 = tl.atom add %p, %b2 : !llvm.ptr<1>, vector<2xbf16>
    gpu.return
  }
}
