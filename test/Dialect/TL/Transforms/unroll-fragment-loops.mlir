// Short loops whose index picks a part of a fragment.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-unroll-fragment-loops))' | FileCheck %s

!acc = memref<32x64xf32, #tl.fragment>
!tile = memref<16x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Two halves of an accumulator. The number that the loop carries goes from one
  // iteration to the next.
  // CHECK-LABEL: gpu.func @halves
  // CHECK-SAME:    %[[N:[^ :]+]]: index
  // CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
  // CHECK-DAG:     %[[C16:.+]] = arith.constant 16 : index
  // CHECK-NOT:     scf.for
  // CHECK:         tl.parallel (%[[I:.+]], %[[J:.+]]) in (16, 64)
  // CHECK:           tl.load %{{.+}}[%[[I]], %[[J]]]
  // CHECK:         %[[NEXT:.+]] = arith.addi %[[N]], %[[N]]
  // CHECK:         tl.parallel (%[[I:.+]], %{{.+}}) in (16, 64)
  // CHECK:           %[[AT:.+]] = arith.addi %[[I]], %[[C16]]
  // CHECK:           tl.load %{{.+}}[%[[AT]], %{{.+}}]
  // CHECK:         %[[LAST:.+]] = arith.addi %[[NEXT]], %[[N]]
  // CHECK:         tl.store %{{.+}}, %{{.+}}[%[[LAST]], %{{.+}}]
  gpu.func @halves(%n: index, %f: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %acc = tl.alloc : !acc
    %tile = tl.alloc : !tile
    %last = scf.for %s = %c0 to %c2 step %c1 iter_args(%carried = %n) -> index {
      tl.parallel (%i, %j) in (16, 64) {
        %first = arith.muli %s, %c16 : index
        %at = arith.addi %i, %first : index
        %x = tl.load %acc[%at, %j] : !acc
        tl.store %x, %tile[%i, %j] : !tile
      }
      %next = arith.addi %carried, %n : index
      scf.yield %next : index
    }
    tl.store %f, %tile[%last, %c0] : !tile
    gpu.return
  }

  // Lines, one after the other, in the parallel loop itself as well.
  // CHECK-LABEL: gpu.func @lines
  // CHECK-NOT:     scf.for
  // CHECK:         tl.parallel
  // CHECK-COUNT-2: tl.load
  gpu.func @lines() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %acc = tl.alloc : !acc
    %tile = tl.alloc : !tile
    tl.parallel (%i, %j) in (16, 64) {
      %zero = arith.constant 0.0 : f32
      %sum = scf.for %s = %c0 to %c2 step %c1 iter_args(%before = %zero) -> f32 {
        %x = tl.load %acc[%s, %j] : !acc
        %next = arith.addf %before, %x : f32
        scf.yield %next : f32
      }
      tl.store %sum, %tile[%i, %j] : !tile
    }
    gpu.return
  }

  // Not if rows are fewer apart, the loop is long, its end is not known, or what it
  // reads is no fragment.
  // CHECK-LABEL: gpu.func @others
  // CHECK-COUNT-4: scf.for
  gpu.func @others(%n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c65 = arith.constant 65 : index
    %c16 = arith.constant 16 : index
    %acc = tl.alloc : !acc
    %tile = tl.alloc : !tile
    %other = tl.alloc : !tile
    scf.for %s = %c0 to %c2 step %c1 {
      tl.parallel (%i, %j) in (16, 64) {
        %first = arith.muli %s, %c2 : index
        %at = arith.addi %i, %first : index
        %x = tl.load %acc[%at, %j] : !acc
        tl.store %x, %tile[%i, %j] : !tile
      }
    }
    scf.for %s = %c0 to %c65 step %c1 {
      tl.parallel (%i, %j) in (16, 64) {
        %first = arith.muli %s, %c16 : index
        %at = arith.addi %i, %first : index
        %x = tl.load %acc[%at, %j] : !acc
        tl.store %x, %tile[%i, %j] : !tile
      }
    }
    scf.for %s = %c0 to %n step %c1 {
      tl.parallel (%i, %j) in (16, 64) {
        %first = arith.muli %s, %c16 : index
        %at = arith.addi %i, %first : index
        %x = tl.load %acc[%at, %j] : !acc
        tl.store %x, %tile[%i, %j] : !tile
      }
    }
    scf.for %s = %c0 to %c2 step %c1 {
      tl.parallel (%i, %j) in (8, 64) {
        %first = arith.muli %s, %c16 : index
        %at = arith.addi %i, %first : index
        %x = tl.load %other[%at, %j] : !tile
        tl.store %x, %tile[%i, %j] : !tile
      }
    }
    gpu.return
  }
}
