// Each atomic operation is a function ahead of the kernels, made for what they
// need, and compiles.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text | FileCheck %s
// RUN: %if nvcc %{ rm -rf %t && mkdir %t && \
// RUN:   tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text > %t/unit.cu && \
// RUN:   %nvcc -std=c++17 -Werror all-warnings -I %tl_src/include -arch=sm_90a -cubin -o %t/unit.cubin %t/unit.cu %}

// CHECK:      static __device__ __forceinline__ int atomic_compare_exchange_int_acquire_block_shared(void *address, int value, int expected) {
// CHECK-NEXT:   int old;
// CHECK-NEXT:   asm volatile("atom.acquire.cta.shared.cas.b32 %0, [%1], %3, %2;"
// CHECK-NEXT:                : "=r"(old)
// CHECK-NEXT:                : "l"(__cvta_generic_to_shared(address)), "r"(value), "r"(expected)
// CHECK-NEXT:                : "memory");
// CHECK-NEXT:   return old;
// CHECK-NEXT: }
// CHECK:      static __device__ __forceinline__ float atomic_load_float_acquire_system_global(void *address) {
// CHECK:        "ld.acquire.sys.global.b32 %0, [%1];"
// CHECK:      static __device__ __forceinline__ void atomically_add_float_relaxed_device_global(void *address, float value) {
// CHECK-NEXT:   asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;"
// CHECK-NEXT:                :
// CHECK-NEXT:                : "l"(__cvta_generic_to_global(address)), "f"(value)
// CHECK:      static __device__ __forceinline__ void atomically_and_signed_char_relaxed_device_global(void *address, signed char value) {
// CHECK-NEXT:   asm volatile("{ .reg .b64 word;{{.+}} red.relaxed.gpu.global.and.b32 [word], bits; }"
// CHECK-NEXT:                :
// CHECK-NEXT:                : "l"(__cvta_generic_to_global(address)), "r"(unsigned((unsigned char)(value)))
// CHECK:      static __device__ __forceinline__ void atomically_exchange_long_long_release_device_global(void *address, long long value) {
// CHECK:        "st.release.gpu.global.b64 [%0], %1;"
gpu.module @atomics attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: atomics(
  // CHECK: atomically_add_float_relaxed_device_global(arg0, arg1);
  // CHECK: atomically_exchange_long_long_release_device_global(
  // CHECK: = atomic_add_half_relaxed_device_global(
  // CHECK: = atomic_compare_exchange_int_acquire_block_shared(
  // CHECK: = atomic_load_float_acquire_system_global(
  gpu.func @atomics(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %x: f32 {tl.param = #tl.param<scalar, 1, type = f32>}, %l: i64 {tl.param = #tl.param<scalar, 2, type = i64>}, %h: f16 {tl.param = #tl.param<scalar, 3, type = f16>}, %n: i32 {tl.param = #tl.param<scalar, 4, type = i32>}, %b: i8 {tl.param = #tl.param<scalar, 5, type = i8>}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 1024 : i64} {
    %s = tl.shared_base : !llvm.ptr<3>
    %0 = tl.atom add %p, %x : !llvm.ptr<1>, f32
    %1 = tl.atom exchange %p, %l order(release) : !llvm.ptr<1>, i64
    %2 = tl.atom add %p, %h : !llvm.ptr<1>, f16
    llvm.store %2, %p : f16, !llvm.ptr<1>
    %3 = tl.atom compare_exchange %s, %n expected(%n) order(acquire) scope(block) : !llvm.ptr<3>, i32
    llvm.store %3, %p : i32, !llvm.ptr<1>
    %4 = tl.atom load %p order(acquire) scope(system) : !llvm.ptr<1>, f32
    llvm.store %4, %p : f32, !llvm.ptr<1>
    %5 = tl.atom and %p, %b : !llvm.ptr<1>, i8
    %6 = tl.atom or %p, %b : !llvm.ptr<1>, i8
    llvm.store %6, %p : i8, !llvm.ptr<1>
    gpu.return
  }
}
