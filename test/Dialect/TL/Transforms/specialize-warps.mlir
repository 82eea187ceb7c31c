// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-specialize-warps))' | FileCheck %s
// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-specialize-warps,tl-lower-pipes))' | FileCheck %s --check-prefix=LOWERED

!A = memref<4096x4096xf16>
!I = memref<64xi32>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<3x64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels {
  // The thread that copies goes through the same loops and branches, with what
  // decides there; what nobody but the others needs, `%sum`, it does not carry.
  // CHECK-LABEL: gpu.func @tiles(
  // CHECK-SAME:      known_block_size = array<i32: 160, 1, 1>}
  // CHECK:         %[[PIPE:.+]] = tl.pipe
  // CHECK:         tl.role threads(128, 1) barrier(1) {
  // CHECK-NEXT:      %{{.+}}:2 = scf.for %[[T:.+]] = {{.*}} iter_args(%[[S:.+]] = %{{.+}}, %[[P:.+]] = %{{.+}}) -> (index, i32) {
  // CHECK-NEXT:        tl.load %{{.+}}[%[[T]]]
  // CHECK-NEXT:        arith.index_cast
  // CHECK-NEXT:        %[[ANY:.+]] = arith.cmpi
  // CHECK-NEXT:        %{{.+}}:2 = scf.if %[[ANY]] -> (index, i32) {
  // CHECK-NEXT:          tl.pipe_acquire %[[PIPE]][%[[S]]] phase(%[[P]])
  // CHECK-NEXT:          %[[FILLED:.+]] = tl.slot %{{.+}}[%[[S]]]
  // CHECK-NEXT:          tl.copy %{{.+}} to %[[FILLED]] tile(64, 64) async bulk :
  // CHECK-NEXT:          tl.pipe_commit %[[PIPE]][%[[S]]]
  // CHECK-NEXT:          tl.rotate
  // CHECK-NEXT:          tl.next_phase
  // CHECK-NEXT:          scf.yield
  // CHECK-NEXT:        } else {
  // CHECK-NEXT:          scf.yield %[[S]], %[[P]]
  // CHECK:         tl.role threads(0, 128) barrier(2) {
  // CHECK-NEXT:      %{{.+}}:3 = scf.for {{.*}} -> (index, i32, i32) {
  // CHECK:             scf.if
  // CHECK-NEXT:          tl.pipe_wait
  // CHECK-NEXT:          %[[READ:.+]] = tl.slot
  // CHECK-NEXT:          tl.gemm %[[READ]], %[[READ]]
  // CHECK-NEXT:          tl.pipe_release
  // CHECK-NOT:           tl.copy

  // A slot has two mbarriers: for one copy, and for the four warps that read it.
  // LOWERED-LABEL: gpu.func @tiles(
  // LOWERED:         %[[FULL:.+]] = tl.alloc_barriers arrivals(1) : memref<3x!tl.mbarrier
  // LOWERED-NEXT:    %[[EMPTY:.+]] = tl.alloc_barriers arrivals(4) : memref<3x!tl.mbarrier
  // LOWERED:         tl.role threads(128, 1)
  // LOWERED:             %[[OTHER:.+]] = arith.xori %[[P:.+]], %{{.+}} : i32
  // LOWERED-NEXT:        tl.wait_barrier %[[EMPTY]][%[[S:.+]]] parity(%[[OTHER]])
  // LOWERED:             tl.copy {{.*}} async bulk barrier(%[[FULL]][%[[S]]] :
  // LOWERED-NOT:     gpu.barrier
  // LOWERED:         tl.role threads(0, 128)
  // LOWERED:             tl.wait_barrier %[[FULL]]
  // LOWERED:             tl.arrive_barrier %[[EMPTY]]
  // LOWERED-NOT:     gpu.barrier
  gpu.func @tiles(%A: !A, %counts: !I, %counts2: !I, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %phase0 = arith.constant 0 : i32
    %ring = tl.alloc : !ring
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    %acc = tl.alloc : !acc
    %end:3 = scf.for %t = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %phase0, %sum = %phase0) -> (index, i32, i32) {
      %raw = tl.load %counts[%t] : !I
      %count = arith.index_cast %raw : i32 to index
      %any = arith.cmpi sgt, %count, %c0 : index
      %more = arith.addi %sum, %raw : i32
      %next:2 = scf.if %any -> (index, i32) {
        tl.pipe_acquire %pipe[%slot] phase(%phase) : <bulk, 3>
        %fill = tl.slot %ring[%slot] : !ring to !tile
        tl.copy %A[%c0, %count] to %fill tile(64, 64) async bulk : !A to !tile
        tl.pipe_commit %pipe[%slot] : <bulk, 3>
        tl.pipe_wait %pipe[%slot] ahead(2) phase(%phase) : <bulk, 3>
        %read = tl.slot %ring[%slot] : !ring to !tile
        tl.gemm %read, %read, %acc : !tile, !tile, !acc
        tl.pipe_release %pipe[%slot] : <bulk, 3>
        %s = tl.rotate %slot by 1 of 3
        %p = tl.next_phase %phase after %slot of 3
        scf.yield %s, %p : index, i32
      } else {
        scf.yield %slot, %phase : index, i32
      }
      scf.yield %next#0, %next#1, %more : index, i32, i32
    }
    %last = tl.rotate %end#0 by 2 of 3
    %kept = arith.addi %end#2, %phase0 : i32
    tl.store %kept, %counts2[%last] : !I
    gpu.return
  }

  // Without the attribute nothing happens.
  // CHECK-LABEL: gpu.func @plain(
  // CHECK-SAME:      known_block_size = array<i32: 128, 1, 1>}
  // CHECK-NOT:     tl.role
  gpu.func @plain() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.return
  }

  // The slot is given back when the first product is done, though no fragment is:
  // the second one, which runs on, adds to the same sums.
  // CHECK-LABEL: gpu.func @chained(
  // CHECK:         tl.role threads(0, 128)
  // CHECK:             tl.gemm
  // CHECK-NEXT:        tl.gemm
  // CHECK-NEXT:        tl.wait_gemm 1{{$}}
  // CHECK-NEXT:        tl.pipe_release
  gpu.func @chained(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %phase0 = arith.constant 0 : i32
    %ring = tl.alloc : !ring
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    %stays = tl.alloc : !tile
    %acc = tl.alloc : !acc
    %end:2 = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %phase0) -> (index, i32) {
      tl.pipe_acquire %pipe[%slot] phase(%phase) : <bulk, 3>
      %fill = tl.slot %ring[%slot] : !ring to !tile
      tl.copy %A[%c0, %k] to %fill tile(64, 64) async bulk : !A to !tile
      tl.pipe_commit %pipe[%slot] : <bulk, 3>
      tl.pipe_wait %pipe[%slot] ahead(2) phase(%phase) : <bulk, 3>
      %read = tl.slot %ring[%slot] : !ring to !tile
      tl.gemm %read, %read, %acc async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.gemm %stays, %stays, %acc async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.wait_gemm 1
      tl.pipe_release %pipe[%slot] : <bulk, 3>
      %s = tl.rotate %slot by 1 of 3
      %p = tl.next_phase %phase after %slot of 3
      scf.yield %s, %p : index, i32
    }
    tl.wait_gemm 0 (%acc : !acc)
    gpu.return
  }

  // A tile that is copied once before slots are filled is copied by the same
  // thread. One that is copied behind the loop is copied by the others.
  // CHECK-LABEL: gpu.func @copied_once(
  // CHECK:         %[[BEFORE:.+]] = tl.alloc layout
  // CHECK-NEXT:    %[[AFTER:.+]] = tl.alloc layout
  // CHECK:         tl.role threads(128, 1)
  // CHECK-NEXT:      tl.copy %{{.+}} to %[[BEFORE]] tile(64, 64) async bulk barrier
  // CHECK-NEXT:      scf.for
  // CHECK-NOT:       %[[AFTER]]
  // CHECK:         tl.role threads(0, 128)
  // CHECK-NEXT:      tl.wait_barrier
  // CHECK:           scf.for
  // CHECK:           tl.gemm %{{.+}}, %[[BEFORE]]
  // CHECK:           tl.copy %{{.+}} to %[[AFTER]] tile(64, 64) :
  gpu.func @copied_once(%A: !A {tl.align = 16 : i64}, %C: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %phase0 = arith.constant 0 : i32
    %ring = tl.alloc : !ring
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    %before = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) : !tile
    %after = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) : !tile
    %acc = tl.alloc : !acc
    tl.copy %A[%c0, %c0] to %before tile(64, 64) : !A to !tile
    %end:2 = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %phase0) -> (index, i32) {
      tl.pipe_acquire %pipe[%slot] phase(%phase) : <bulk, 3>
      %fill = tl.slot %ring[%slot] : !ring to !tile
      tl.copy %A[%c0, %k] to %fill tile(64, 64) async bulk : !A to !tile
      tl.pipe_commit %pipe[%slot] : <bulk, 3>
      tl.pipe_wait %pipe[%slot] ahead(2) phase(%phase) : <bulk, 3>
      %read = tl.slot %ring[%slot] : !ring to !tile
      tl.gemm %read, %before, %acc async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.wait_gemm 0 (%acc : !acc)
      tl.pipe_release %pipe[%slot] : <bulk, 3>
      %s = tl.rotate %slot by 1 of 3
      %p = tl.next_phase %phase after %slot of 3
      scf.yield %s, %p : index, i32
    }
    tl.copy %A[%c0, %c0] to %after tile(64, 64) : !A to !tile
    tl.copy %after to %C[%c0, %c0] tile(64, 64) : !tile to !A
    gpu.return
  }

  // With registers for both roles the further warp becomes a warp group, and the
  // assembler is told that the block is alone on its multiprocessor. In each
  // iteration two products are started, and something is computed between the waits
  // for them: the warp groups take turns at starting them.
  // CHECK-LABEL: gpu.func @turns(
  // CHECK-SAME:      known_block_size = array<i32: 384, 1, 1>, tl.min_blocks = 1 : i64}
  // CHECK:         tl.role threads(256, 1) barrier(1) registers(24) {
  // CHECK-NOT:       _turn
  // CHECK:         tl.role threads(0, 256) barrier(2) registers(240) {
  // CHECK-NEXT:      tl.open_turns barrier(3)
  // CHECK:           scf.for
  // CHECK:             tl.pipe_wait
  // CHECK-NEXT:        tl.slot
  // CHECK-NEXT:        tl.take_turn barrier(3)
  // CHECK-NEXT:        tl.gemm
  // CHECK-NEXT:        tl.fill
  // CHECK-NEXT:        tl.gemm
  // CHECK-NEXT:        tl.pass_turn barrier(3)
  // CHECK-NEXT:        tl.wait_gemm 1
  // CHECK:           tl.close_turns barrier(3)
  // CHECK-NEXT:    }

  // Products that need what the role's threads wrote in the iteration would have
  // them meet in a turn, and one product leaves nothing to compute beside.
  // CHECK-LABEL: gpu.func @no_turns(
  // CHECK-NOT:     _turn
  gpu.func @turns(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>, tl.specialize = array<i64: 24, 240>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %phase0 = arith.constant 0 : i32
    %ring = tl.alloc : !ring
    %tile = tl.alloc : !tile
    %row = tl.alloc : memref<64xf32, #tl.fragment>
    %part = tl.alloc : memref<64x64xf16, #tl.fragment>
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    %s = tl.alloc : !acc
    %o = tl.alloc : !acc
    scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %phase0) -> (index, i32) {
      tl.pipe_acquire %pipe[%slot] phase(%phase) : <bulk, 3>
      %fill = tl.slot %ring[%slot] : !ring to !tile
      tl.copy %A[%c0, %k] to %fill tile(64, 64) async bulk : !A to !tile
      tl.pipe_commit %pipe[%slot] : <bulk, 3>
      tl.pipe_wait %pipe[%slot] ahead(2) phase(%phase) : <bulk, 3>
      %read = tl.slot %ring[%slot] : !ring to !tile
      tl.gemm %read, %read, %s async plan(<wgmma, warps_m = 2, warps_n = 1>) : !tile, !tile, !acc
      tl.fill %row, %zero : memref<64xf32, #tl.fragment>
      tl.gemm %tile, %read, %o async plan(<wgmma, warps_m = 2, warps_n = 1>) : !tile, !tile, !acc
      tl.wait_gemm 1 (%s : !acc)
      tl.copy %s to %part tile(64, 64) : !acc to memref<64x64xf16, #tl.fragment>
      tl.wait_gemm 0 (%o : !acc)
      tl.pipe_release %pipe[%slot] : <bulk, 3>
      %s1 = tl.rotate %slot by 1 of 3
      %p1 = tl.next_phase %phase after %slot of 3
      scf.yield %s1, %p1 : index, i32
    }
    gpu.return
  }
  gpu.func @no_turns(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>, tl.specialize = array<i64: 24, 240>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %phase0 = arith.constant 0 : i32
    %ring = tl.alloc : !ring
    %tile = tl.alloc : !tile
    %row = tl.alloc : memref<64xf32, #tl.fragment>
    %part = tl.alloc : memref<64x64xf16, #tl.fragment>
    %pipe = tl.pipe rings(%ring : !ring) : !tl.pipe<bulk, 3>
    %s = tl.alloc : !acc
    %o = tl.alloc : !acc
    scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %phase0) -> (index, i32) {
      tl.pipe_acquire %pipe[%slot] phase(%phase) : <bulk, 3>
      %fill = tl.slot %ring[%slot] : !ring to !tile
      tl.copy %A[%c0, %k] to %fill tile(64, 64) async bulk : !A to !tile
      tl.pipe_commit %pipe[%slot] : <bulk, 3>
      tl.pipe_wait %pipe[%slot] ahead(2) phase(%phase) : <bulk, 3>
      %read = tl.slot %ring[%slot] : !ring to !tile
      tl.copy %part to %tile tile(64, 64) : memref<64x64xf16, #tl.fragment> to !tile
      tl.gemm %read, %read, %s async plan(<wgmma, warps_m = 2, warps_n = 1>) : !tile, !tile, !acc
      tl.gemm %tile, %read, %o async plan(<wgmma, warps_m = 2, warps_n = 1>) : !tile, !tile, !acc
      tl.wait_gemm 1 (%s : !acc)
      tl.copy %s to %part tile(64, 64) : !acc to memref<64x64xf16, #tl.fragment>
      tl.wait_gemm 0 (%o : !acc)
      tl.pipe_release %pipe[%slot] : <bulk, 3>
      %s1 = tl.rotate %slot by 1 of 3
      %p1 = tl.next_phase %phase after %slot of 3
      scf.yield %s1, %p1 : index, i32
    }
    scf.for %k = %c0 to %n step %c1 {
      tl.gemm %tile, %tile, %s async plan(<wgmma, warps_m = 2, warps_n = 1>) : !tile, !tile, !acc
      tl.wait_gemm 0 (%s : !acc)
    }
    gpu.return
  }
}
