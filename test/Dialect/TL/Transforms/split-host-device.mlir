// RUN: tl-opt %s --tl-split-host-device --split-input-file | FileCheck %s

// A plan has the arguments by position and the launches in order. A tensor
// without anything said about it is contiguous and aligned to its elements.
// CHECK-LABEL: tl.launch_plan @simple
// CHECK-SAME:      args = [{align = 4 : i64, dtype = "f32", kind = "tensor", name = "A", shape = [1024], strides}]
// CHECK-SAME:      launches = [{block = [128, 1, 1], cluster = [1, 1, 1], cooperative = false, dependent = false,
// CHECK-SAME:          grid = [8, 1, 1], kernel = "k", params = [{base = 0 : i64}], shared = 0 : i64}]
// CHECK-SAME:      name = "simple", version = 1 : i64
// CHECK-NOT:   func.func
func.func @simple(%A: memref<1024xf32> {tl.name = "A"}) attributes {tl.entry} {
  %c8 = arith.constant 8 : index
  tl.launch @k::@k blocks(%c8) threads(128) args(%A : memref<1024xf32>)
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([#tl.param<base, 0>]) block(128) shared(0) files({})
}

// -----

// Symbols of the front end stand for extents and strides; an extent that has
// none gets its own, a stride that has none is not checked.
// CHECK-LABEL: tl.launch_plan @symbols
// CHECK-SAME:      {align = 16 : i64, dtype = "f16", kind = "tensor", name = "A", shape = ["m", 64], strides = ["lda", 1]}
// CHECK-SAME:      {align = 2 : i64, dtype = "f16", kind = "tensor", name = "arg1", shape = ["arg1_dim0", "arg1_dim1"], strides = [unit, 1]}
func.func @symbols(%A: memref<?x64xf16, strided<[?, 1]>> {tl.name = "A", tl.align = 16 : i64, tl.shape = ["m", ""], tl.strides = ["lda", ""]},
                   %B: memref<?x?xf16, strided<[?, 1]>>) attributes {tl.entry} {
  return
}

// -----

// Element types, where the front end knows more than MLIR's type says, in its
// words.
// CHECK-LABEL: tl.launch_plan @types
// CHECK-SAME:      dtype = "bf16"
// CHECK-SAME:      dtype = "f8e4m3"
// CHECK-SAME:      dtype = "f8e5m2"
// CHECK-SAME:      dtype = "u8"
// CHECK-SAME:      dtype = "i1", kind = "scalar"
// CHECK-SAME:      dtype = "i64", kind = "scalar"
// CHECK-SAME:      dtype = "tf32", kind = "scalar"
func.func @types(%0: memref<4xbf16>, %1: memref<4xf8E4M3FN>, %2: memref<4xf8E5M2>, %3: memref<4xi8> {tl.dtype = "u8"},
                 %4: i1, %5: index, %6: f32 {tl.dtype = "tf32"}) attributes {tl.entry} {
  return
}

// -----

// A grid is an expression of extents and scalars, in the plan's operators.
// CHECK-LABEL: tl.launch_plan @grid
// CHECK-SAME:      grid = [
// CHECK-SAME:        ["ceildiv", ["dim", 0, 1], 128],
// CHECK-SAME:        ["min", ["max", ["scalar", 1], 1], ["mod", ["dim", 0, 0], 7]],
// CHECK-SAME:        ["-", ["+", ["*", ["dim", 0, 0], 2], ["scalar", 2]], ["floordiv", ["dim", 0, 0], 3]]]
func.func @grid(%A: memref<?x?xf32>, %n: i32, %m: index) attributes {tl.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %c128 = arith.constant 128 : index
  %rows = memref.dim %A, %c0 : memref<?x?xf32>
  %columns = memref.dim %A, %c1 : memref<?x?xf32>
  %x = arith.ceildivsi %columns, %c128 : index
  %i = arith.index_cast %n : i32 to index
  %y0 = arith.maxsi %i, %c1 : index
  %y1 = arith.remui %rows, %c7 : index
  %y = arith.minsi %y0, %y1 : index
  %z0 = arith.muli %rows, %c2 : index
  %z1 = arith.addi %z0, %m : index
  %z2 = arith.floordivsi %rows, %c3 : index
  %z = arith.subi %z1, %z2 : index
  tl.launch @k::@k blocks(%x, %y, %z) threads(128) args()
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([]) block(128) shared(0) files({})
}

// -----

// Parameters are what the compiled kernel asks for, of the launch's arguments:
// addresses, extents, strides, scalars, and host arithmetic.
// CHECK-LABEL: tl.launch_plan @parameters
// CHECK-SAME:      params = [{base = 1 : i64},
// CHECK-SAME:        {type = "i64", value = ["dim", 1, 0]},
// CHECK-SAME:        {type = "i64", value = ["stride", 1, 1]},
// CHECK-SAME:        {scalar = 0 : i64},
// CHECK-SAME:        {type = "i64", value = ["scalar", 2]},
// CHECK-SAME:        {type = "i32", value = ["*", ["scalar", 3], 2]},
// CHECK-SAME:        {base = 1 : i64}]
func.func @parameters(%x: f32, %A: memref<?x?xf32>, %i: index, %n: i32) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : i32
  %m = arith.muli %n, %c2 : i32
  tl.launch @k::@k blocks(%c1) threads(128) args(%A, %x, %i, %m : memref<?x?xf32>, f32, index, i32)
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([#tl.param<base, 0>, #tl.param<dim, 0, index = 0>, #tl.param<stride, 0, index = 1>, #tl.param<scalar, 1, type = f32>, #tl.param<scalar, 2, type = i64>, #tl.param<scalar, 3, type = i32>, #tl.param<base, 0>]) block(128) shared(0) files({})
}

// -----

// A tensor map describes a box of a whole tensor.
// CHECK-LABEL: tl.launch_plan @tensor_map
// CHECK-SAME:      params = [{tensor_map = {arg = 1 : i64, box = [64, 128], dtype = "f16", swizzle = 128 : i64}}]
func.func @tensor_map(%n: i32, %A: memref<256x256xf16>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.launch @k::@k blocks(%c1) threads(128) args(%A : memref<256x256xf16>)
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([#tl.param<tensor_map, 0, type = f16, box = [64, 128], swizzle = 128>]) block(128) shared(0) files({})
}

// -----

// Shared memory is the kernel's, and what the launch adds to it.
// CHECK-LABEL: tl.launch_plan @shared
// CHECK-SAME:      shared = 4096 : i64}
// CHECK-SAME:      shared = ["+", 4096, ["scalar", 0]]}
func.func @shared(%bytes: index) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.launch @k::@k blocks(%c1) threads(128) args()
  tl.launch @k::@k blocks(%c1) threads(128) shared(%bytes) args()
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([]) block(128) shared(4096) files({})
}

// -----

// How a launch is scheduled.
// CHECK-LABEL: tl.launch_plan @attributes
// CHECK-SAME:      block = [32, 4, 1], cluster = [2, 1, 1], cooperative = true, dependent = true
func.func @attributes(%g: index) attributes {tl.entry} {
  tl.launch @k::@k blocks(%g, %g) threads(32, 4) cluster(2, 1) cooperative dependent args()
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([]) block(32, 4) shared(0) files({})
}

// -----

// A function that is no entry stays.
// CHECK: func.func @helper
func.func @helper(%A: memref<?xf32>) {
  return
}
