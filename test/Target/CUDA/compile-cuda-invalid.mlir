// RUN: not tl-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tl-compile-cuda{compiler=nvrtc}))' 2>&1 | FileCheck %s
// RUN: %if nvcc %{ not tl-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tl-compile-cuda{compiler=nvcc}))' 2>&1 | FileCheck %s %}
// RUN: not tl-opt %s -split-input-file --pass-pipeline='builtin.module(gpu.module(tl-compile-cuda{compiler=none}))' 2>&1 | FileCheck %s --check-prefix=NONE
// REQUIRES: nvrtc

// NONE: error: `a.cu` is CUDA C++, and there is no compiler for it on this machine; install the CUDA toolkit, or `nvidia-cuda-nvrtc` from PyPI

// Errors are at the line of the text, in the compiler's words.
// CHECK: a.cu:2:0{{.*}}: error: identifier "oops" is undefined
// CHECK: error: expected a ";"
gpu.module @errors attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "extern \22C\22 __global__ void f(int *x) {\0A  x[0] = oops;\0A  x[1] = 1\0A}"
  tl.cuda_entry @f params([#tl.param<base, 0>]) block(1) shared(0)
}

// -----

// And in headers, at those.
// CHECK: 0/b.h:3:0{{.*}}: error: identifier "wrong" is undefined
gpu.module @in_header attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "0/a.cu" "#include \22b.h\22\0Aextern \22C\22 __global__ void f() {}" headers {"0/b.h" = "\0A\0A__device__ int f() { return wrong; }"}
  tl.cuda_entry @f params([]) block(1) shared(0)
}

// -----

