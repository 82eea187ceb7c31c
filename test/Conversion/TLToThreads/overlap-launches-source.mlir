// RUN: tl-opt %s --tl-attach-target --tl-overlap-launches | FileCheck %s

// A source kernel that is launched early may be done before the kernels in front
// of it: the one behind it is launched when all of them are, and the next one
// early again.
// CHECK: gpu.module @o attributes {tl.target
// CHECK: gpu.module @m attributes {tl.dependent, tl.target
gpu.module @o {
  gpu.func @behind() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
gpu.module @p {
  tl.cuda_unit "0/a.cu" "extern \22C\22 __global__ void f() {}"
  tl.cuda_entry @f params([]) block(32) shared(0)
}

// CHECK: tl.launch @p::@f blocks(%{{.*}}) threads(32) dependent args()
// CHECK: tl.launch @o::@behind blocks(%{{.*}}) threads(32) args()
// CHECK: tl.launch @m::@k blocks(%{{.*}}) threads(32) dependent args()
func.func @launches() attributes {tl.entry} {
  %one = arith.constant 1 : index
  tl.launch @p::@f blocks(%one) threads(32) dependent args()
  tl.launch @o::@behind blocks(%one) threads(32) args()
  tl.launch @m::@k blocks(%one) threads(32) args()
  return
}
