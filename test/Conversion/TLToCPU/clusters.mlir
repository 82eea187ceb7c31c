// Blocks of a cluster that meet are executed in turns by one thread.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-cpu,canonicalize,cse))' | FileCheck %s

!s = memref<64xf32, #gpu.address_space<workgroup>>

gpu.module @clusters attributes {tl.target = #tl.target<chip = "cpu">} {
  // Each tile has a slot for each block, and what is between two barriers is a
  // loop over the blocks. The loop over rounds is around both.
  // CHECK-LABEL: func.func @send(
  // CHECK:         memref.alloca() {{.*}} : memref<2x64xf32
  // CHECK:         scf.for {{.*}} step %c2
  // CHECK:           scf.for {{.*}} to %c2 step %c1
  // CHECK:           scf.for
  // CHECK:             scf.for {{.*}} to %c2 step %c1
  // CHECK:             scf.for {{.*}} to %c2 step %c1
  gpu.func @send(%A: memref<128x64xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = gpu.block_id x
    %other = arith.xori %x, %c1 : index
    %s = tl.alloc : !s
    %t = tl.alloc : !s
    tl.copy %A[%x, %c0] to %s tile(64) : memref<128x64xf32> to !s
    scf.for %i = %c0 to %n step %c1 {
      %there = tl.map_shared_rank %t[%other] : !s
      tl.copy %s to %there tile(64) : !s to !s
      tl.cluster_barrier
      tl.copy %t to %A[%x, %c0] tile(64) : !s to memref<128x64xf32>
      tl.cluster_barrier
    }
    gpu.return
  }
}
