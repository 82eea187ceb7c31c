// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-compile-cuda{compiler=nvrtc}))' | FileCheck %s
// RUN: %if nvcc %{ tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-compile-cuda{compiler=nvcc}))' | FileCheck %s %}
// REQUIRES: nvrtc

// A kernel keeps its text and gets PTX.
// CHECK-LABEL: gpu.module @plain
// CHECK-NEXT:    tl.compiled_kernel @saxpy params([#tl.param<base, 0>, #tl.param<scalar, 1, type = f32>]) block(128) shared(0)
// CHECK-SAME:    device_kernel.cu = "extern \22C\22 __global__ void saxpy(float *x, float a) { x[0] = a; }"
// CHECK-SAME:    kernel.ptx = "{{.*}}.visible .entry saxpy(
gpu.module @plain attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "saxpy.cu" "extern \22C\22 __global__ void saxpy(float *x, float a) { x[0] = a; }"
  tl.cuda_entry @saxpy params([#tl.param<base, 0>, #tl.param<scalar, 1, type = f32>]) block(128) shared(0)
}

// Names of templates and in namespaces become symbols, and so do those of the
// variables that launches set, which the loader can see.
// CHECK-LABEL: gpu.module @names
// CHECK-NEXT:    tl.compiled_kernel @scale entry("_ZN2ns5scaleIfEEvPT_")
// CHECK-SAME:    symbols ["_ZN2ns5tableE"]
// CHECK-SAME:    .visible .const .align 4 .b8 _ZN2ns5tableE[16];
// CHECK-NEXT:    tl.compiled_kernel @scale_0 entry("_ZN2ns5scaleIdEEvPT_")
gpu.module @names attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "scale.cu" "namespace ns { __constant__ float table[4]; template <typename T> __global__ void scale(T *x) { x[0] *= table[0]; } }"
  tl.cuda_entry @scale entry("ns::scale<float>") params([#tl.param<base, 0>]) block(128) shared(0) symbols ["ns::table"]
  tl.cuda_entry @scale_0 entry("ns::scale<double>") params([#tl.param<base, 0>]) block(128) shared(0)
}

// Equality of integers has no sign: ptxas 13.0 mistakes that of a clamped one.
// CHECK-LABEL: gpu.module @equality
// CHECK-NOT:     setp.eq.s32
// CHECK-NOT:     setp.eq.and.s32
gpu.module @equality attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "f.cu" "extern \22C\22 __global__ void f(int *x) { int y = max(min(x[0], 2), 0); if (y == 2) x[1] = 1; else if (y == x[3] && x[4] == 2) x[2] = y; }"
  tl.cuda_entry @f params([#tl.param<base, 0>]) block(1) shared(0)
}

// A part of a float is stored from a copy of its bits: ptxas 13.0 would convert
// the number.
// CHECK-LABEL: gpu.module @parts_of_floats
// CHECK:         cvt.rn.f16.s32 %rs[[#NUMBER:]],
// CHECK-SAME:    mov.b16 %part0, %rs[[#NUMBER]];
// CHECK-SAME:    st.global.{{[bu]}}8 \09[%rd{{[0-9]+}}], %part0;
gpu.module @parts_of_floats attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "f.cu" "extern \22C\22 __global__ void f(unsigned char *x, int y) { unsigned short h; asm(\22cvt.rn.f16.s32 %0, %1;\22 : \22=h\22(h) : \22r\22(y)); x[0] = h; }"
  tl.cuda_entry @f params([#tl.param<base, 0>, #tl.param<scalar, 1, type = i32>]) block(1) shared(0)
}

// Headers come with the unit; prelude and flags are compiled with it.
// CHECK-LABEL: gpu.module @headers
// CHECK-NEXT:    tl.compiled_kernel @f
// CHECK-SAME:    device_kernel.cu = "#define ONE 1\0A#include
gpu.module @headers attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "0/f.cu" "#include \22util.h\22\0A#include <more.h>\0Aextern \22C\22 __global__ void f(int *x) { x[0] = ONE + TWO + THREE + FOUR; }"
    prelude "#define ONE 1" flags ["-DTWO=2"] headers {"0/util.h" = "#define THREE 3", "1/more.h" = "#define FOUR 4"} include_paths ["1"]
  tl.cuda_entry @f params([#tl.param<base, 0>]) block(1) shared(0)
}

// Headers of the C library, which NVRTC lacks, are there beside the toolkit's.
// CHECK-LABEL: gpu.module @library
// CHECK-NEXT:    tl.compiled_kernel @f
gpu.module @library attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "f.cu" "#include <cuda.h>\0A#include <cuda/std/cstdint>\0A#include <cstdint>\0A#include <cstddef>\0A#include <cmath>\0A#include <cstdio>\0A#include <cstdlib>\0A#include <cstring>\0Aextern \22C\22 __global__ void f(std::uint64_t *x, CUtensorMap *map) { x[0] = sizeof(std::size_t) + (uint8_t)x[1] + (NULL == map); }"
  tl.cuda_entry @f params([#tl.param<base, 0>, #tl.param<base, 1>]) block(1) shared(0)
}

// What launches pass fits the types that the compiler sees, in the language that
// the user asks for and with macros of any name; nothing of the assertions is
// left. The text ends in a splice.
// CHECK-LABEL: gpu.module @passed
// CHECK-NEXT:    tl.compiled_kernel @f entry("_Z1fPKfPfjP1S")
// CHECK-NOT:     tl_
// CHECK-NEXT:    tl.compiled_kernel @g entry("_Z1g1EPKv")
gpu.module @passed attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "f.cu" "struct S; enum E : unsigned { A };\0Atypedef const float *In;\0A__constant__ int w; __global__ void f(In x, float *__restrict__ y, unsigned n, S *s) { y[0] = x[n]; }\0A#define T 1\0A#define value +\0A#define type\0A__global__ void __launch_bounds__(128) __cluster_dims__(2) g(E e, const void *p) {}\0A// end \5C"
    flags ["--std=c++11"]
  tl.cuda_entry @f params([#tl.param<base, 0>, #tl.param<base, 1>, #tl.param<scalar, 2, type = i32>, #tl.param<base, 3>]) block(128) shared(0) symbols ["w"]
    {tl.passed = [["tl_pointer<'f', 32>", "x"], ["tl_pointer<'f', 32>", "y"], ["tl_number<'i', 32>", "n"], ["tl_pointer<'q', 8>", "s"]]}
  tl.cuda_entry @g entry("(void (*)(E, const void *))g") params([#tl.param<scalar, 0, type = i32>, #tl.param<base, 1>]) block(64) shared(0)
    {tl.cluster = array<i64: 2, 1, 1>, tl.passed = [["tl_number<'i', 32>", "e"], ["tl_pointer<'n', 16>", "p"]]}
}

// Several units are compiled for linking.
// CHECK-LABEL: gpu.module @linked
// CHECK-NEXT:    tl.compiled_kernel @f entry("_Z1fPf") {{.*}}device_kernel.cu = {{.*}}device_kernel_1.cu = {{.*}}kernel.ptx = {{.*}}kernel_1.ptx =
gpu.module @linked attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "f.cu" "__device__ float g(); __global__ void f(float *x) { x[0] = g(); }"
  tl.cuda_unit "g.cu" "__device__ float g() { return 1; }"
  tl.cuda_entry @f params([#tl.param<base, 0>]) block(1) shared(0)
}

// PTX is taken as it is, and so is a cubin, in which nothing is looked up.
// CHECK-LABEL: gpu.module @assembly
// CHECK-NEXT:    tl.compiled_kernel @k params([]) block(1) shared(0) files({kernel.ptx = ".entry k() {}"})
gpu.module @assembly attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "k.ptx" ".entry k() {}" language ptx
  tl.cuda_entry @k params([]) block(1) shared(0)
}
// CHECK-LABEL: gpu.module @binary
// CHECK-NEXT:    tl.compiled_kernel @k params([]) block(1) shared(0) files({kernel.cubin = "..."})
gpu.module @binary attributes {tl.target = #tl.target<chip = "sm_90a">} {
  tl.cuda_unit "k.cubin" "..." language cubin
  tl.cuda_entry @k params([]) block(1) shared(0)
}

// A module without units is left alone.
// CHECK-LABEL: gpu.module @none
// CHECK-NEXT:    gpu.func @f
gpu.module @none {
  gpu.func @f() kernel { gpu.return }
}
