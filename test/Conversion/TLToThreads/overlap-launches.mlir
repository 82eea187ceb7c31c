// RUN: tl-opt %s --tl-attach-target --tl-overlap-launches | FileCheck %s
// RUN: tl-opt %s --tl-attach-target=chip=sm_89 --tl-overlap-launches | FileCheck %s --check-prefix=ALONE
// RUN: tl-opt %s --tl-attach-target=chip=cpu --tl-overlap-launches | FileCheck %s --check-prefix=ALONE

// From 9.0 on kernels are launched early, and marked, so that they wait. None
// is on an older chip or on the CPU.
// CHECK: gpu.module @m attributes {tl.dependent, tl.target
// ALONE-NOT: dependent
gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}

// Blocks of a cooperative launch wait for each other: it begins when it can.
// CHECK: gpu.module @n attributes {tl.target
gpu.module @n {
  gpu.func @together() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}

// Blocks that load an element for each thread and store it, and fill a GPU, are
// launched in the ordinary way; not those that loop, nor a few of them.
// CHECK: gpu.module @short attributes {tl.target
gpu.module @short {
  gpu.func @short(%A: memref<2048x128xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %b = gpu.block_id x
    tl.parallel (%i) in (128) {
      %x = tl.load %A[%b, %i] : memref<2048x128xf32>
      tl.store %x, %A[%b, %i] : memref<2048x128xf32>
    }
    gpu.return
  }
}
// CHECK: gpu.module @few attributes {tl.dependent, tl.target
gpu.module @few {
  gpu.func @few(%A: memref<2048x128xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.return
  }
}
// CHECK: gpu.module @long attributes {tl.dependent, tl.target
gpu.module @long {
  gpu.func @long(%A: memref<2048x128xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    tl.parallel (%i) in (1024) {
      %b = arith.constant 0 : index
      %x = tl.load %A[%b, %i] : memref<2048x128xf32>
      tl.store %x, %A[%b, %i] : memref<2048x128xf32>
    }
    gpu.return
  }
}

// CHECK-LABEL: func.func @launches
// CHECK: tl.launch @m::@k blocks(%{{.*}}) threads(32) dependent args()
// CHECK: tl.launch @n::@together blocks(%{{.*}}) threads(32) cooperative args()
// CHECK: tl.launch @short::@short blocks(%{{.*}}) threads(128) args(
// CHECK: tl.launch @few::@few blocks(%{{.*}}) threads(128) dependent args(
// CHECK: tl.launch @long::@long blocks(%{{.*}}) threads(128) dependent args(
func.func @launches(%A: memref<2048x128xf32>) attributes {tl.entry} {
  %one = arith.constant 1 : index
  tl.launch @m::@k blocks(%one) threads(32) args()
  tl.launch @n::@together blocks(%one) threads(32) cooperative args()
  %many = arith.constant 2048 : index
  tl.launch @short::@short blocks(%many) threads(128) args(%A : memref<2048x128xf32>)
  %some = arith.constant 1024 : index
  tl.launch @few::@few blocks(%some) threads(128) args(%A : memref<2048x128xf32>)
  tl.launch @long::@long blocks(%many) threads(128) args(%A : memref<2048x128xf32>)
  return
}
