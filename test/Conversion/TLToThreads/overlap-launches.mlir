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

// CHECK-LABEL: func.func @launches
// CHECK: tl.launch @m::@k blocks(%{{.*}}) threads(32) dependent args()
// CHECK: tl.launch @n::@together blocks(%{{.*}}) threads(32) cooperative args()
func.func @launches() attributes {tl.entry} {
  %one = arith.constant 1 : index
  tl.launch @m::@k blocks(%one) threads(32) args()
  tl.launch @n::@together blocks(%one) threads(32) cooperative args()
  return
}
