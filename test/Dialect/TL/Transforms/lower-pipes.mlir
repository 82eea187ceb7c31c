// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-pipes))' | FileCheck %s

!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<3x64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels {
  // Each slot has an mbarrier, which completes a phase after one arrival for
  // each ring. The first acquire waits for nobody; the one in the loop for all
  // threads to have passed the release.
  // CHECK-LABEL: gpu.func @bulk(
  // CHECK:         %[[RINGA:.+]] = tl.alloc
  // CHECK-NEXT:    %[[RINGB:.+]] = tl.alloc
  // CHECK-NEXT:    %[[FULL:.+]] = tl.alloc_barriers arrivals(2) : memref<3x!tl.mbarrier
  // CHECK-NEXT:    %[[A0:.+]] = tl.slot %[[RINGA]][%[[FIRST:.+]]] :
  // CHECK-NEXT:    tl.copy %{{.+}} to %[[A0]] tile(64, 64) async bulk barrier(%[[FULL]][%[[FIRST]]] :
  // CHECK-NEXT:    %[[B0:.+]] = tl.slot %[[RINGB]][%[[FIRST]]] :
  // CHECK-NEXT:    tl.copy %{{.+}} to %[[B0]] tile(64, 64) async bulk barrier(%[[FULL]][%[[FIRST]]] :
  // CHECK-NEXT:    scf.for {{.*}} iter_args(%[[SLOT:.+]] = %{{.+}}, %[[PHASE:.+]] = %{{.+}})
  // CHECK-NEXT:      %[[PREVIOUS:.+]] = tl.rotate %[[SLOT]] by 2 of 3
  // CHECK-NEXT:      tl.wait_barrier %[[FULL]][%[[SLOT]]] parity(%[[PHASE]])
  // CHECK-NEXT:      tl.slot %[[RINGA]][%[[SLOT]]]
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      scf.if
  // CHECK-NEXT:        %[[A2:.+]] = tl.slot %[[RINGA]][%[[PREVIOUS]]]
  // CHECK-NEXT:        tl.copy %{{.+}} to %[[A2]] tile(64, 64) async bulk barrier(%[[FULL]][%[[PREVIOUS]]] :
  // CHECK:           %[[NEXT:.+]] = tl.rotate %[[SLOT]] by 1 of 3
  // CHECK-NEXT:      %[[NEXTPHASE:.+]] = tl.next_phase %[[PHASE]] after %[[SLOT]] of 3
  // CHECK-NEXT:      scf.yield %[[NEXT]], %[[NEXTPHASE]]
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.return
  gpu.func @bulk(%A: !A, %B: !A, %zero: index, %first: index, %p: i32, %n: index, %c: i1) kernel {
    %ringA = tl.alloc : !ring
    %ringB = tl.alloc : !ring
    %pipe = tl.pipe rings(%ringA, %ringB : !ring, !ring) : !tl.pipe<bulk, 3>
    tl.pipe_acquire %pipe[%first] count(2) : !tl.pipe<bulk, 3>
    %a0 = tl.slot %ringA[%first] : !ring to !tile
    tl.copy %A to %a0 tile(64, 64) async bulk : !A to !tile
    %b0 = tl.slot %ringB[%first] : !ring to !tile
    tl.copy %A to %b0 tile(64, 64) async bulk : !A to !tile
    tl.pipe_commit %pipe[%first] : !tl.pipe<bulk, 3>
    scf.for %k = %zero to %n step %n iter_args(%slot = %first, %phase = %p) -> (index, i32) {
      %previous = tl.rotate %slot by 2 of 3
      tl.pipe_wait %pipe[%slot] ahead(1) phase(%phase) : !tl.pipe<bulk, 3>
      %a = tl.slot %ringA[%slot] : !ring to !tile
      tl.copy %a to %B tile(64, 64) : !tile to !A
      tl.pipe_release %pipe[%previous] : !tl.pipe<bulk, 3>
      tl.pipe_acquire %pipe[%previous] : !tl.pipe<bulk, 3>
      scf.if %c {
        %a2 = tl.slot %ringA[%previous] : !ring to !tile
        tl.copy %A to %a2 tile(64, 64) async bulk : !A to !tile
      }
      tl.pipe_commit %pipe[%previous] : !tl.pipe<bulk, 3>
      %next = tl.rotate %slot by 1 of 3
      %nextPhase = tl.next_phase %phase after %slot of 3
      scf.yield %next, %nextPhase : index, i32
    }
    tl.pipe_drain %pipe : !tl.pipe<bulk, 3>
    gpu.return
  }

  // Groups are counted: one for each filling, also where there is nothing to
  // copy. The barrier behind the wait is the one that acquires the slot.
  // CHECK-LABEL: gpu.func @groups(
  // CHECK-NOT:     tl.alloc_barriers
  // CHECK:         scf.if
  // CHECK:         tl.commit_copies
  // CHECK-NEXT:    scf.for
  // CHECK-NEXT:      tl.rotate
  // CHECK-NEXT:      tl.wait_copies 1
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      scf.if
  // CHECK:           }
  // CHECK-NEXT:      tl.commit_copies
  // CHECK-NEXT:      tl.slot
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      tl.rotate
  // CHECK-NEXT:      scf.yield
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.wait_copies 0
  gpu.func @groups(%A: !A, %B: !A, %first: index, %n: index, %c: i1) kernel {
    %ring = tl.alloc : !ring
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<groups, 3>
    tl.pipe_acquire %pipe[%first] count(2) : !tl.pipe<groups, 3>
    scf.if %c {
      %s = tl.slot %ring[%first] : !ring to !tile
      tl.copy %A to %s tile(64, 64) async : !A to !tile
    }
    tl.pipe_commit %pipe[%first] : !tl.pipe<groups, 3>
    scf.for %k = %first to %n step %n iter_args(%slot = %first) -> (index) {
      %previous = tl.rotate %slot by 2 of 3
      tl.pipe_release %pipe[%previous] : !tl.pipe<groups, 3>
      tl.pipe_wait %pipe[%slot] ahead(1) : !tl.pipe<groups, 3>
      tl.pipe_acquire %pipe[%previous] : !tl.pipe<groups, 3>
      scf.if %c {
        %s = tl.slot %ring[%previous] : !ring to !tile
        tl.copy %A to %s tile(64, 64) async : !A to !tile
      }
      tl.pipe_commit %pipe[%previous] : !tl.pipe<groups, 3>
      %a = tl.slot %ring[%slot] : !ring to !tile
      tl.copy %a to %B tile(64, 64) : !tile to !A
      %next = tl.rotate %slot by 1 of 3
      scf.yield %next : index
    }
    tl.pipe_drain %pipe : !tl.pipe<groups, 3>
    gpu.return
  }

  // `wgmma` reads what threads copied through the async proxy, here in a
  // branch: each thread fences its copies.
  // CHECK-LABEL: gpu.func @fenced(
  // CHECK:         tl.wait_copies 0
  // CHECK-NEXT:    tl.fence_async
  // CHECK-NEXT:    gpu.barrier
  gpu.func @fenced(%first: index, %c: i1) kernel {
    %ring = tl.alloc : !ring
    %acc = tl.alloc : !acc
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<groups, 3>
    tl.pipe_wait %pipe[%first] ahead(0) : !tl.pipe<groups, 3>
    scf.if %c {
      %s = tl.slot %ring[%first] : !ring to !tile
      tl.gemm %s, %s, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // In a loop the first acquire comes after the last release of the round
  // before.
  // CHECK-LABEL: gpu.func @in_a_loop(
  // CHECK:         scf.for
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      scf.for
  gpu.func @in_a_loop(%first: index, %n: index, %p: i32) kernel {
    %ring = tl.alloc : !ring
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    scf.for %i = %first to %n step %n {
      tl.pipe_acquire %pipe[%first] count(2) : !tl.pipe<bulk, 3>
      scf.for %k = %first to %n step %n {
        tl.pipe_wait %pipe[%first] ahead(1) phase(%p) : !tl.pipe<bulk, 3>
      }
      tl.pipe_release %pipe[%first] : !tl.pipe<bulk, 3>
    }
    gpu.return
  }

  // A barrier that is there for another reason is good enough.
  // CHECK-LABEL: gpu.func @one_barrier(
  // CHECK-COUNT-1: gpu.barrier
  // CHECK-NOT:     gpu.barrier
  // CHECK:         gpu.return
  gpu.func @one_barrier(%first: index, %c: i1) kernel {
    %ring = tl.alloc : !ring
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    tl.pipe_release %pipe[%first] : !tl.pipe<bulk, 3>
    gpu.barrier
    scf.if %c {
      tl.pipe_acquire %pipe[%first] : !tl.pipe<bulk, 3>
    }
    gpu.return
  }

  // A slot that the blocks of a cluster fill together is released in each of
  // them, and counts the releases of all: four warps of two blocks. The cluster
  // meets when the mbarriers are set up, and at the end.
  // CHECK-LABEL: gpu.func @cluster(
  // CHECK:         %[[RING:.+]] = tl.alloc
  // CHECK-NEXT:    %[[FULL:.+]] = tl.alloc_barriers arrivals(1)
  // CHECK-NEXT:    %[[EMPTY:.+]] = tl.alloc_barriers arrivals(8)
  // CHECK-NEXT:    tl.cluster_barrier
  // CHECK-NEXT:    tl.role threads(128, 1)
  // CHECK:           tl.wait_barrier %[[EMPTY]]
  // CHECK:           tl.copy {{.*}} async bulk multicast barrier(%[[FULL]][%{{.+}}] : {{.+}})
  // CHECK:         tl.role threads(0, 128)
  // CHECK-NEXT:      tl.wait_barrier %[[FULL]]
  // CHECK-NEXT:      tl.arrive_barrier %[[EMPTY]][%{{.+}}] cluster
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.cluster_barrier
  // CHECK-NEXT:    gpu.return
  gpu.func @cluster(%A: !A, %first: index, %phase: i32) kernel attributes {known_block_size = array<i32: 160, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %ring = tl.alloc : !ring
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    tl.role threads(128, 1) barrier(1) {
      tl.pipe_acquire %pipe[%first] phase(%phase) : !tl.pipe<bulk, 3>
      %a = tl.slot %ring[%first] : !ring to !tile
      tl.copy %A to %a tile(64, 64) async bulk multicast : !A to !tile
      tl.pipe_commit %pipe[%first] : !tl.pipe<bulk, 3>
    }
    tl.role threads(0, 128) barrier(2) {
      tl.pipe_wait %pipe[%first] ahead(1) phase(%phase) : !tl.pipe<bulk, 3>
      tl.pipe_release %pipe[%first] : !tl.pipe<bulk, 3>
    }
    gpu.return
  }
}
