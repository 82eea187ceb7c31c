// RUN: tl-opt %s --tl-verify-entries --split-input-file | FileCheck %s

// The only entry of a text needs no name; comments and macros are read as the
// compiler reads them. What the parameters must be is handed on.
// CHECK-LABEL: func.func @only_entry
// CHECK:         tl.source_kernel
// CHECK-SAME:      entry("f")
// CHECK-SAME:      args(%{{.+}}, %{{.+}} : memref<?xf32>, i32)
// CHECK-SAME{LITERAL}: tl.passed = [["tl_pointer<'f', 32>", "`f(float *x, int n)` is given `float *` for `float *x`, which is of another type"],
// CHECK-SAME{LITERAL}:              ["tl_number<'i', 32>", "`f(float *x, int n)` is given `int` for `int n`, which is of another type"]]
func.func @only_entry(%x: memref<?xf32>, %n: i32, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<"#define KERNEL __global__ void\0A// __global__ void g() {}\0AKERNEL f(float *x, int n) {}">])
    blocks(%g) threads(128) args(%x, %n : memref<?xf32>, i32)
  return
}

// -----

// A name expression is kept as it is given; what the template's argument makes of
// the parameters is for the compiler to say.
// CHECK-LABEL: func.func @template
// CHECK:         entry("ns::scale<half, 4>")
func.func @template(%x: memref<?xf16>, %a: f16, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<"namespace ns { template <typename T, int N> __global__ void scale(T *x, T a) {} }">])
    entry("ns::scale<half, 4>") blocks(%g) threads(128) args(%x, %a : memref<?xf16>, f16)
  return
}

// -----

// The arguments say which overload is meant.
// CHECK-LABEL: func.func @overloads
// CHECK:         entry("(void (*)(double *, int))f")
func.func @overloads(%x: memref<?xf64>, %n: i32, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *x, int n) {} __global__ void f(double *x, int n) {}">])
    entry("f") blocks(%g) threads(128) args(%x, %n : memref<?xf64>, i32)
  return
}

// -----

// Extents become integers of the width that the parameter has.
// CHECK-LABEL: func.func @extents
// CHECK-SAME:      %[[N:[a-z0-9]+]]: index, %[[G:[a-z0-9]+]]: index)
// CHECK:         %[[I:.+]] = arith.index_cast %[[N]] : index to i32
// CHECK:         %[[L:.+]] = arith.index_cast %[[N]] : index to i64
// CHECK:         tl.source_kernel
// CHECK-SAME:      args(%[[I]], %[[L]] : i32, i64)
func.func @extents(%n: index, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(unsigned n, size_t m) {}">])
    blocks(%g) threads(128) args(%n, %n : index, index)
  return
}

// -----

// Bits of an element, several elements at once, and `void`.
// CHECK-LABEL: func.func @bits
// CHECK:         tl.source_kernel
func.func @bits(%x: memref<?xf16>, %y: memref<?xf8E4M3FN>, %z: memref<?xi1>, %i: memref<?xi32>, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(const unsigned short *a, const uint4 *b, void *c, half2 *d, unsigned char *e, bool *h, unsigned *u, Mystery *m) {}">])
    blocks(%g) threads(128)
    args(%x, %x, %x, %x, %y, %z, %i, %i : memref<?xf16>, memref<?xf16>, memref<?xf16>, memref<?xf16>, memref<?xf8E4M3FN>, memref<?xi1>, memref<?xi32>, memref<?xi32>)
  return
}

// -----

