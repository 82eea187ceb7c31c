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

// The compiler's own tensor, on which blocks may race.
// CHECK-LABEL: tl.launch_plan @record
// CHECK-SAME:      {align = 4 : i64, dtype = "i32", kind = "tensor", name = "A", shape = [2], strides}
// CHECK-SAME:      {align = 8 : i64, dtype = "i64", kind = "tensor", name = "R", record = true, shape = [64], strides}
func.func @record(%A: memref<2xi32> {tl.name = "A"}, %R: memref<64xi64> {tl.name = "R", tl.align = 8 : i64, tl.record}) attributes {tl.entry} {
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

// Strides that host code asks for are those of the argument.
// CHECK-LABEL: tl.launch_plan @strides
// CHECK-SAME:      grid = {{[[][[]}}"stride", 0, 0], ["dim", 0, 1], 1]
func.func @strides(%A: memref<?x?xf32, strided<[?, 1]>>) attributes {tl.entry} {
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %A : memref<?x?xf32, strided<[?, 1]>> -> memref<f32>, index, index, index, index, index
  tl.launch @k::@k blocks(%strides#0, %sizes#1) threads(1) args()
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([]) block(1) shared(0) files({})
}

// -----

// A function that is no entry stays.
// CHECK: func.func @helper
func.func @helper(%A: memref<?xf32>) {
  return
}

// -----

// Kernels of external code have a symbol of their own, and variables that are
// set before the launch. A kernel that is launched twice is in the plan twice;
// arguments that no launch uses are checked and passed to none.
// CHECK-LABEL: tl.launch_plan @sources
// CHECK-SAME:      name = "unused"
// CHECK-SAME:      launches = [
// CHECK-SAME:        entry = "_Z1fPf", grid = [1, 1, 1], kernel = "f", params = [{base = 1 : i64}, {scalar = 2 : i64}], shared = ["*", ["dim", 1, 0], 4],
// CHECK-SAME:        symbols = [{arg = 3 : i64, name = "_ZN2ns1wE"}]}
// CHECK-SAME:        entry = "_Z1fPf", grid = [2, 1, 1], kernel = "f", params = [{base = 3 : i64}, {scalar = 2 : i64}]
// CHECK-SAME:        kernel = "tile", params = [{base = 1 : i64}]
func.func @sources(%unused: memref<?xf32> {tl.name = "unused"}, %A: memref<?xf32>, %n: i32, %W: memref<8xf32>, %also_unused: f64) attributes {tl.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %size = memref.dim %A, %c0 : memref<?xf32>
  %bytes = arith.muli %size, %c4 : index
  tl.launch @text::@f blocks(%c1) threads(128) shared(%bytes) cooperative args(%A, %n : memref<?xf32>, i32) symbols ["ns::w"](%W : memref<8xf32>)
  tl.launch @text::@f blocks(%c2) threads(128) args(%W, %n : memref<8xf32>, i32) symbols ["ns::w"](%W : memref<8xf32>)
  tl.launch @tile::@tile blocks(%c1) threads(128) dependent args(%A : memref<?xf32>)
  return
}
gpu.module @text {
  tl.compiled_kernel @f entry("_Z1fPf") params([#tl.param<base, 0>, #tl.param<scalar, 1, type = i32>]) block(128) shared(0) symbols ["_ZN2ns1wE"] files({})
}
gpu.module @tile {
  tl.compiled_kernel @tile params([#tl.param<base, 0>]) block(128) shared(0) files({})
}

// -----

// A struct's members lie as C lays them out; constants are their bits.
// CHECK-LABEL: tl.launch_plan @structs
// CHECK-SAME:      params = [{struct = {members = [{at = 0 : i64, bytes = 2 : i64, type = "i32", value = 7 : i64}, {at = 8 : i64, base = 0 : i64, bytes = 8 : i64}, {at = 16 : i64, bytes = 4 : i64, scalar = 1 : i64}], size = 24 : i64}},
// CHECK-SAME:          {type = "i32", value = 1065353216 : i64}]
func.func @structs(%A: memref<?xf32>, %n: i32) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : i16
  %one = arith.constant 1.0 : f32
  tl.launch @k::@k blocks(%c1) threads(1) args(%c7, %A, %n, %one : i16, memref<?xf32>, i32, f32)
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([#tl.param<struct, 0, members = [#tl.param<scalar, 0, type = i16>, #tl.param<base, 1>, #tl.param<scalar, 2, type = i32>]>,
    #tl.param<scalar, 3, type = f32>]) block(1) shared(0) files({})
}

// -----

// A kernel that was given further threads is launched with them.
// CHECK-LABEL: tl.launch_plan @more_threads
// CHECK-SAME:      launches = [{block = [160, 1, 1],
func.func @more_threads() attributes {tl.entry} {
  %c8 = arith.constant 8 : index
  tl.launch @k::@k blocks(%c8) threads(16, 8) args()
  return
}
gpu.module @k {
  tl.compiled_kernel @k params([]) block(160, 1, 1) shared(0) files({})
}
