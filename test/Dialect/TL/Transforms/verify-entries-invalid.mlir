// RUN: tl-opt %s --tl-verify-entries --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

func.func @no_entry(%g: index) {
  // expected-error @below {{the source has no `__global__` function}}
  tl.source_kernel sources([#tl.cuda_source<"__device__ void f() {}">]) blocks(%g) threads(1) args()
  return
}

// -----

func.func @commented_out(%g: index) {
  // expected-error @below {{the source has no `__global__` function; `f` on line 2 is in a comment}}
  tl.source_kernel sources([#tl.cuda_source<"\0A// __global__ void f() {}">]) entry("f") blocks(%g) threads(1) args()
  return
}

// -----

func.func @several_entries(%g: index) {
  // expected-error @below {{the source has 2 entries; name one of `f()`, `g(float *x)`}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f() {}">, #tl.cuda_source<"__global__ void g(float *x) {}">]) blocks(%g) threads(1) args()
  return
}

// -----

func.func @near_miss(%g: index) {
  // expected-error @below {{the source has no entry `scael`; did you mean `scale`?; it has `scale(float *x)`}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void scale(float *x) {}">]) entry("scael") blocks(%g) threads(1) args()
  return
}

// -----

func.func @left_out(%g: index) {
  // expected-error @below {{the source has no entry `f`; `f` on line 2 is in a branch that is not compiled; it has `scale()`}}
  tl.source_kernel sources([#tl.cuda_source<"#if 0\0A__global__ void f() {}\0A#endif\0A__global__ void scale() {}">]) entry("f") blocks(%g) threads(1) args()
  return
}

// -----

func.func @not_an_instance(%g: index) {
  // expected-error @below {{`template <typename T> f(T x)` is a template; name an instance of it, such as `f<float>`}}
  tl.source_kernel sources([#tl.cuda_source<"template <typename T> __global__ void f(T x) {}">]) entry("f") blocks(%g) threads(1) args()
  return
}

// -----

func.func @no_template(%g: index) {
  // expected-error @below {{`f()` is no template}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f() {}">]) entry("f<int>") blocks(%g) threads(1) args()
  return
}

// -----

// What is wrong in the text may be the reason.
func.func @problem(%g: index) {
  // expected-error @below {{the source has no `__global__` function}}
  // expected-note @below {{on line 2 of the source: this string has no end}}
  tl.source_kernel sources([#tl.cuda_source<"\0A\22; __global__ void f() {}">]) blocks(%g) threads(1) args()
  return
}

// -----

func.func @ptx_by_name(%g: index) {
  // expected-error @below {{the entry of a kernel in PTX or a cubin needs its name and `args`; the source has no `__global__` function}}
  tl.source_kernel sources([#tl.cuda_source<".version 8.0", language = ptx>]) entry("f") blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

func.func @too_few(%x: memref<?xf32> {tl.name = "x"}, %g: index) {
  // expected-error @below {{`f(float *x, int n)` does not take `(float *x)`: it has 2 parameters and gets 1 argument}}
  // expected-note @below {{on line 1 of the source: `f(float *x, int n)` is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x, int n) {}">]) blocks(%g) threads(1) args(%x : memref<?xf32>)
  return
}

// -----

func.func @wrong_element(%x: memref<?xf16> {tl.name = "A"}, %g: index) {
  // expected-error @below {{`f(const float *x)` does not take `(half *A)`: `x` is `const float *`, `A` holds `half`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(const float *x) {}">]) blocks(%g) threads(1) args(%x : memref<?xf16>)
  return
}

// -----

func.func @signed_bits(%x: memref<?xbf16>, %g: index) {
  // expected-error @below {{`x` is `short *`, `arg0` holds `__nv_bfloat16`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(short *x) {}">]) blocks(%g) threads(1) args(%x : memref<?xbf16>)
  return
}

// -----

func.func @buffer_for_number(%x: memref<?xf32> {tl.name = "x"}, %g: index) {
  // expected-error @below {{`n` is `int`, `x` is a buffer}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(int n) {}">]) blocks(%g) threads(1) args(%x : memref<?xf32>)
  return
}

// -----

func.func @number_for_buffer(%n: i32 {tl.name = "n"}, %g: index) {
  // expected-error @below {{`x` is `float *`, `n` is a number}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x) {}">]) blocks(%g) threads(1) args(%n : i32)
  return
}

// -----

func.func @wrong_width(%n: i32 {tl.name = "n"}, %g: index) {
  // expected-error @below {{`f(size_t)` does not take `(int n)`: a parameter is `size_t`, `n` is `int`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(size_t) {}">]) blocks(%g) threads(1) args(%n : i32)
  return
}

// -----

func.func @expression(%n: i32, %g: index) {
  %s = arith.addi %n, %n : i32
  // expected-error @below {{`f(float a)` does not take `(int)`: `a` is `float`, the argument is `int`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float a) {}">]) blocks(%g) threads(1) args(%s : i32)
  return
}

// -----

func.func @reference(%n: i32, %g: index) {
  // expected-error @below {{`n` is a reference, which a kernel cannot take}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(const int &n) {}">]) blocks(%g) threads(1) args(%n : i32)
  return
}

// -----

func.func @tensor_map(%x: memref<?xf32> {tl.name = "x"}, %g: index) {
  // expected-error @below {{`f(float *p)` does not take `(CUtensorMap x)`: `p` is `float *`, `x` is passed as a tensor map}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *p) {}">]) blocks(%g) threads(1) args(%x : memref<?xf32>) params [#tl.param<tensor_map, 0, box = [8]>]
  return
}

// -----

func.func @extent_of_32_bits(%x: memref<?xf32> {tl.name = "x"}, %g: index) {
  // expected-error @below {{`n` is `int`, `x` is `int64_t`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(int n) {}">]) blocks(%g) threads(1) args(%x : memref<?xf32>) params [#tl.param<dim, 0>]
  return
}

// -----

func.func @no_overload(%x: memref<?xf16> {tl.name = "x"}, %g: index) {
  // expected-error @below {{`f(float *x)` does not take `(half *x)`: `x` is `float *`, `x` holds `half`; `f(int *x)` does not take `(half *x)`: `x` is `int *`, `x` holds `half`}}
  // expected-note @below {{`f(float *x)` is declared here}}
  // expected-note @below {{`f(int *x)` is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x) {} __global__ void f(int *x) {}">]) entry("f") blocks(%g) threads(1) args(%x : memref<?xf16>)
  return
}

// -----

func.func @two_overloads(%x: memref<?xf16> {tl.name = "x"}, %g: index) {
  // expected-error @below {{both `f(void *x)` and `f(half *x)` take `(half *x)`}}
  // expected-note @below {{`f(void *x)` is declared here}}
  // expected-note @below {{`f(half *x)` is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(void *x) {} __global__ void f(half *x) {}">]) entry("f") blocks(%g) threads(1) args(%x : memref<?xf16>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Binding by name
//===----------------------------------------------------------------------===//

func.func @nothing_fits(%x: memref<?xf32> {tl.name = "x", tl.shape = ["N"]}, %g: index) {
  // expected-error @below {{cannot bind the parameters of `f(float *x, float a)` to `nothing_fits(float *x, index arg1, index N)`: nothing of that name or only of that type is there for `float a`; say what to pass with `args`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x, float a) {}">]) blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

func.func @several_fit(%x: memref<?x?xf32> {tl.name = "x", tl.shape = ["M", "N"]}) {
  %g = arith.constant 1 : index
  // expected-error @below {{`int n` can be any of `M`, `N`; say what to pass with `args`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x, int n) {}">]) blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

func.func @one_for_two(%x: memref<?xf32> {tl.name = "x", tl.shape = ["N"]}) {
  %g = arith.constant 1 : index
  // expected-error @below {{both `int n` and `int m` can be `N`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x, int n, int m) {}">]) blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

func.func @name_without_type(%x: memref<?xf16> {tl.name = "x"}, %y: memref<?xf32> {tl.name = "y"}) {
  %g = arith.constant 1 : index
  // expected-error @below {{cannot bind the parameters of `f(float *x)` to `name_without_type(half *x, float *y)`: `x` is `float *`, `x` holds `half`; say what to pass with `args`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x) {}">]) blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

// A struct of a header can be anything, so nothing is taken for it.
func.func @unknown_type(%x: memref<?xf32> {tl.name = "x"}) {
  %g = arith.constant 1 : index
  // expected-error @below {{nothing of that name or only of that type is there for `Params p`}}
  // expected-note @below {{is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"#include <p.h>\0A__global__ void f(Params p) {}">]) blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

//===----------------------------------------------------------------------===//
// What the scanner does not know
//===----------------------------------------------------------------------===//

// Kernels that pasting makes are not seen.
func.func @pasted_by_name(%x: memref<?xf32> {tl.name = "x"}) {
  %g = arith.constant 1 : index
  // expected-error @below {{the source has no `__global__` function; one that a macro makes needs its name and `args`}}
  tl.source_kernel sources([#tl.cuda_source<"#define MAKE(T) __global__ void f_##T(T *x) {}\0AMAKE(float)">]) entry("f_float") blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

func.func @not_the_only_one(%g: index) {
  // expected-error @below {{macros of the source may make other kernels than `f()`; name the entry}}
  tl.source_kernel sources([#tl.cuda_source<"#include KERNELS\0A__global__ void f() {}">]) blocks(%g) threads(1) args()
  return
}

// -----

// One of two is compiled, and the names of their parameters differ in order.
func.func @branches_by_name(%n: i32 {tl.name = "n"}, %m: i32 {tl.name = "m"}) {
  %g = arith.constant 1 : index
  // expected-error @below {{both `f(int n, int m)` and `f(int m, int n)` take `(int m, int n)`; say what to pass with `args`}}
  // expected-note @below {{`f(int n, int m)` is declared here}}
  // expected-note @below {{`f(int m, int n)` is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"#if __UNKNOWN\0A__global__ void f(int n, int m) {}\0A#else\0A__global__ void f(int m, int n) {}\0A#endif">])
    entry("f") blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

// The same, but only one is seen.
func.func @branch_by_name(%n: i32 {tl.name = "n"}, %m: i32 {tl.name = "m"}) {
  %g = arith.constant 1 : index
  // expected-error @below {{which declaration of `f` is compiled is for the compiler to say; tell with `args` what to pass}}
  // expected-note @below {{`f(int n, int m)` is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"#if __UNKNOWN\0A__global__ void f(int n, int m) {\0A#else\0A__global__ void f(int m, int n) {\0A#endif\0A}">])
    entry("f") blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

// So does a name that stands in a branch.
func.func @name_of_a_branch(%n: i32 {tl.name = "n"}, %m: i32 {tl.name = "m"}) {
  %g = arith.constant 1 : index
  // expected-error @below {{cannot bind the parameters of `f(int)` to `name_of_a_branch(int n, int m)`: nothing of that name or only of that type is there for `int`}}
  // expected-note @below {{`f(int)` is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(int\0A#if __UNKNOWN\0An\0A#else\0Am\0A#endif\0A) {}">])
    blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

// A declaration that binds does not stand for one that may be compiled instead.
func.func @other_declaration(%n: i32 {tl.name = "n"}, %m: i32 {tl.name = "m"}) {
  %g = arith.constant 1 : index
  // expected-error @below {{which declaration of `f` is compiled is for the compiler to say; tell with `args` what to pass}}
  // expected-note @below {{`f(int n, int m)` is declared here}}
  tl.source_kernel sources([#tl.cuda_source<"#if __UNKNOWN\0A#define LIST int m, int n\0A#else\0A#define LIST int n, int m\0A#endif\0A#if __OTHER\0A__global__ void f(LIST) {}\0A#else\0A__global__ void f(int n, int m) {}\0A#endif">])
    entry("f") blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}
