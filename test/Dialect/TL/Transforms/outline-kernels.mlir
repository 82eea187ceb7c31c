// RUN: tl-opt %s --tl-outline-kernels --split-input-file | FileCheck %s

// A kernel becomes a module with one function, and a launch in its place. Block
// coordinates become block ids, missing thread extents one.
// CHECK-LABEL: func.func @simple(
// CHECK-SAME:      %[[A:.+]]: memref<1024xf32>, %[[G:.+]]: index)
// CHECK-NEXT:    tl.launch @simple_kernel::@simple_kernel blocks(%[[G]], %[[G]]) threads(32, 4) args(%[[A]] : memref<1024xf32>)
// CHECK-NEXT:    return
// CHECK:       gpu.module @simple_kernel {
// CHECK-NEXT:    gpu.func @simple_kernel(%[[P:.+]]: memref<1024xf32>) kernel
// CHECK-SAME:        known_block_size = array<i32: 32, 4, 1>
// CHECK-DAG:       %[[X:.+]] = gpu.block_id x
// CHECK-DAG:       %[[Y:.+]] = gpu.block_id y
// CHECK:           %[[V:.+]] = tl.load %[[P]][%[[X]]]
// CHECK:           tl.store %[[V]], %[[P]][%[[Y]]]
// CHECK:           gpu.return
func.func @simple(%A: memref<1024xf32>, %g: index) {
  tl.kernel blocks(%x, %y) in (%g, %g) threads(32, 4) {
    %v = tl.load %A[%x] : memref<1024xf32>
    tl.store %v, %A[%y] : memref<1024xf32>
  }
  return
}

// -----

// Scalars and what the host computes become arguments, each once; what is known
// of the host's arguments goes with them.
// CHECK-LABEL: func.func @captures(
// CHECK-SAME:      %[[A:[^:]+]]: memref<1024xui8> {tl.align = 16 : i64, tl.dtype = "u8", tl.name = "A"},
// CHECK-SAME:      %[[N:[^:]+]]: i32, %[[G:[^:]+]]: index)
// CHECK:         %[[M:.+]] = arith.addi %[[N]], %[[N]] : i32
// CHECK:         tl.launch {{.*}} args(%[[A]], %[[N]], %[[M]] : memref<1024xui8>, i32, i32)
// CHECK:       gpu.func @captures_kernel(
// CHECK-SAME:      %[[PA:[^:]+]]: memref<1024xui8> {tl.align = 16 : i64, tl.dtype = "u8"},
// CHECK-SAME:      %[[PN:[^:]+]]: i32, %[[PM:[^:]+]]: i32)
// CHECK:         arith.muli %[[PN]], %[[PM]]
// CHECK:         arith.muli %[[PN]], %[[PM]]
func.func @captures(%A: memref<1024xui8> {tl.align = 16 : i64, tl.dtype = "u8", tl.name = "A"}, %n: i32, %g: index) {
  %m = arith.addi %n, %n : i32
  tl.kernel blocks(%x) in (%g) threads(128) {
    %v = tl.load %A[%x] : memref<1024xui8>
    %0 = arith.muli %n, %m : i32
    %1 = arith.muli %n, %m : i32
  }
  return
}

// -----

// Constants and extents are computed in the kernel, whatever the order that the
// body uses them in; the grid's own arithmetic stays on the host.
// CHECK-LABEL: func.func @constants_and_extents(
// CHECK-SAME:      %[[A:.+]]: memref<?x?xf32>)
// CHECK:         %[[G:.+]] = arith.ceildivsi
// CHECK:         tl.launch {{.*}} blocks(%[[G]]) threads(128) args(%[[A]] : memref<?x?xf32>)
// CHECK:       gpu.func @constants_and_extents_kernel(%[[P:.+]]: memref<?x?xf32>)
// CHECK:         %[[C1:.+]] = arith.constant 1 : index
// CHECK:         %[[N:.+]] = memref.dim %[[P]], %[[C1]]
// CHECK:         tl.load %[[P]][%{{.+}}, %[[C1]]]
// CHECK:         arith.subi %[[N]], %{{.+}}
func.func @constants_and_extents(%A: memref<?x?xf32>) {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %n = memref.dim %A, %c1 : memref<?x?xf32>
  %g = arith.ceildivsi %n, %c128 : index
  tl.kernel blocks(%b) in (%g) threads(128) {
    %x = tl.load %A[%b, %c1] : memref<?x?xf32>
    %i = arith.subi %n, %b : index
  }
  return
}

// -----

// A name that is given is kept; the others are numbered, and step aside for
// each other. Equal bodies stay two kernels.
// CHECK-LABEL: func.func @f(
// CHECK:         tl.launch @f_kernel::@f_kernel
// CHECK:         tl.launch @given::@given
// CHECK:         tl.launch @f_kernel_0::@f_kernel_0
// CHECK-DAG:   gpu.module @f_kernel {
// CHECK-DAG:   gpu.module @given {
// CHECK-DAG:   gpu.module @f_kernel_0 {
func.func @f(%g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
  }
  tl.kernel @given blocks(%b) in (%g) threads(128) {
  }
  tl.kernel blocks(%b) in (%g) threads(128) {
  }
  return
}

