// Functions that a user wrote come first, and a function stands between them
// and the kernel that makes arrays of what is behind pointers.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text | FileCheck %s
// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda{only-calls}))' | FileCheck %s --check-prefix=ONLY
// RUN: %if nvrtc %{ tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda,tl-compile-cuda{compiler=nvrtc}))' | FileCheck %s --check-prefix=PTX %}
// RUN: %if nvcc %{ tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda,tl-compile-cuda{compiler=nvcc}))' | FileCheck %s --check-prefix=PTX %}

// The text stands there once, and names that NVRTC does not have go before it.
// CHECK:      using uint = unsigned;
// CHECK:      __device__ float twice(float x) { return 2 * x; }
// CHECK-NOT:  __device__ float twice
// CHECK:      struct left_by_call_unpack_0 {
// CHECK-NEXT:   unsigned char at0;
// CHECK-NEXT:   int at1;
// CHECK-NEXT:   int at2;
// CHECK:      static __device__ __forceinline__ left_by_call_unpack_0 call_unpack_0(unsigned char a0, int a1, int a2, int a3) {
// CHECK-NEXT:   alignas(16) unsigned char p0[1] = {a0};
// CHECK-NEXT:   alignas(16) int p1[2] = {a1, a2};
// CHECK:          if constexpr (requires { unpack(q0, q1, a3); })
// CHECK:      struct left_by_call_twice_1 {
// CHECK-NEXT:   float value;

// What one call leaves is asked for twice, and it is called once.
// CHECK-LABEL: numbers(
// CHECK:         left_by_call_unpack_0 [[L:left.*]] = call_unpack_0(
// CHECK:         [[L]].at1
// CHECK-NOT:     call_unpack_0(
// CHECK:         [[L]].at2

// A vector is a call for each element, but where the guard is false.
// CHECK-LABEL: lanes(
// CHECK:         left_by_call_twice_1 [[M:left.*]][4];
// CHECK-NEXT:    #pragma unroll
// CHECK-NEXT:    for (int i = 0; i < 4; ++i)
// CHECK-NEXT:      [[M]][i] = {{.*}} ? call_twice_1({{.*}}[i]) : left_by_call_twice_1{};
// CHECK:           {{.*}}[i] = [[M]][i].value;

// A kernel without a call is left to others.
// ONLY-NOT: tl.cuda_unit "plain.cu"
// ONLY:     gpu.func @plain

// PTX: kernel.ptx = "{{.*}}.visible .entry numbers(
gpu.module @calls attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @numbers(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %c4 = arith.constant 4 : i32
    %q = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %a = llvm.load %p : !llvm.ptr<1> -> i8
    %n = llvm.load %q : !llvm.ptr<1> -> i32
    %x = tl.call_source "unpack" of ["template <typename T, typename U> __device__ void unpack(T *from, U *to, int bits) { to[0] = *from & 15; to[1] = *from >> bits; }", "__device__ float twice(float x) { return 2 * x; }"]
      (%a, %n, %n, %c4) {counts = array<i64: 1, 2, 0>, params = [ui8, si32, si32], place = 1 : i64} : (i8, i32, i32, i32) -> i32
    %y = tl.call_source "unpack" of ["template <typename T, typename U> __device__ void unpack(T *from, U *to, int bits) { to[0] = *from & 15; to[1] = *from >> bits; }", "__device__ float twice(float x) { return 2 * x; }"]
      (%a, %n, %n, %c4) {counts = array<i64: 1, 2, 0>, params = [ui8, si32, si32], place = 2 : i64} : (i8, i32, i32, i32) -> i32
    llvm.store %x, %p : i32, !llvm.ptr<1>
    llvm.store %y, %q : i32, !llvm.ptr<1>
    gpu.return
  }
  gpu.func @lanes(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %v = llvm.load %p : !llvm.ptr<1> -> vector<4xf32>
    %m = arith.cmpf ogt, %v, %zero : vector<4xf32>
    %w = tl.call_source "twice" of ["template <typename T, typename U> __device__ void unpack(T *from, U *to, int bits) { to[0] = *from & 15; to[1] = *from >> bits; }", "__device__ float twice(float x) { return 2 * x; }"]
      (%v) where %m : vector<4xi1> {counts = array<i64: 0>, params = [f32], place = -1 : i64, returned = f32} : (vector<4xf32>) -> vector<4xf32>
    llvm.store %w, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}

gpu.module @plain attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @plain(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    gpu.return
  }
}
