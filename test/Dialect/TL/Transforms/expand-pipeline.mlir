// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-expand-pipeline))' --split-input-file | FileCheck %s

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels {
  // Bulk copies. The prologue fills the slots of the first two iterations, if
  // there are so many. Iteration k waits for slot k, computes, and refills the
  // slot that iteration k - 1 has read: slot k + 2, of three.
  // CHECK-LABEL: gpu.func @bulk(
  // CHECK-SAME:      %[[A:[^:]+]]: memref<4096x4096xf16>, %[[B:[^:]+]]: memref<4096x4096xf16>, %[[N:[^:]+]]: index
  // CHECK:         %[[RINGA:.+]] = tl.alloc layout({{.*}}) {tl.ring} : memref<3x64x64xf16
  // CHECK:         %[[RINGB:.+]] = tl.alloc layout({{.*}}) {tl.ring} : memref<3x64x64xf16
  // CHECK:         %[[PIPE:.+]] = tl.pipe rings(%[[RINGA]], %[[RINGB]] : {{.*}}) : <bulk, 3>
  // CHECK:         %[[SLOT0:.+]] = arith.constant 0 : index
  // CHECK:         %[[PHASE0:.+]] = arith.constant 0 : i32
  // CHECK:         %[[ZERO:.+]] = arith.constant 0 : index
  // CHECK:         %[[ACC:.+]] = tl.alloc : memref<64x64xf32, #tl.fragment>
  // CHECK-NEXT:    tl.pipe_acquire %[[PIPE]][%[[SLOT0]]] count(2)
  // CHECK-NEXT:    %[[ANY0:.+]] = arith.cmpi slt, %[[ZERO]], %[[N]]
  // CHECK-NEXT:    scf.if %[[ANY0]] {
  // CHECK:           %[[A0:.+]] = tl.slot %[[RINGA]][%[[SLOT0]]]
  // CHECK-NEXT:      tl.copy %[[A]][{{.*}}] to %[[A0]] tile(64, 64) async bulk :
  // CHECK-NEXT:      %[[B0:.+]] = tl.slot %[[RINGB]][%[[SLOT0]]]
  // CHECK-NEXT:      tl.copy %[[B]][{{.*}}] to %[[B0]] tile(64, 64) async bulk :
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.pipe_commit %[[PIPE]][%[[SLOT0]]]
  // CHECK:         %[[SLOT1:.+]] = arith.constant 1 : index
  // CHECK-NEXT:    %[[ANY:.+]] = arith.cmpi slt, %[[ZERO]], %[[N]]
  // CHECK-NEXT:    %[[LEFT:.+]] = arith.subi %[[N]], %[[ZERO]]
  // CHECK:         %[[TWO:.+]] = arith.cmpi ugt, %[[LEFT]], %{{.+}}
  // CHECK-NEXT:    %[[ANY1:.+]] = arith.andi %[[ANY]], %[[TWO]]
  // CHECK-NEXT:    scf.if %[[ANY1]] {
  // CHECK:           %[[K1:.+]] = arith.addi %[[ZERO]], %{{.+}} overflow<nsw>
  // CHECK:           %[[A1:.+]] = tl.slot %[[RINGA]][%[[SLOT1]]]
  // CHECK-NEXT:      tl.copy %[[A]]{{.*}} to %[[A1]]
  // CHECK:         tl.pipe_commit %[[PIPE]][%[[SLOT1]]]
  // CHECK-NOT:     tl.copy
  // CHECK:         %[[END:.+]]:2 = scf.for %[[K:.+]] = %[[ZERO]] to %[[N]] step %{{.+}} iter_args(%[[SLOT:.+]] = %[[SLOT0]], %[[PHASE:.+]] = %[[PHASE0]]) -> (index, i32) {
  // CHECK-NEXT:      tl.pipe_wait %[[PIPE]][%[[SLOT]]] ahead(1) phase(%[[PHASE]])
  // CHECK-NEXT:      %[[AK:.+]] = tl.slot %[[RINGA]][%[[SLOT]]]
  // CHECK-NEXT:      %[[BK:.+]] = tl.slot %[[RINGB]][%[[SLOT]]]
  // CHECK:           tl.gemm %[[AK]], %[[BK]], %[[ACC]] plan
  // CHECK-NEXT:      %[[PREVIOUS:.+]] = tl.rotate %[[SLOT]] by 2 of 3
  // CHECK-NEXT:      tl.pipe_release %[[PIPE]][%[[PREVIOUS]]]
  // CHECK-NEXT:      tl.pipe_acquire %[[PIPE]][%[[PREVIOUS]]] :
  // CHECK-NEXT:      %[[LEFT:.+]] = arith.subi %[[N]], %[[K]]
  // CHECK:           %[[MORE:.+]] = arith.cmpi ugt, %[[LEFT]], %{{.+}}
  // CHECK-NEXT:      scf.if %[[MORE]] {
  // CHECK:             %[[AHEAD:.+]] = arith.addi %[[K]], %{{.+}} overflow<nsw>
  // CHECK-NEXT:        %[[KK:.+]] = arith.muli %[[AHEAD]], %{{.+}}
  // CHECK-NEXT:        %[[ARE:.+]] = tl.slot %[[RINGA]][%[[PREVIOUS]]]
  // CHECK-NEXT:        tl.copy %[[A]][%{{.+}}, %[[KK]]] to %[[ARE]] tile(64, 64) async bulk :
  // CHECK-NEXT:        %[[BRE:.+]] = tl.slot %[[RINGB]][%[[PREVIOUS]]]
  // CHECK-NEXT:        tl.copy %[[B]][%[[KK]], %{{.+}}] to %[[BRE]] tile(64, 64) async bulk :
  // CHECK-NEXT:      }
  // CHECK-NEXT:      tl.pipe_commit %[[PIPE]][%[[PREVIOUS]]]
  // CHECK-NEXT:      %[[NEXT:.+]] = tl.rotate %[[SLOT]] by 1 of 3
  // CHECK-NEXT:      %[[NEXTPHASE:.+]] = tl.next_phase %[[PHASE]] after %[[SLOT]] of 3
  // CHECK-NEXT:      scf.yield %[[NEXT]], %[[NEXTPHASE]]
  // CHECK-NEXT:    }
  // CHECK-NEXT:    %[[LAST:.+]] = tl.rotate %[[END]]#0 by 2 of 3
  // CHECK-NEXT:    tl.pipe_release %[[PIPE]][%[[LAST]]]
  // CHECK-NEXT:    tl.pipe_drain %[[PIPE]]
  gpu.func @bulk(%A: !A, %B: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "bulk"} {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %B[%kk, %c0] to %b tile(64, 64) {tl.ahead} : !A to !tile
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Groups of `cp.async`: each thread copies, so the refill comes before the
  // arithmetic. There is no phase.
  // CHECK-LABEL: gpu.func @groups(
  // CHECK:         %[[RING:.+]] = tl.alloc layout({{.*}}) {tl.ring} : memref<4x64x64xf16
  // CHECK:         %[[PIPE:.+]] = tl.pipe rings(%[[RING]] : {{.*}}) : <groups, 4>
  // CHECK-COUNT-3: tl.pipe_commit
  // CHECK:         scf.for {{.*}} iter_args(%[[SLOT:.+]] = %{{.+}}) -> (index) {
  // CHECK-NEXT:      %[[PREVIOUS:.+]] = tl.rotate %[[SLOT]] by 3 of 4
  // CHECK-NEXT:      tl.pipe_release %[[PIPE]][%[[PREVIOUS]]]
  // CHECK-NEXT:      tl.pipe_wait %[[PIPE]][%[[SLOT]]] ahead(2) :
  // CHECK-NEXT:      tl.pipe_acquire %[[PIPE]][%[[PREVIOUS]]] :
  // CHECK:           scf.if
  // CHECK:             %[[REFILL:.+]] = tl.slot %[[RING]][%[[PREVIOUS]]]
  // CHECK-NEXT:        tl.copy %{{.+}} to %[[REFILL]] tile(64, 64) async :
  // CHECK-NEXT:      }
  // CHECK-NEXT:      tl.pipe_commit %[[PIPE]][%[[PREVIOUS]]]
  // CHECK-NEXT:      %[[S:.+]] = tl.slot %[[RING]][%[[SLOT]]]
  // CHECK-NEXT:      tl.gemm %[[S]], %[[S]], %{{.+}} plan
  // CHECK-NEXT:      %[[NEXT:.+]] = tl.rotate %[[SLOT]] by 1 of 4
  // CHECK-NEXT:      scf.yield %[[NEXT]] : index
  gpu.func @groups(%A: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(4) attributes {tl.engine = "groups"} {
      tl.copy %A[%c0, %k] to %s tile(64, 64) {tl.ahead} : !A to !tile
      tl.gemm %s, %s, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // A loop in a loop goes on with the slot and the phase that the run before
  // left: they are carried through the branch, where the other side passes them
  // on, and through the loop, which begins with zeros.
  // CHECK-LABEL: gpu.func @carried(
  // CHECK:         %[[PIPE:.+]] = tl.pipe
  // CHECK:         %[[ZEROSLOT:.+]] = arith.constant 0 : index
  // CHECK:         %[[ZEROPHASE:.+]] = arith.constant 0 : i32
  // CHECK:         scf.for %[[I:.+]] = {{.*}} iter_args(%[[S:.+]] = %[[ZEROSLOT]], %[[P:.+]] = %[[ZEROPHASE]]) -> (index, i32) {
  // CHECK-NEXT:      %[[CHOSEN:.+]]:2 = scf.if %{{.+}} -> (index, i32) {
  // CHECK:             tl.pipe_acquire %[[PIPE]][%[[S]]] count(2)
  // CHECK:             tl.slot %{{.+}}[%[[S]]]
  // CHECK:             %[[S1:.+]] = tl.rotate %[[S]] by 1 of 3
  // CHECK:             tl.slot %{{.+}}[%[[S1]]]
  // CHECK:             %[[END:.+]]:2 = scf.for {{.*}} iter_args(%{{.+}} = %[[S]], %{{.+}} = %[[P]])
  // CHECK:             %[[LAST:.+]] = tl.rotate %[[END]]#0 by 2 of 3
  // CHECK-NEXT:        tl.pipe_release %[[PIPE]][%[[LAST]]]
  // CHECK:             scf.yield %[[END]]#0, %[[END]]#1
  // CHECK-NEXT:      } else {
  // CHECK-NEXT:        scf.yield %[[S]], %[[P]]
  // CHECK-NEXT:      }
  // CHECK-NEXT:      scf.yield %[[CHOSEN]]#0, %[[CHOSEN]]#1
  gpu.func @carried(%A: !A, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    scf.for %i = %c0 to %n step %c1 {
      scf.if %c {
        tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "bulk"} {
          tl.copy %A[%i, %k] to %s tile(64, 64) {tl.ahead} : !A to !tile
          tl.copy %s to %A[%k, %i] tile(64, 64) : !tile to !A
        }
      }
    }
    gpu.return
  }

  // Through `scf.while` too: into the condition, from there into the body, and
  // back.
  // CHECK-LABEL: gpu.func @carried_by_while(
  // CHECK:         scf.while (%[[X:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}}, %[[P:.+]] = %{{.+}}) : (index, index, i32) -> (index, index, i32) {
  // CHECK:           scf.condition(%{{.+}}) %[[X]], %[[S]], %[[P]]
  // CHECK-NEXT:    } do {
  // CHECK-NEXT:    ^bb0(%[[Y:.+]]: index, %[[T:.+]]: index, %[[Q:.+]]: i32):
  // CHECK:           %[[END:.+]]:2 = scf.for {{.*}} iter_args(%{{.+}} = %[[T]], %{{.+}} = %[[Q]])
  // CHECK:           scf.yield %[[Y]], %[[END]]#0, %[[END]]#1
  gpu.func @carried_by_while(%A: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %done = scf.while (%x = %c0) : (index) -> index {
      %more = arith.cmpi slt, %x, %n : index
      scf.condition(%more) %x : index
    } do {
    ^bb0(%y: index):
      tl.pipelined %k = %c0 to %n stages(2) attributes {tl.engine = "bulk"} {
        tl.copy %A[%y, %k] to %s tile(64, 64) {tl.ahead} : !A to !tile
        tl.copy %s to %A[%k, %y] tile(64, 64) : !tile to !A
      }
      scf.yield %y : index
    }
    gpu.return
  }

  // Groups begin with slot 0 in each run: nothing is carried.
  // CHECK-LABEL: gpu.func @groups_in_a_loop(
  // CHECK:         scf.for %{{[^ ]+}} = %{{[^ ]+}} to %{{[^ ]+}} step %{{[^ ]+}} {
  // CHECK:           tl.pipe_acquire
  // CHECK:           scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}) -> (index) {
  gpu.func @groups_in_a_loop(%A: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %n stages(2) attributes {tl.engine = "groups"} {
        tl.copy %A[%i, %k] to %s tile(64, 64) {tl.ahead} : !A to !tile
        tl.copy %s to %A[%k, %i] tile(64, 64) : !tile to !A
      }
    }
    gpu.return
  }

  // Loops over the same tiles have one pipe, in whatever order they fill them:
  // the second one goes on where the first one stopped, and is not in a loop.
  // CHECK-LABEL: gpu.func @in_turn(
  // CHECK-COUNT-2: tl.alloc layout({{.*}}) {tl.ring}
  // CHECK:         %[[PIPE:.+]] = tl.pipe rings(%[[RINGA:.+]], %[[RINGB:.+]] : {{.*}}) : <bulk, 3>
  // CHECK-NOT:     tl.pipe rings
  // CHECK-NOT:     tl.alloc layout
  // CHECK:         %[[END:.+]]:2 = scf.for {{.*}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) -> (index, i32) {
  // CHECK:         tl.pipe_drain %[[PIPE]]
  // CHECK:         %[[BRANCH:.+]]:2 = scf.if %{{.+}} -> (index, i32) {
  // CHECK-NEXT:      tl.pipe_acquire %[[PIPE]][%[[END]]#0] count(2)
  // CHECK:           tl.slot %[[RINGB]][%[[END]]#0]
  // CHECK:           tl.slot %[[RINGA]][%[[END]]#0]
  // CHECK:           %[[END2:.+]]:2 = scf.for {{.*}} iter_args(%{{.+}} = %[[END]]#0, %{{.+}} = %[[END]]#1)
  // CHECK:           tl.pipe_drain %[[PIPE]]
  // CHECK:           scf.yield %[[END2]]#0, %[[END2]]#1
  // CHECK-NEXT:    } else {
  // CHECK-NEXT:      scf.yield %[[END]]#0, %[[END]]#1
  // CHECK:         scf.for {{.*}} iter_args(%[[S:.+]] = %[[BRANCH]]#0, %[[P:.+]] = %[[BRANCH]]#1)
  // CHECK:           tl.pipe_acquire %[[PIPE]][%[[S]]] count(2)
  // CHECK:           scf.for {{.*}} iter_args(%{{.+}} = %[[S]], %{{.+}} = %[[P]])
  gpu.func @in_turn(%A: !A, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %A[%k, %c0] to %b tile(64, 64) {tl.ahead} : !A to !tile
      tl.gemm %a, %b, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
    }
    scf.if %c {
      tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "bulk"} {
        tl.copy %A[%k, %k] to %b tile(64, 64) {tl.ahead} : !A to !tile
        tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
        tl.gemm %b, %a, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
      }
    }
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %i stages(3) attributes {tl.engine = "bulk"} {
        tl.copy %A[%i, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
        tl.copy %A[%k, %i] to %b tile(64, 64) {tl.ahead} : !A to !tile
        tl.gemm %a, %b, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
      }
    }
    gpu.return
  }

  // Groups begin with slot 0 in each loop, in the same ring.
  // CHECK-LABEL: gpu.func @groups_in_turn(
  // CHECK:         %[[PIPE:.+]] = tl.pipe rings
  // CHECK-NOT:     tl.pipe rings
  // CHECK:         %[[ZERO:.+]] = arith.constant 0 : index
  // CHECK-COUNT-2: tl.pipe_acquire %[[PIPE]][%[[ZERO]]] :
  gpu.func @groups_in_turn(%A: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) attributes {tl.engine = "groups"} {
      tl.copy %A[%c0, %k] to %s tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %s to %A[%k, %c0] tile(64, 64) : !tile to !A
    }
    tl.pipelined %k = %c0 to %n stages(2) attributes {tl.engine = "groups"} {
      tl.copy %A[%k, %c0] to %s tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %s to %A[%c0, %k] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // With other stages, other engines or other tiles beside it, a tile is in a
  // ring of its own for each loop.
  // CHECK-LABEL: gpu.func @unlike(
  // CHECK-COUNT-4: tl.pipe rings
  // CHECK-NOT:     tl.pipe rings
  gpu.func @unlike(%A: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %a to %A[%k, %c0] tile(64, 64) : !tile to !A
    }
    tl.pipelined %k = %c0 to %n stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %a to %A[%k, %c0] tile(64, 64) : !tile to !A
    }
    tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "groups"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %a to %A[%k, %c0] tile(64, 64) : !tile to !A
    }
    tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %A[%k, %c0] to %b tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %a to %A[%k, %c0] tile(64, 64) : !tile to !A
      tl.copy %b to %A[%c0, %k] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // What `wgmma` alone reads of f32 is rounded on the way, so that a loop which
  // reads the same tile otherwise has a ring of its own.
  // CHECK-LABEL: gpu.func @rounded(
  // CHECK-COUNT-2: tl.pipe rings
  // CHECK-NOT:     tl.pipe rings
  gpu.func @rounded(%A: memref<64x4096xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) : memref<64x32xf32, #gpu.address_space<workgroup>>
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 32) {tl.ahead} : memref<64x4096xf32> to memref<64x32xf32, #gpu.address_space<workgroup>>
      tl.gemm %a, %a, %acc transpose_b plan(<wgmma, warps_m = 4, warps_n = 1>) : memref<64x32xf32, #gpu.address_space<workgroup>>, memref<64x32xf32, #gpu.address_space<workgroup>>, !acc
    }
    tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 32) {tl.ahead} : memref<64x4096xf32> to memref<64x32xf32, #gpu.address_space<workgroup>>
      tl.copy %a to %A[%c0, %k] tile(64, 32) : memref<64x32xf32, #gpu.address_space<workgroup>> to memref<64x4096xf32>
    }
    gpu.return
  }

  // A pipeline in a pipeline: the inner state goes around the outer loop.
  // CHECK-LABEL: gpu.func @nested(
  // CHECK-COUNT-2: tl.pipe rings
  // CHECK:         scf.for {{.*}} iter_args(%{{.+}}, %{{.+}}, %[[S:.+]] = %{{.+}}, %[[P:.+]] = %{{.+}}) -> (index, i32, index, i32) {
  // CHECK:           scf.for {{.*}} iter_args(%{{.+}} = %[[S]], %{{.+}} = %[[P]]) -> (index, i32) {
  // CHECK-NOT:     tl.pipelined
  gpu.func @nested(%A: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %i = %c0 to %n stages(2) attributes {tl.engine = "bulk"} {
      tl.copy %A[%i, %c0] to %a tile(64, 64) {tl.ahead} : !A to !tile
      tl.pipelined %k = %c0 to %n stages(2) attributes {tl.engine = "bulk"} {
        tl.copy %A[%c0, %k] to %b tile(64, 64) {tl.ahead} : !A to !tile
        tl.gemm %a, %b, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
      }
    }
    gpu.return
  }

  // A buffer that the loop allocates is a ring outside of it.
  // CHECK-LABEL: gpu.func @allocated_inside(
  // CHECK:         tl.alloc
  // CHECK:         scf.for
  // CHECK-NOT:     tl.alloc
  // CHECK:         gpu.return
  gpu.func @allocated_inside(%A: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    tl.pipelined %k = %c0 to %n stages(2) attributes {tl.engine = "groups"} {
      %s = tl.alloc layout(#swizzled) : !tile
      tl.copy %A[%c0, %k] to %s tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %s to %A[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // Uses of the buffer outside of the loop keep the buffer.
  // CHECK-LABEL: gpu.func @used_outside(
  // CHECK:         %[[RING:.+]] = tl.alloc
  // CHECK:         %[[S:.+]] = tl.alloc layout
  // CHECK:         scf.for {{.*}} iter_args(%[[I:.+]] = %{{.+}}) -> (index) {
  // CHECK:           %[[SLOT:.+]] = tl.slot %[[RING]][%[[I]]]
  // CHECK-NEXT:      tl.copy %[[SLOT]] to
  // CHECK:         tl.fill %[[S]]
  // CHECK:         tl.copy %[[S]] to
  gpu.func @used_outside(%A: !A, %n: index, %v: f16) kernel {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) attributes {tl.engine = "groups"} {
      tl.copy %A[%c0, %k] to %s tile(64, 64) {tl.ahead} : !A to !tile
      tl.copy %s to %A[%k, %c0] tile(64, 64) : !tile to !A
    }
    tl.fill %s, %v : !tile
    tl.copy %s to %A tile(64, 64) : !tile to !A
    gpu.return
  }

  // Without an engine a loop is a loop, and a copy that stays is a copy.
  // CHECK-LABEL: gpu.func @serial(
  // CHECK-SAME:      %[[A:[^:]+]]: memref<4096x4096xf16>, %[[N:[^:]+]]: index
  // CHECK-NOT:     ring
  // CHECK:         scf.for %[[K:.+]] = %{{.+}} to %[[N]] step
  // CHECK-NEXT:      tl.copy %[[A]][%{{.+}}, %[[K]]] to %{{.+}} tile(64, 64) :
  // CHECK-NEXT:    }
  gpu.func @serial(%A: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(3) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
    }
    gpu.return
  }

  // One role will fill the slots and another one read them: there is no
  // prologue, and no slot but that of the iteration.
  // CHECK-LABEL: gpu.func @roles(
  // CHECK:         %[[PIPE:.+]] = tl.pipe
  // CHECK-NOT:     tl.pipe_acquire
  // CHECK:         scf.for {{.*}} iter_args(%[[SLOT:.+]] = %{{.+}}, %[[PHASE:.+]] = %{{.+}})
  // CHECK-NEXT:      tl.pipe_acquire %[[PIPE]][%[[SLOT]]] phase(%[[PHASE]]) :
  // CHECK-NOT:       scf.if
  // CHECK:           %[[A:.+]] = tl.slot %{{.+}}[%[[SLOT]]]
  // CHECK-NEXT:      tl.copy %{{.+}} to %[[A]] tile(64, 64) async bulk :
  // CHECK-NEXT:      tl.pipe_commit %[[PIPE]][%[[SLOT]]]
  // CHECK-NEXT:      tl.pipe_wait %[[PIPE]][%[[SLOT]]] ahead(2) phase(%[[PHASE]])
  // CHECK-NEXT:      %[[VIEW:.+]] = tl.slot %{{.+}}[%[[SLOT]]]
  // CHECK-NEXT:      tl.gemm %[[VIEW]], %[[VIEW]]
  // CHECK-NEXT:      tl.pipe_release %[[PIPE]][%[[SLOT]]]
  // CHECK-NEXT:      tl.rotate %[[SLOT]] by 1 of 3
  // CHECK-NEXT:      tl.next_phase %[[PHASE]] after %[[SLOT]] of 3
  // CHECK-NEXT:      scf.yield
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.pipe_drain %[[PIPE]]
  gpu.func @roles(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) attributes {tl.engine = "bulk"} {
      tl.copy %A[%c0, %k] to %a tile(64, 64) {tl.ahead} : !A to !tile
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>
!p = memref<64x64xf16, #tl.fragment>

gpu.module @late {
  // A gemm that is done an iteration late: a pipe of its own for what is copied for
  // it, a first iteration without it, in each further one the gemm of the iteration
  // before in front of what uses the first product, and after the last one its gemm.
  // All slots of the first pipe are filled at the start, of the other one all but one.
  // CHECK-LABEL: gpu.func @delayed(
  // CHECK-SAME:      %{{[^:]+}}: memref<4096x4096xf16>, %[[Q:[^:]+]]: memref<{{[^:]+}}>, %[[N:[^:]+]]: index
  // CHECK:         %[[LATE:.+]] = tl.pipe rings(%[[RINGV:[^ ]+]] :
  // CHECK:         %[[MAIN:.+]] = tl.pipe rings(%[[RINGK:[^ ]+]] :
  // CHECK:         tl.pipe_acquire %[[MAIN]][%[[SLOT0:.+]]] count(2)
  // CHECK-NEXT:    tl.pipe_acquire %[[LATE]][%[[SLOT0]]] :
  // CHECK:         tl.pipe_commit %[[MAIN]][%[[SLOT0]]]
  // CHECK:         tl.pipe_commit %[[LATE]][%[[SLOT0]]]
  // CHECK:         tl.pipe_commit %[[MAIN]][%[[SLOT1:.+]]]
  // CHECK-NOT:     tl.pipe_commit
  // CHECK:         %[[ANY:.+]] = arith.cmpi slt, %{{.+}}, %[[N]]
  // CHECK:         %[[LAST:.+]]:2 = scf.if %[[ANY]] -> (index, i32) {
  // CHECK-NEXT:      tl.pipe_wait %[[MAIN]][%[[SLOT0]]]
  // CHECK:           tl.gemm %[[Q]], %{{.+}}, %[[S:.+]] transpose_b plan
  // CHECK-NEXT:      tl.copy %[[S]] to %[[P:.+]] tile
  // CHECK-NOT:       tl.gemm
  // CHECK:           %[[END:.+]]:2 = scf.for %{{.+}} = %{{.+}} to %[[N]] step %{{.+}} iter_args(%[[BEFORE:.+]] = %[[SLOT0]], %[[PHASE:.+]] = %{{.+}}) -> (index, i32) {
  // CHECK-NEXT:        %[[NOW:.+]] = tl.rotate %[[BEFORE]] by 1 of 2
  // CHECK-NEXT:        %[[NOWPHASE:.+]] = tl.next_phase %[[PHASE]] after %[[BEFORE]] of 2
  // CHECK-NEXT:        tl.pipe_wait %[[MAIN]][%[[NOW]]] ahead(0) phase(%[[NOWPHASE]])
  // CHECK-NEXT:        %[[K:.+]] = tl.slot %[[RINGK]][%[[NOW]]]
  // CHECK:             tl.gemm %[[Q]], %[[K]], %[[S]] transpose_b plan
  // CHECK-NEXT:        tl.pipe_wait %[[LATE]][%[[BEFORE]]] ahead(0) phase(%[[PHASE]])
  // CHECK-NEXT:        %[[V:.+]] = tl.slot %[[RINGV]][%[[BEFORE]]]
  // CHECK-NEXT:        tl.gemm %[[P]], %[[V]], %[[O:.+]] plan(<wgmma, warps_m = 1, warps_n = 1>) :
  // CHECK-NEXT:        %[[FREE:.+]] = tl.rotate %[[BEFORE]] by 1 of 2
  // CHECK-NEXT:        tl.pipe_release %[[MAIN]][%[[BEFORE]]]
  // CHECK-NEXT:        tl.pipe_release %[[LATE]][%[[FREE]]]
  // CHECK-NEXT:        tl.pipe_acquire %[[MAIN]][%[[BEFORE]]] :
  // CHECK:               tl.slot %[[RINGK]][%[[BEFORE]]]
  // CHECK:             tl.pipe_commit %[[MAIN]][%[[BEFORE]]]
  // CHECK:             tl.pipe_acquire %[[LATE]][%[[FREE]]] :
  // CHECK:               tl.slot %[[RINGV]][%[[FREE]]]
  // CHECK:             tl.pipe_commit %[[LATE]][%[[FREE]]]
  // CHECK-NEXT:        tl.copy %[[S]] to %[[P]] tile
  // CHECK-NEXT:        scf.yield %[[NOW]], %[[NOWPHASE]]
  // CHECK:           tl.pipe_wait %[[LATE]][%[[END]]#0] ahead(0) phase(%[[END]]#1)
  // CHECK-NEXT:      %[[VLAST:.+]] = tl.slot %[[RINGV]][%[[END]]#0]
  // CHECK-NEXT:      tl.gemm %[[P]], %[[VLAST]], %[[O]] plan
  // CHECK:         } else {
  // CHECK-NEXT:      scf.yield %[[SLOT0]],
  // CHECK:         tl.pipe_release %[[MAIN]]
  // CHECK-NEXT:    tl.pipe_release %[[LATE]]
  // CHECK:         tl.pipe_release %[[LATE]]
  // CHECK-NEXT:    tl.pipe_drain %[[MAIN]]
  // CHECK-NEXT:    tl.pipe_drain %[[LATE]]
  gpu.func @delayed(%A: !A, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    tl.pipelined %i = %c0 to %n stages(2) attributes {tl.engine = "bulk"} {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) {tl.ahead} : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.copy %A[%c0, %ii] to %v tile(64, 64) {tl.ahead} : !A to !tile
      tl.gemm %p, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) {tl.delayed} : !p, !tile, !acc
    }
    gpu.return
  }

  // In a kernel that is to have roles there is no prologue: both pipes' slots are
  // filled at the start of their iteration. The first pipe's slot is released before
  // what its product has computed is used, the late one's where its gemm ends.
  // CHECK-LABEL: gpu.func @delayed_with_roles(
  // CHECK:         %[[LATE:.+]] = tl.pipe rings(%[[RINGV:[^ ]+]] :
  // CHECK:         %[[MAIN:.+]] = tl.pipe rings(%[[RINGK:[^ ]+]] :
  // CHECK-NOT:     tl.pipe_acquire
  // CHECK:         %{{.+}}:2 = scf.if
  // CHECK-NEXT:      tl.pipe_acquire %[[MAIN]][%[[SLOT0:.+]]] phase(%[[PHASE0:.+]]) :
  // CHECK:           tl.pipe_commit %[[MAIN]][%[[SLOT0]]]
  // CHECK-NEXT:      tl.pipe_acquire %[[LATE]][%[[SLOT0]]] phase(%[[PHASE0]]) :
  // CHECK:           tl.pipe_commit %[[LATE]][%[[SLOT0]]]
  // CHECK-NEXT:      tl.pipe_wait %[[MAIN]][%[[SLOT0]]] ahead(1) phase(%[[PHASE0]])
  // CHECK:           tl.gemm %{{.+}}, %{{.+}}, %[[S:.+]] transpose_b plan
  // CHECK-NEXT:      tl.pipe_release %[[MAIN]][%[[SLOT0]]]
  // CHECK-NEXT:      tl.reduce
  // CHECK-NEXT:      tl.copy %[[S]] to %[[P:.+]] tile
  // CHECK:           %[[END:.+]]:2 = scf.for {{.*}} iter_args(%[[BEFORE:.+]] = %[[SLOT0]], %[[PHASE:.+]] = %[[PHASE0]]) -> (index, i32) {
  // CHECK-NEXT:        %[[NOW:.+]] = tl.rotate %[[BEFORE]] by 1 of 2
  // CHECK-NEXT:        %[[NOWPHASE:.+]] = tl.next_phase %[[PHASE]] after %[[BEFORE]] of 2
  // CHECK-NEXT:        tl.pipe_acquire %[[MAIN]][%[[NOW]]] phase(%[[NOWPHASE]]) :
  // CHECK:             tl.pipe_commit %[[MAIN]][%[[NOW]]]
  // CHECK-NEXT:        tl.pipe_acquire %[[LATE]][%[[NOW]]] phase(%[[NOWPHASE]]) :
  // CHECK:             tl.pipe_commit %[[LATE]][%[[NOW]]]
  // CHECK-NEXT:        tl.pipe_wait %[[MAIN]][%[[NOW]]] ahead(1) phase(%[[NOWPHASE]])
  // CHECK:             tl.gemm %{{.+}}, %{{.+}}, %[[S]] transpose_b plan
  // CHECK-NEXT:        tl.pipe_wait %[[LATE]][%[[BEFORE]]] ahead(1) phase(%[[PHASE]])
  // CHECK:             tl.gemm %[[P]], %{{.+}}, %[[O:.+]] plan
  // CHECK-NEXT:        tl.pipe_release %[[MAIN]][%[[NOW]]]
  // CHECK-NEXT:        tl.reduce
  // CHECK-NEXT:        tl.pipe_release %[[LATE]][%[[BEFORE]]]
  // CHECK-NEXT:        tl.copy %[[S]] to %[[P]] tile
  // CHECK-NEXT:        scf.yield %[[NOW]], %[[NOWPHASE]]
  // CHECK:           tl.pipe_wait %[[LATE]][%[[END]]#0] ahead(1) phase(%[[END]]#1)
  // CHECK:           tl.gemm %[[P]], %{{.+}}, %[[O]] plan
  // CHECK-NEXT:      tl.pipe_release %[[LATE]][%[[END]]#0]
  // CHECK-NOT:     tl.pipe_release
  // CHECK:         tl.pipe_drain %[[MAIN]]
  // CHECK-NEXT:    tl.pipe_drain %[[LATE]]
  gpu.func @delayed_with_roles(%A: !A, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %sums = tl.alloc : memref<64xf32, #tl.fragment>
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    tl.pipelined %i = %c0 to %n stages(2) attributes {tl.engine = "bulk"} {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) {tl.ahead} : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.reduce sum %s to %sums dim(1) : !acc to memref<64xf32, #tl.fragment>
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.copy %A[%c0, %ii] to %v tile(64, 64) {tl.ahead} : !A to !tile
      tl.gemm %p, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) {tl.delayed} : !p, !tile, !acc
    }
    gpu.return
  }

  // A tile of the first pipe that is read once more behind that is released there.
  // CHECK-LABEL: gpu.func @read_late(
  // CHECK:           scf.for
  // CHECK:             tl.gemm %[[P:[^ ,]+]], %{{[^ ,]+}}, %{{[^ ,]+}} plan
  // CHECK-NEXT:        tl.pipe_release %[[LATE:.+]][
  // CHECK-NEXT:        tl.copy %{{.+}} to %[[P]] tile
  // CHECK-NEXT:        tl.copy %{{.+}} to %{{.+}} tile
  // CHECK-NEXT:        tl.pipe_release %[[MAIN:.+]][
  // CHECK-NEXT:        scf.yield
  gpu.func @read_late(%A: !A, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    %seen = tl.alloc : !p
    tl.pipelined %i = %c0 to %n stages(2) attributes {tl.engine = "bulk"} {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) {tl.ahead} : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.copy %k to %seen tile(64, 64) : !tile to !p
      tl.copy %A[%c0, %ii] to %v tile(64, 64) {tl.ahead} : !A to !tile
      tl.gemm %p, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) {tl.delayed} : !p, !tile, !acc
    }
    gpu.return
  }
  // Tiles that copies run ahead into may be allocated in the loop, where each
  // iteration has a new one: the rings take their places.
  // CHECK-LABEL: gpu.func @delayed_with_a_tile_in_the_loop(
  // CHECK:         tl.pipe rings(%[[RINGV:[^ ]+]] :
  // CHECK:         tl.pipe rings(%[[RINGK:[^ ]+]] :
  // CHECK-NOT:     tl.alloc layout
  // CHECK:         scf.for
  // CHECK:           %[[K:.+]] = tl.slot %[[RINGK]]
  // CHECK-NOT:       tl.alloc
  // CHECK:           tl.gemm %{{.+}}, %[[K]], %{{.+}} transpose_b plan
  gpu.func @delayed_with_a_tile_in_the_loop(%A: !A, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    tl.pipelined %i = %c0 to %n stages(2) attributes {tl.engine = "bulk"} {
      %k = tl.alloc layout(#swizzled) : !tile
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) {tl.ahead} : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.copy %A[%c0, %ii] to %v tile(64, 64) {tl.ahead} : !A to !tile
      tl.gemm %p, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) {tl.delayed} : !p, !tile, !acc
    }
    gpu.return
  }
}