// -----

// A cluster is an attribute of the launch and, of three extents, of the kernel.
// CHECK-LABEL: func.func @cluster
// CHECK:         tl.launch {{.*}} threads(128) cluster(2, 1) args()
// CHECK:       gpu.func @cluster_kernel() kernel attributes {{.*}}tl.cluster = array<i64: 2, 1, 1>
func.func @cluster(%g: index) {
  tl.kernel blocks(%x, %y) in (%g, %g) threads(128) cluster(2, 1) {
  }
  return
}

// -----

// Blocks that wait for each other are launched so that all run at once.
// CHECK-LABEL: func.func @cooperative
// CHECK:         tl.launch {{.*}} threads(128) cooperative args()
func.func @cooperative(%g: index) {
  tl.kernel blocks(%x) in (%g) threads(128) cooperative {
  }
  return
}

// -----

// What stands inside the body's regions is captured like the rest, in the order
// of use.
// CHECK-LABEL: func.func @nested(
// CHECK-SAME:      %[[HOSTA:.+]]: memref<128xf32>, %[[HOSTV:.+]]: f32,
// CHECK:         tl.launch {{.*}} args(%[[HOSTV]], %[[HOSTA]] : f32, memref<128xf32>)
// CHECK:       gpu.func @nested_kernel(%[[V:.+]]: f32, %[[A:.+]]: memref<128xf32>)
// CHECK:         tl.parallel
// CHECK:           tl.store %[[V]], %[[A]]
func.func @nested(%A: memref<128xf32>, %v: f32, %g: index) {
  tl.kernel blocks(%b) in (%g) threads(128) {
    tl.parallel (%i) in (128) {
      tl.store %v, %A[%i] : memref<128xf32>
    }
  }
  return
}

// -----

// Assemblers take no other characters.
// CHECK-LABEL: func.func @"gr\C3\B6\C3\9Fe"
// CHECK:         tl.launch @gr____e_kernel::@gr____e_kernel
// CHECK:       gpu.module @gr____e_kernel
func.func @"gr\C3\B6\C3\9Fe"() {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%b) in (%c1) threads(32) {
  }
  return
}

// -----

// Of the grid's extents a kernel knows what they are at most: 2^31 less one by
// the divisor, and of numbers no more than a power of two; else what CUDA allows.
// CHECK-LABEL: func.func @limits(
// CHECK:       gpu.func @ceiling() {{.*}}tl.grid_limit = array<i64: 22369622, 1, 1>
// CHECK:       gpu.func @floor() {{.*}}tl.grid_limit = array<i64: 16777215, 1, 1>
// CHECK:       gpu.func @few() {{.*}}tl.grid_limit = array<i64: 65536, 1, 1>
// CHECK:       gpu.func @many() {{.*}}tl.grid_limit = array<i64: 131072, 1, 1>
// CHECK:       gpu.func @unsigned() {{.*}}tl.grid_limit = array<i64: 2147483647, 1, 1>
// CHECK:       gpu.func @product() {{.*}}tl.grid_limit = array<i64: 2147483647, 65535, 1>
func.func @limits(%A: memref<?xf32>, %n: i32, %u: i32 {tl.dtype = "u32"}) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c96 = arith.constant 96 : index
  %c65537 = arith.constant 65537 : index
  %c128 = arith.constant 128 : i32
  %d = memref.dim %A, %c0 : memref<?xf32>
  %ceiling = arith.ceildivsi %d, %c96 : index
  tl.kernel @ceiling blocks(%b) in (%ceiling) threads(128) {
  }
  %floor = arith.floordivsi %n, %c128 : i32
  %blocks = arith.index_cast %floor : i32 to index
  tl.kernel @floor blocks(%b) in (%blocks) threads(128) {
  }
  tl.kernel @few blocks(%b) in (%c8) threads(128) {
  }
  tl.kernel @many blocks(%b) in (%c65537) threads(128) {
  }
  %unsigned = arith.floordivsi %u, %c128 : i32
  %extent = arith.index_cast %unsigned : i32 to index
  tl.kernel @unsigned blocks(%b) in (%extent) threads(128) {
  }
  %product = arith.muli %ceiling, %c8 : index
  tl.kernel @product blocks(%b, %y) in (%product, %product) threads(128) {
  }
  return
}

// -----

// Beside a tensor with an extent that is a number, numbers count as they are.
// CHECK-LABEL: func.func @exact_limits(
// CHECK:       gpu.func @exact({{.*}}tl.grid_limit = array<i64: 8, 3, 65535>
// CHECK:       gpu.func @coarse({{.*}}tl.grid_limit = array<i64: 65536, 65535, 1>
func.func @exact_limits(%A: memref<?x64xf32>, %B: memref<?xf32>, %f: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  tl.kernel @exact blocks(%x, %y, %z) in (%c8, %c3, %n) threads(128) {
    tl.store %f, %A[%x, %c0] : memref<?x64xf32>
  }
  tl.kernel @coarse blocks(%x, %y) in (%c8, %c3) threads(128) {
    tl.store %f, %B[%x] : memref<?xf32>
  }
  return
}
