// What iterations add to one element of a reducer.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-join-contributions))' | FileCheck %s

!sums = memref<64x16xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  // Two of four dimensions are left, in the other order at the element: those that
  // are not are summed, the last one first.
  // CHECK-LABEL: gpu.func @joined
  // CHECK-SAME:    %[[X:.+]]: f32
  // CHECK:         %[[S:.+]] = tl.alloc : memref<64x16xf32, #gpu.address_space<workgroup>>
  // CHECK:         %[[F:.+]] = tl.alloc : memref<16x4x64x8xf32, #tl.fragment>
  // CHECK:         tl.parallel (%[[I:.+]], %[[J:.+]], %[[K:.+]], %[[L:.+]]) in (16, 4, 64, 8)
  // CHECK-NEXT:      tl.store %[[X]], %[[F]][%[[I]], %[[J]], %[[K]], %[[L]]]
  // CHECK:         %[[G:.+]] = tl.alloc : memref<16x4x64xf32, #tl.fragment>
  // CHECK-NEXT:    tl.reduce sum %[[F]] to %[[G]] dim(3)
  // CHECK-NEXT:    %[[H:.+]] = tl.alloc : memref<16x64xf32, #tl.fragment>
  // CHECK-NEXT:    tl.reduce sum %[[G]] to %[[H]] dim(1)
  // CHECK-NEXT:    tl.parallel (%[[I:.+]], %[[K:.+]]) in (16, 64)
  // CHECK-NEXT:      %[[SUM:.+]] = tl.load %[[H]][%[[I]], %[[K]]]
  // CHECK-NEXT:      tl.atomic add %[[SUM]], %[[S]][%[[K]], %[[I]]] scope(block)
  gpu.func @joined(%x: f32) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %s = tl.alloc : !sums
    tl.parallel (%i, %j, %k, %l) in (16, 4, 64, 8) {
      %old = tl.atomic add %x, %s[%k, %i] scope(block) {tl.contribution} : !sums
    }
    gpu.return
  }

  // Not what is no contribution, is done under a condition, somewhere else than at
  // the loop's indices, for each iteration at an element of its own, or by too many
  // iterations of a thread; nor other operations.
  // CHECK-LABEL: gpu.func @others
  // CHECK-NOT:     #tl.fragment
  gpu.func @others(%x: f32, %c: i1, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %s = tl.alloc : !sums
    tl.parallel (%i, %k, %l) in (16, 64, 8) {
      %a = tl.atomic add %x, %s[%k, %i] scope(block) : !sums
      %b = tl.atomic max %x, %s[%k, %i] scope(block) {tl.contribution} : !sums
      %d = tl.atomic add %x, %s[%k, %n] scope(block) {tl.contribution} : !sums
      scf.if %c {
        %e = tl.atomic add %x, %s[%k, %i] scope(block) {tl.contribution} : !sums
      }
    }
    tl.parallel (%i, %k) in (16, 64) {
      %a = tl.atomic add %x, %s[%k, %i] scope(block) {tl.contribution} : !sums
    }
    tl.parallel (%i, %k, %l) in (16, 64, 64) {
      %a = tl.atomic add %x, %s[%k, %i] scope(block) {tl.contribution} : !sums
    }
    gpu.return
  }

  // Sums are kept from iteration to iteration, and added behind the loop.
  // CHECK-LABEL: gpu.func @over_a_loop
  // CHECK:         %[[F:.+]] = tl.alloc : memref<16x64x2xf32, #tl.fragment>
  // CHECK:         tl.fill %[[F]]
  // CHECK-NEXT:    scf.for
  // CHECK-NEXT:      tl.parallel
  // CHECK-NEXT:        %[[OLD:.+]] = tl.load %[[F]]
  // CHECK-NEXT:        %[[NEW:.+]] = arith.addf %[[OLD]]
  // CHECK-NEXT:        tl.store %[[NEW]], %[[F]]
  // CHECK-NOT:       tl.reduce
  // CHECK:         }
  // CHECK:         tl.reduce sum %[[F]]
  // CHECK:         tl.atomic add
  gpu.func @over_a_loop(%x: f32, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc : !sums
    scf.for %q = %c0 to %n step %c1 {
      tl.parallel (%i, %k, %l) in (16, 64, 2) {
        %a = tl.atomic add %x, %s[%k, %i] scope(block) {tl.contribution} : !sums
      }
    }
    gpu.return
  }

  // Not behind a loop that reads the reducer.
  // CHECK-LABEL: gpu.func @read_in_the_loop
  // CHECK:         scf.for
  // CHECK:           tl.reduce
  // CHECK:           tl.atomic add
  // CHECK:           tl.load
  gpu.func @read_in_the_loop(%x: f32, %n: index, %C: memref<64xf32>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc : !sums
    scf.for %q = %c0 to %n step %c1 {
      tl.parallel (%i, %k, %l) in (16, 64, 2) {
        %a = tl.atomic add %x, %s[%k, %i] scope(block) {tl.contribution} : !sums
      }
      tl.parallel (%k) in (64) {
        %b = tl.load %s[%k, %c0] : !sums
        tl.store %b, %C[%k] : memref<64xf32>
      }
    }
    gpu.return
  }
}
