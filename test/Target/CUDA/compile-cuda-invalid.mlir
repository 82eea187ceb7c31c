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
