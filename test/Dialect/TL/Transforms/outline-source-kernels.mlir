// RUN: tl-opt %s --tl-outline-kernels | FileCheck %s

// Tile kernels and source kernels become launches, in their order.
// CHECK-LABEL: func.func @mixed
// CHECK:         tl.launch @mixed_kernel::@mixed_kernel
// CHECK-NEXT:    tl.launch @f::@f blocks(%{{.*}}) threads(32) cluster(2) shared(%{{.*}}) cooperative dependent args(%{{.*}}, %{{.*}} : memref<8xf32>, i32) symbols ["w"](%{{.*}} : memref<8xf32>)
func.func @mixed(%A: memref<8xf32>, %n: i32, %W: memref<8xf32>, %g: index) attributes {tl.entry} {
  tl.kernel blocks(%b) in (%g) threads(32) {
    %c = arith.constant 0 : index
    %x = tl.load %A[%c] : memref<8xf32>
    tl.store %x, %A[%c] : memref<8xf32>
  }
  tl.source_kernel sources([#tl.cuda_source<"one">]) entry("f") blocks(%g) threads(32) cluster(2) shared(%g) cooperative dependent
    args(%A, %n : memref<8xf32>, i32) symbols ["w"](%W : memref<8xf32>)
  return
}

// Launches of one text share its module, and those of one entry the entry; equal names in other texts are other modules.
// CHECK-LABEL: func.func @repeated
// CHECK:         tl.launch @[[TWO:.+]]::@[[F:f_0]]
// CHECK:         tl.launch @[[TWO]]::@[[F]]
// CHECK:         tl.launch @[[TWO]]::@g
// CHECK:         tl.launch @[[FLAGS:.+]]::@[[F1:f_1]]
// CHECK:         tl.launch @[[TWO]]::@[[SCALE:scale]]
func.func @repeated(%A: memref<8xf32>, %g: index) attributes {tl.entry} {
  tl.source_kernel sources([#tl.cuda_source<"two">]) entry("f") blocks(%g) threads(32) args(%A : memref<8xf32>)
  tl.source_kernel sources([#tl.cuda_source<"two", file = "two.cu">]) entry("f") blocks(%g, %g) threads(32) args(%A : memref<8xf32>)
  tl.source_kernel sources([#tl.cuda_source<"two">]) entry("g") blocks(%g) threads(32) args(%A : memref<8xf32>)
  tl.source_kernel sources([#tl.cuda_source<"two">]) entry("f") flags ["-DN=4"] blocks(%g) threads(32) args(%A : memref<8xf32>)
  tl.source_kernel sources([#tl.cuda_source<"two">]) entry("ns::scale<float, 4>") blocks(%g) threads(32) args(%A : memref<8xf32>)
    params [#tl.param<tensor_map, 0, box = [8], type = f32>]
  return
}

// CHECK:      gpu.module @f {
// CHECK-NEXT:   tl.cuda_unit "f.cu" "one"
// CHECK-NEXT:   tl.cuda_entry @f params([#tl.param<base, 0>, #tl.param<scalar, 1, type = i32>]) block(32) shared(0) symbols ["w"]
// CHECK:      gpu.module @[[TWO]] {
// CHECK-NEXT:   tl.cuda_unit "f.cu" "two"
// CHECK-NEXT:   tl.cuda_entry @[[F]] entry("f")
// CHECK-NEXT:   tl.cuda_entry @g params
// CHECK-NEXT:   tl.cuda_entry @[[SCALE]] entry("ns::scale<float, 4>") params([#tl.param<tensor_map, 0, box = [8], type = f32>])
// CHECK:      gpu.module @[[FLAGS]] {
// CHECK-NEXT:   tl.cuda_unit "f.cu" "two" flags ["-DN=4"]
// CHECK-NEXT:   tl.cuda_entry @[[F1]] entry("f")

// What is known of a source comes with it; kernels that cannot be keyed say so.
// CHECK:      gpu.module @h attributes {tl.uncached = "why"} {
// CHECK-NEXT:   tl.cuda_unit "0/h.cu" "three" prelude "p" headers {a.h = "..."} include_paths ["1"] toolkit "t"
// CHECK-NEXT:   tl.cuda_unit "more.ptx" "four" language ptx
func.func @resolved(%g: index) attributes {tl.entry} {
  tl.source_kernel sources([#tl.cuda_source<"three", file = "/x/h.cu", name = "0/h.cu">, #tl.cuda_source<"four", file = "/x/more.ptx", language = ptx>])
    entry("h") prelude "p" include_paths ["1"] headers {a.h = "..."} toolkit "t" uncached "why" blocks(%g) threads(32) args()
  return
}