// A tensor map, made of a buffer.
// CHECK-LABEL: func.func @tensor_map
// CHECK:         params [#tl.param<tensor_map, 0, box = [64]>, #tl.param<dim, 0>]
// CHECK-SAME:    tl.passed = {{\[\[}}"tl_object<128>", {{.*}}["tl_number<'i', 64>",
func.func @tensor_map(%x: memref<?xf16>, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(const __grid_constant__ CUtensorMap m, long n) {}">])
    blocks(%g) threads(128) args(%x : memref<?xf16>) params [#tl.param<tensor_map, 0, box = [64]>, #tl.param<dim, 0>]
  return
}

// -----

// Bound by name, in the order of the parameters; what has no parameter is not
// passed. `n` is not `N`, but nothing else can be it.
// CHECK-LABEL: func.func @by_name
// CHECK-SAME:      %[[X:[a-z0-9]+]]: memref<?xf32> {{.+}}, %[[U:[a-z0-9]+]]: memref<?xf64> {{.+}}, %[[A:[a-z0-9]+]]: f32
// CHECK:         %[[C:.+]] = arith.constant 0 : index
// CHECK:         %[[D:.+]] = memref.dim %[[X]], %[[C]]
// CHECK:         %[[N:.+]] = arith.index_cast %[[D]] : index to i32
// CHECK-NOT:     memref.dim
// CHECK:         tl.source_kernel
// CHECK-SAME:      args(%[[N]], %[[A]], %[[X]] : i32, f32, memref<?xf32>)
// CHECK-NOT:     tl.bind_by_name
func.func @by_name(%x: memref<?xf32> {tl.name = "x", tl.shape = ["N"]}, %unused: memref<?xf64> {tl.name = "unused", tl.shape = ["M"]},
                   %a: f32 {tl.name = "a"}, %g: i64 {tl.name = "g"}) {
  %c = arith.constant 4 : index
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(int N, float a, const float *x) {}">])
    blocks(%c) threads(128) args(%x, %unused, %a, %g : memref<?xf32>, memref<?xf64>, f32, i64) {tl.bind_by_name}
  return
}

// -----

// CHECK-LABEL: func.func @by_fit
// CHECK-SAME:      %[[X:[a-z0-9]+]]: memref<?x16xf32>
// CHECK:         %[[D:.+]] = memref.dim %[[X]]
// CHECK:         %[[N:.+]] = arith.index_cast %[[D]] : index to i32
// CHECK:         args(%[[X]], %[[N]] : memref<?x16xf32>, i32)
func.func @by_fit(%x: memref<?x16xf32> {tl.name = "x", tl.shape = ["N", ""]}) {
  %c = arith.constant 4 : index
  tl.source_kernel sources([#tl.cuda_source<"__global__ void f(float *data, int n) {}">])
    blocks(%c) threads(128) args() {tl.bind_by_name}
  return
}

// -----

// Headers and options say what a text alone does not.
// CHECK-LABEL: func.func @headers
// CHECK:         tl.source_kernel
// CHECK-NOT:     tl.includes
func.func @headers(%x: memref<?xf32>, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<"#include \22types.h\22\0A#if LANES * N == 128\0AK void f(real *x) {}\0A#endif", file = "src/f.cu", name = "0/f.cu">])
    prelude "#define LANES 32" flags ["-DK=__global__"] include_paths ["inc"]
    headers {"0/types.h" = "#include <sizes.h>\0Atypedef float real;", "inc/sizes.h" = "#define N 4"}
    blocks(%g) threads(128) args(%x : memref<?xf32>)
    {tl.includes = {"0/f.cu" = {"\22types.h\22" = "0/types.h"}, "0/types.h" = {"<sizes.h>" = "inc/sizes.h"}}}
  return
}

// -----

// Left to the checks at compile time: PTX, what an include that only the
// compiler follows may hold, and kernels that pasting makes.
// CHECK-LABEL: func.func @unseen
// CHECK:         tl.source_kernel
// CHECK:         tl.source_kernel
// CHECK-SAME{LITERAL}: tl.passed = [["tl_pointer<'f', 32>", "`f` is given `float *` for parameter 0, which is of another type"]]
// CHECK:         tl.source_kernel
// CHECK:         tl.source_kernel
func.func @unseen(%x: memref<?xf32>, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<".version 8.0", language = ptx>]) entry("f") blocks(%g) threads(1) args(%x : memref<?xf32>)
  tl.source_kernel sources([#tl.cuda_source<"#include KERNELS\0A">]) entry("f") blocks(%g) threads(1) args(%x : memref<?xf32>)
  tl.source_kernel sources([#tl.cuda_source<"#include <t.h>\0A__global__ void f(index_t n, Params p) {}">]) blocks(%g) threads(1) args(%g, %x : index, memref<?xf32>)
  tl.source_kernel sources([#tl.cuda_source<"#define MAKE(T) __global__ void f_##T(T *x) {}\0AMAKE(float)">]) entry("f_float") blocks(%g) threads(1) args(%x : memref<?xf32>)
  return
}

// -----

// One of several branches is compiled, whichever it is: it has the same name and
// is passed the same.
// CHECK-LABEL: func.func @branches
// CHECK:         entry("f")
// CHECK-SAME:    args(%{{.+}}, %{{.+}} : memref<?xf16>, i32)
func.func @branches(%x: memref<?xf16> {tl.name = "x"}, %n: i32 {tl.name = "n"}, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<"#if __UNKNOWN\0A__global__ void f(half *x, int n) {}\0A#else\0A__global__ void f(uint4 *x, int n) {}\0A#endif">])
    entry("f") blocks(%g) threads(1) args() {tl.bind_by_name}
  return
}

// -----

// Of several sources, it is said which one has the entry.
// CHECK-LABEL: func.func @linked
// CHECK:         entry("g")
// CHECK-SAME:    tl.source = 1
func.func @linked(%x: memref<4xf32>, %g: index) {
  tl.source_kernel sources([#tl.cuda_source<"__constant__ float w[4]; __global__ void f() {}">, #tl.cuda_source<"__global__ void g() {}">])
    entry("g") blocks(%g) threads(1) args() symbols ["w"](%x : memref<4xf32>)
  return
}
