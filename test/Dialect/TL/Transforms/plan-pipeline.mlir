// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-pipeline))' --split-input-file | FileCheck %s

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Bulk copies fill a ring. The prologue starts those of the first two
  // iterations, if there are so many; the loop waits for its slot, computes,
  // and refills the slot that everybody has left. The parity of the barriers
  // flips where the slots start again. A product stays in flight for one
  // iteration.
  // CHECK-LABEL: gpu.func @bulk(
  // CHECK-SAME:      %[[A:[^:]+]]: memref<4096x4096xf16>{{.*}}, %[[N:[^:]+]]: index
  // CHECK-DAG:     %[[RING:.+]] = tl.alloc ring layout({{.*}}) : memref<3x64x64xf16, #gpu.address_space<workgroup>>
  // CHECK-DAG:     %[[FULL:.+]] = tl.alloc_barriers arrivals(1) : memref<3x!tl.mbarrier
  // CHECK-DAG:     %[[ACC:.+]] = tl.alloc : memref<64x64xf32, #tl.fragment>
  // CHECK:         %[[ANY0:.+]] = arith.cmpi slt, %{{.+}}, %[[N]]
  // CHECK-NEXT:    scf.if %[[ANY0]] {
  // CHECK:           %[[S0:.+]] = tl.slot %[[RING]][%[[I0:.+]]]
  // CHECK:           tl.copy %[[A]]{{.*}} to %[[S0]] tile(64, 64) async bulk barrier(%[[FULL]][%[[I0]]] :
  // CHECK:         %[[ANY1:.+]] = arith.cmpi slt, %{{.+}}, %[[N]]
  // CHECK-NEXT:    scf.if %[[ANY1]] {
  // CHECK:           tl.copy {{.*}} async bulk barrier(%[[FULL]]
  // CHECK-NOT:     tl.copy
  // CHECK:         scf.for %[[K:.+]] = {{.*}} iter_args(%[[SLOT:.+]] = %{{.+}}, %[[REFILL:.+]] = %{{.+}}, %[[PARITY:.+]] = %{{.+}})
  // CHECK-NEXT:      tl.wait_barrier %[[FULL]][%[[SLOT]]] parity(%[[PARITY]])
  // CHECK-NEXT:      %[[S:.+]] = tl.slot %[[RING]][%[[SLOT]]]
  // CHECK:           tl.gemm %[[S]], %[[S]], %[[ACC]] async plan
  // CHECK-NEXT:      tl.wait_gemm 1
  // CHECK-NEXT:      gpu.barrier
  // CHECK:           %[[AHEAD:.+]] = arith.addi %[[K]], %{{.+}}
  // CHECK-NEXT:      %[[MORE:.+]] = arith.cmpi slt, %[[AHEAD]], %[[N]]
  // CHECK-NEXT:      scf.if %[[MORE]] {
  // CHECK-NEXT:        %[[KK:.+]] = arith.muli %[[AHEAD]], %{{.+}}
  // CHECK-NEXT:        %[[R:.+]] = tl.slot %[[RING]][%[[REFILL]]]
  // CHECK-NEXT:        tl.copy %[[A]][%{{.+}}, %[[KK]]] to %[[R]] tile(64, 64) async bulk barrier(%[[FULL]][%[[REFILL]]] :
  // CHECK:           %[[WRAPS:.+]] = arith.cmpi eq
  // CHECK:           %[[NEXT:.+]] = arith.select %[[WRAPS]]
  // CHECK:           %[[FLIPPED:.+]] = arith.xori %[[PARITY]]
  // CHECK-NEXT:      %[[NEXTPARITY:.+]] = arith.select %[[WRAPS]], %[[FLIPPED]], %[[PARITY]]
  // CHECK-NEXT:      scf.yield %[[NEXT]], %{{.+}}, %[[NEXTPARITY]]
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.wait_gemm 0 (%[[ACC]] :
  gpu.func @bulk(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %s tile(64, 64) : !A to !tile
      tl.gemm %s, %s, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Each copy announces its own bytes at its slot's barrier.
  // CHECK-LABEL: gpu.func @two_copies
  // CHECK:         tl.alloc_barriers arrivals(2) : memref<2x!tl.mbarrier
  // CHECK:         tl.wait_gemm 1
  gpu.func @two_copies(%A: !A {tl.align = 16 : i64}, %B: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %a tile(64, 64) : !A to !tile
      tl.copy %B[%k, %c0] to %b tile(64, 64) : !A to !tile
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // A product that the loop uses is complete at once.
  // CHECK-LABEL: gpu.func @accumulator_in_use
  // CHECK:         scf.for
  // CHECK-NOT:       tl.gemm {{.*}} async
  // CHECK-NOT:       tl.wait_gemm
  // CHECK:           tl.gemm
  // CHECK-NEXT:      tl.parallel
  // CHECK-NOT:     tl.wait_gemm
  // CHECK:         gpu.return
  gpu.func @accumulator_in_use(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      tl.gemm %s, %s, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.parallel (%i, %j) in (64, 64) {
        %x = tl.load %acc[%i, %j] : !acc
        %y = arith.addf %x, %x : f32
        tl.store %y, %acc[%i, %j] : !acc
      }
    }
    gpu.return
  }

  // So is one whose operand the next iteration overwrites: only slots of the
  // ring wait for it.
  // CHECK-LABEL: gpu.func @operand_overwritten
  // CHECK:         scf.for
  // CHECK-NOT:       tl.gemm {{.*}} async
  // CHECK:           tl.fill
  // CHECK:           tl.gemm {{.*}} plan
  // CHECK-NOT:     tl.wait_gemm
  // CHECK:         gpu.return
  gpu.func @operand_overwritten(%A: !A {tl.align = 16 : i64}, %n: index, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %a tile(64, 64) : !A to !tile
      tl.fill %b, %v : !tile
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // An operand that the loop only reads stays where it is.
  // CHECK-LABEL: gpu.func @operand_kept
  // CHECK:         scf.for
  // CHECK:           tl.gemm {{.*}} async plan
  gpu.func @operand_kept(%A: !A {tl.align = 16 : i64}, %n: index, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.fill %b, %v : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %a tile(64, 64) : !A to !tile
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Strides that may not be multiples of 16 bytes: threads copy. What they
  // store is fenced, because `wgmma` reads it through the async proxy.
  // CHECK-LABEL: gpu.func @unaligned_strides
  // CHECK-NOT:     tl.alloc_barriers
  // CHECK:         scf.for
  // CHECK-NEXT:      tl.wait_copies 1
  // CHECK-NEXT:      tl.fence_async
  // CHECK-NEXT:      gpu.barrier
  // CHECK:           tl.copy {{.*}} async :
  // CHECK:           tl.commit_copies
  // CHECK:           tl.gemm {{.*}} plan(<wgmma
  gpu.func @unaligned_strides(%A: memref<?x?xf16> {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : memref<?x?xf16> to !tile
      tl.gemm %s, %s, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // A loop that runs many times cannot know the parity of its barriers, so
  // threads copy; they start when all have left the run before.
  // CHECK-LABEL: gpu.func @inside_a_loop
  // CHECK-NOT:     tl.alloc_barriers
  // CHECK:         scf.for
  // CHECK:           gpu.barrier
  // CHECK:           scf.if
  // CHECK:             tl.copy {{.*}} async :
  // CHECK:           scf.for
  gpu.func @inside_a_loop(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %n stages(2) {
        tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
        tl.gemm %s, %s, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      }
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // Without a bulk copy engine groups of `cp.async` are counted: one for each
  // stage in the prologue and one for each iteration, also where there is
  // nothing to copy.
  // CHECK-LABEL: gpu.func @groups(
  // CHECK-SAME:      %[[A:[^:]+]]: memref<4096x4096xf16>
  // CHECK:         %[[RING:.+]] = tl.alloc ring layout({{.*}}) : memref<4x64x64xf16
  // CHECK-COUNT-3: tl.commit_copies
  // CHECK:         scf.for {{.*}} iter_args(%[[SLOT:.+]] = %{{.+}}, %[[REFILL:.+]] = %{{.+}}) ->
  // CHECK-NEXT:      tl.wait_copies 2
  // CHECK-NEXT:      gpu.barrier
  // CHECK:           scf.if
  // CHECK:             %[[R:.+]] = tl.slot %[[RING]][%[[REFILL]]]
  // CHECK:             tl.copy %[[A]]{{.*}} to %[[R]] tile(64, 64) async :
  // CHECK-NEXT:      }
  // CHECK-NEXT:      tl.commit_copies
  // CHECK-NEXT:      %[[S:.+]] = tl.slot %[[RING]][%[[SLOT]]]
  // CHECK:           tl.gemm %[[S]], %[[S]], %{{.+}} plan(<mma
  // CHECK:         tl.wait_copies 0
  gpu.func @groups(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(4) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      tl.gemm %s, %s, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Two stages: the next copy is under way while one tile is used.
  // CHECK-LABEL: gpu.func @two_stages
  // CHECK:         memref<2x64x64xf16
  // CHECK:         tl.wait_copies 0
  gpu.func @two_stages(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      tl.gemm %s, %s, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // One stage is a plain loop.
  // CHECK-LABEL: gpu.func @one_stage(
  // CHECK-SAME:      %[[A:[^:]+]]: memref<4096x4096xf16>{{.*}}, %[[N:[^:]+]]: index
  // CHECK-NOT:     ring
  // CHECK:         scf.for %[[K:.+]] = %{{.+}} to %[[N]] step
  // CHECK-NEXT:      tl.copy %[[A]][%{{.+}}, %[[K]]] to %{{.+}} tile(64, 64) :
  // CHECK-NEXT:      tl.gemm
  // CHECK-NEXT:    }
  gpu.func @one_stage(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(1) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      tl.gemm %s, %s, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // A copy stays in its iteration if something else writes the tile, if its
  // place is read from memory, or if the tile is read before it is filled, or
  // after the loop. The others go ahead.
  // CHECK-LABEL: gpu.func @some_copies(
  // CHECK-SAME:      %[[A:[^:]+]]: memref<4096x4096xf16>
  // CHECK-COUNT-1: tl.alloc ring
  // CHECK-NOT:     tl.alloc ring
  // CHECK:         scf.for
  // CHECK:           tl.copy {{.*}} async :
  // CHECK:           tl.commit_copies
  // CHECK-NOT:       async
  // CHECK-COUNT-4:   tl.copy %[[A]]{{.*}} tile(64, 64) :
  // CHECK:         tl.wait_copies 0
  gpu.func @some_copies(%A: !A {tl.align = 16 : i64}, %table: memref<64xindex>, %n: index, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %ahead = tl.alloc layout(#swizzled) : !tile
    %written = tl.alloc layout(#swizzled) : !tile
    %looked_up = tl.alloc layout(#swizzled) : !tile
    %read_first = tl.alloc layout(#swizzled) : !tile
    %read_after = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %ahead tile(64, 64) : !A to !tile
      tl.copy %A[%c0, %k] to %written tile(64, 64) : !A to !tile
      tl.fill %written, %v : !tile
      %place = tl.load %table[%k] : memref<64xindex>
      tl.copy %A[%c0, %place] to %looked_up tile(64, 64) : !A to !tile
      tl.gemm %ahead, %read_first, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
      tl.copy %A[%c0, %k] to %read_first tile(64, 64) : !A to !tile
      tl.copy %A[%c0, %k] to %read_after tile(64, 64) : !A to !tile
    }
    tl.gemm %looked_up, %read_after, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
    gpu.return
  }

  // A pipeline inside of another one.
  // CHECK-LABEL: gpu.func @nested
  // CHECK:         scf.for
  // CHECK:           scf.for
  // CHECK-NOT:     tl.pipelined
  // CHECK:         gpu.return
  gpu.func @nested(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %i = %c0 to %n stages(2) {
      tl.copy %A[%i, %c0] to %a tile(64, 64) : !A to !tile
      tl.pipelined %k = %c0 to %n stages(2) {
        tl.copy %A[%c0, %k] to %b tile(64, 64) : !A to !tile
        tl.gemm %a, %b, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
      }
    }
    gpu.return
  }
}
