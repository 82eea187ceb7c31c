// RUN: tl-opt %s --tl-attach-target=chip=sm_90 | FileCheck %s
// RUN: tl-opt %s --tl-attach-target=chip=cpu | FileCheck %s
// RUN: tl-opt %s --tl-attach-target=chip=sm_89 --verify-diagnostics

// Clusters are for compute capability 9.0 and up; a cluster of one block is a block.
// CHECK: cluster(2)
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @k() kernel {
      gpu.return
    }
  }
  func.func @f(%g: index) {
    tl.launch @k::@k blocks(%g) threads(128) cluster(1) args()
    // expected-error @below {{launches clusters of blocks, which `sm_89` does not have; launch it without them, or compile for `sm_90` or later}}
    tl.launch @k::@k blocks(%g) threads(128) cluster(2) args()
    return
  }
}