// CHECK: error: kernel `f` takes (u64, u32), and is given (pointer): 2 parameters, and 1 arguments
gpu.module @count attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "extern \22C\22 __global__ void f(int *x, int n) {}"
  tl.cuda_entry @f params([#tl.param<base, 0>]) block(1) shared(0)
}

// -----

// CHECK: error: kernel `f` takes (u64, u64), and is given (pointer, i32): parameter 1 has another type
gpu.module @size attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "extern \22C\22 __global__ void f(int *x, long n) {}"
  tl.cuda_entry @f params([#tl.param<base, 0>, #tl.param<scalar, 1, type = i32>]) block(1) shared(0)
}

// -----

// CHECK: error: kernel `f` takes (f32), and is given (i32): parameter 0 has another type
gpu.module @kind attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "extern \22C\22 __global__ void f(float x) {}"
  tl.cuda_entry @f params([#tl.param<scalar, 0, type = i32>]) block(1) shared(0)
}

// -----

// CHECK: error: kernel `f` takes (b8[16] align 4), and is given (tensor map): parameter 0 has another type
gpu.module @struct attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "struct S { int x[4]; }; extern \22C\22 __global__ void f(S x) {}"
  tl.cuda_entry @f params([#tl.param<tensor_map, 0, box = [8], type = f32>]) block(1) shared(0)
}

// -----

// CHECK: error: there is no entry `g` in `a.ptx`; there is `f`
gpu.module @missing attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.ptx" ".entry f() {}" language ptx
  tl.cuda_entry @g params([]) block(1) shared(0)
}

// -----

// CHECK: error: there is no variable `table` in `a.ptx`, and no other
gpu.module @missing_variable attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.ptx" ".entry f() {}" language ptx
  tl.cuda_entry @f params([]) block(1) shared(0) symbols ["table"]
}

// -----

// CHECK: error: `a.ptx` is not PTX: line 1 of the PTX: expected the name of an entry, got `(`
gpu.module @no_ptx attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.ptx" ".entry (" language ptx
  tl.cuda_entry @f params([]) block(1) shared(0)
}

// -----

// CHECK: error: `b.cubin` is a cubin, which cannot be linked with other sources; give its CUDA C++ or PTX
gpu.module @linked_cubin attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.ptx" ".entry f() {}" language ptx
  tl.cuda_unit "b.cubin" "..." language cubin
  tl.cuda_entry @f params([]) block(1) shared(0)
}

// -----

// CHECK: error: module `untargeted` has no `tl.target`
gpu.module @untargeted {
  tl.cuda_unit "a.cu" "extern \22C\22 __global__ void f() {}"
}

// -----

// What launches rely on and the unit does not have is said at the launch, once
// each: types that only the compiler knows, names, variables.
// CHECK:      error: about x
// CHECK-NEXT: tl.cuda_entry @f
// CHECK-NOT:  error
// CHECK:      error: about n
// CHECK-NEXT: tl.cuda_entry @g
// CHECK-NOT:  error
gpu.module @assertions attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "template <typename T> struct Other { typedef double type; };\0Atemplate <typename T> __global__ void f(typename Other<T>::type *x, T n) {}"
  tl.cuda_entry @f entry("f<int>") params([#tl.param<base, 0>, #tl.param<scalar, 1, type = i32>]) block(1) shared(0) {tl.passed = [["tl_pointer<'f', 32>", "about x"], ["tl_number<'f', 32>", "not said"]]}
  tl.cuda_entry @g entry("f<float>") params([#tl.param<base, 0>, #tl.param<scalar, 1, type = i32>]) block(1) shared(0) {tl.passed = [["tl_pointer<'f', 64>", "fits"], ["tl_number<'i', 32>", "about n"]]}
}

// -----

// CHECK: error: `w` cannot be named at the end of the source: identifier "w" is undefined
// CHECK: error: `f<int, 2>` cannot be named at the end of the source: cannot determine which instance of function template "f" is intended
// CHECK-NOT: error
gpu.module @names attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "template <typename T> __global__ void f(T x) {}"
  tl.cuda_entry @f entry("f<int>") params([#tl.param<scalar, 0, type = i32>]) block(1) shared(0) symbols ["w"] {tl.passed = []}
  tl.cuda_entry @g entry("f<int, 2>") params([#tl.param<scalar, 0, type = i32>]) block(1) shared(0) {tl.passed = []}
}

// -----

// Mistakes of the text are said there, and not again at its launches.
// CHECK: a.cu:1:0{{.*}}: error: identifier "oops" is undefined
// CHECK-NOT: error
gpu.module @text_first attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "__global__ void f(int *x) { *x = oops; }"
  tl.cuda_entry @f params([#tl.param<base, 0>]) block(1) shared(0) {tl.passed = [["tl_pointer<'i', 32>", "fits"]]}
}

// -----

// CUDA's own types are known where its headers are read.
// CHECK:      error: about half
// CHECK-NEXT: tl.cuda_entry @f
// CHECK-NOT:  error: about fit
gpu.module @classes attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "#include <cuda_fp16.h>\0A#include <cuda_bf16.h>\0A#include <cuda_fp8.h>\0Atemplate <typename T> __global__ void f(T *x) {}\0A__global__ void g(__half *a, __half2 *b, __nv_bfloat16 *c, __nv_fp8_e4m3 *d, __nv_fp8_e5m2 *e, __half h) {}"
  tl.cuda_entry @f entry("f<__half>") params([#tl.param<base, 0>]) block(1) shared(0) {tl.passed = [["tl_pointer<'f', 32>", "about half"]]}
  tl.cuda_entry @g params([#tl.param<base, 0>, #tl.param<base, 1>, #tl.param<base, 2>, #tl.param<base, 3>, #tl.param<base, 4>, #tl.param<scalar, 5, type = f16>]) block(1) shared(0)
    {tl.passed = [["tl_pointer<'f', 16>", "about fit"], ["tl_pointer<'f', 16>", "about fit"], ["tl_pointer<'n', 16>", "about fit"], ["tl_pointer<'q', 8>", "about fit"], ["tl_pointer<'r', 8>", "about fit"], ["tl_number<'f', 16>", "about fit"]]}
}

// -----

// Of several units the one that has the entry is asked.
// CHECK:      error: about y
// CHECK-NEXT: tl.cuda_entry @g
gpu.module @linked_assertions attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "__global__ void f(float *x) {}"
  tl.cuda_unit "b.cu" "__constant__ int w; __global__ void g(double *y) {}"
  tl.cuda_entry @f params([#tl.param<base, 0>]) block(1) shared(0) symbols ["w"] {tl.source = 0 : i64, tl.passed = [["tl_pointer<'f', 32>", "about x"]]}
  tl.cuda_entry @g params([#tl.param<base, 0>]) block(1) shared(0) {tl.source = 1 : i64, tl.passed = [["tl_pointer<'f', 32>", "about y"]]}
}

// -----

// Blocks and clusters are held against what was compiled, whatever the text
// says it with.
// CHECK: error: launches 512 threads; `__launch_bounds__` allows 256
gpu.module @threads attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "template <int N> __global__ void __launch_bounds__(2 * N) f() {}"
  tl.cuda_entry @f entry("f<128>") params([]) block(256, 2) shared(0)
}

// -----

// CHECK: error: launches blocks of (64, 1, 1) threads; `__block_size__` says (32, 2, 1)
gpu.module @block attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.ptx" ".entry f() .reqntid 32, 2 {}" language ptx
  tl.cuda_entry @f params([]) block(64) shared(0)
}

// -----

// CHECK: error: launches clusters of (4, 1, 1) blocks; `__cluster_dims__` says (2, 1, 1)
gpu.module @cluster attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "extern \22C\22 __global__ void __cluster_dims__(2) f() {}"
  tl.cuda_entry @f params([]) block(64) shared(0) {tl.cluster = array<i64: 4, 1, 1>}
}

// -----

// CHECK: error: launches clusters of 8 blocks; `__launch_bounds__` allows 4
gpu.module @large_cluster attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "a.cu" "extern \22C\22 __global__ void __launch_bounds__(64, 1, 4) f() {}"
  tl.cuda_entry @f params([]) block(64) shared(0) {tl.cluster = array<i64: 8, 1, 1>}
}
