// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-place-refills))' | FileCheck %s

!A = memref<4096x64xf16>
!table = memref<4096xi32>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels {
  // The slot of the iteration before is free when an iteration begins: it is
  // refilled behind the products that begin, and what it needs comes with it.
  // CHECK-LABEL: gpu.func @bulk(
  // CHECK:         scf.for
  // CHECK-NEXT:      tl.pipe_wait
  // CHECK-NEXT:      tl.slot
  // CHECK-NEXT:      tl.gemm %{{.+}}, %{{.+}}, %[[S:.+]] async
  // CHECK-NEXT:      %[[OTHER:.+]] = tl.rotate
  // CHECK-NEXT:      arith.subi
  // CHECK-NEXT:      arith.cmpi
  // CHECK-NEXT:      tl.pipe_release %{{.+}}[%[[OTHER]]]
  // CHECK-NEXT:      tl.pipe_acquire %{{.+}}[%[[OTHER]]]
  // CHECK-NEXT:      scf.if
  // CHECK:             tl.copy {{.*}} async bulk
  // CHECK:           tl.pipe_commit %{{.+}}[%[[OTHER]]]
  // CHECK-NEXT:      tl.wait_gemm 0 (%[[S]]
  // CHECK-NEXT:      tl.copy %[[S]]
  // CHECK-NEXT:      tl.gemm
  // CHECK-NEXT:      tl.next_phase
  // CHECK-NEXT:      tl.wait_gemm 0
  // CHECK-NEXT:      scf.yield
  gpu.func @bulk(%A: !A, %q: !tile, %p: !tile, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c0_i32 = arith.constant 0 : i32
    %ring = tl.alloc {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <bulk, 2>
    %s = tl.alloc : !acc
    %o = tl.alloc : !acc
    %end:2 = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %c0_i32) -> (index, i32) {
      tl.pipe_wait %pipe[%slot] ahead(0) phase(%phase) : <bulk, 2>
      %t = tl.slot %ring[%slot] : !ring to !tile
      tl.gemm %q, %t, %s async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.wait_gemm 0 (%s : !acc)
      tl.copy %s to %p tile(64, 64) : !acc to !tile
      tl.gemm %p, %t, %o async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      %other = tl.rotate %slot by 1 of 2
      tl.pipe_release %pipe[%other] : <bulk, 2>
      tl.pipe_acquire %pipe[%other] : <bulk, 2>
      %left = arith.subi %n, %k : index
      %more = arith.cmpi ugt, %left, %c1 : index
      scf.if %more {
        %next = arith.addi %k, %c1 : index
        %view = tl.slot %ring[%other] : !ring to !tile
        tl.copy %A[%next, %c0] to %view tile(64, 64) async bulk : !A to !tile
      }
      tl.pipe_commit %pipe[%other] : <bulk, 2>
      %later = tl.next_phase %phase after %slot of 2
      tl.wait_gemm 0 (%o : !acc)
      scf.yield %other, %later : index, i32
    }
    gpu.return
  }

  // A product of the iteration before reads the slot until this one's end.
  // CHECK-LABEL: gpu.func @product_under_way(
  // CHECK:           tl.pipe_wait
  // CHECK-NEXT:      tl.slot
  // CHECK-NEXT:      tl.gemm
  // CHECK-NEXT:      tl.rotate
  // CHECK-NEXT:      tl.wait_gemm 1
  // CHECK-NEXT:      tl.pipe_release
  gpu.func @product_under_way(%A: !A, %q: !tile, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c0_i32 = arith.constant 0 : i32
    %ring = tl.alloc {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <bulk, 2>
    %s = tl.alloc : !acc
    %end:2 = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %c0_i32) -> (index, i32) {
      tl.pipe_wait %pipe[%slot] ahead(0) phase(%phase) : <bulk, 2>
      %t = tl.slot %ring[%slot] : !ring to !tile
      tl.gemm %q, %t, %s async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      %other = tl.rotate %slot by 1 of 2
      tl.wait_gemm 1
      tl.pipe_release %pipe[%other] : <bulk, 2>
      tl.pipe_acquire %pipe[%other] : <bulk, 2>
      %view = tl.slot %ring[%other] : !ring to !tile
      tl.copy %A[%k, %c0] to %view tile(64, 64) async bulk : !A to !tile
      tl.pipe_commit %pipe[%other] : <bulk, 2>
      %later = tl.next_phase %phase after %slot of 2
      scf.yield %other, %later : index, i32
    }
    tl.wait_gemm 0 (%s : !acc)
    gpu.return
  }

  // Another slot than that which was waited for is read.
  // CHECK-LABEL: gpu.func @reads_the_slot_before(
  // CHECK:           tl.pipe_wait
  // CHECK-NEXT:      tl.rotate
  // CHECK-NEXT:      tl.slot
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      tl.pipe_release
  gpu.func @reads_the_slot_before(%A: !A, %B: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c0_i32 = arith.constant 0 : i32
    %ring = tl.alloc {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <bulk, 2>
    %end:2 = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %c0_i32) -> (index, i32) {
      tl.pipe_wait %pipe[%slot] ahead(0) phase(%phase) : <bulk, 2>
      %other = tl.rotate %slot by 1 of 2
      %view = tl.slot %ring[%other] : !ring to !tile
      tl.copy %view to %B[%k, %c0] tile(64, 64) : !tile to !A
      tl.pipe_release %pipe[%other] : <bulk, 2>
      tl.pipe_acquire %pipe[%other] : <bulk, 2>
      tl.copy %A[%k, %c0] to %view tile(64, 64) async bulk : !A to !tile
      tl.pipe_commit %pipe[%other] : <bulk, 2>
      %later = tl.next_phase %phase after %slot of 2
      scf.yield %other, %later : index, i32
    }
    gpu.return
  }

  // Without products the copies begin behind the wait.
  // CHECK-LABEL: gpu.func @no_products(
  // CHECK:           tl.pipe_wait
  // CHECK-NEXT:      tl.rotate
  // CHECK-NEXT:      tl.slot
  // CHECK-NEXT:      tl.pipe_release
  // CHECK-NEXT:      tl.pipe_acquire
  // CHECK-NEXT:      tl.copy {{.*}} async bulk
  // CHECK-NEXT:      tl.pipe_commit
  // CHECK-NEXT:      tl.slot
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      tl.next_phase
  gpu.func @no_products(%A: !A, %B: !A, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c0_i32 = arith.constant 0 : i32
    %ring = tl.alloc {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <bulk, 2>
    %end:2 = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %c0_i32) -> (index, i32) {
      tl.pipe_wait %pipe[%slot] ahead(0) phase(%phase) : <bulk, 2>
      %t = tl.slot %ring[%slot] : !ring to !tile
      tl.copy %t to %B[%k, %c0] tile(64, 64) : !tile to !A
      %other = tl.rotate %slot by 1 of 2
      tl.pipe_release %pipe[%other] : <bulk, 2>
      tl.pipe_acquire %pipe[%other] : <bulk, 2>
      %view = tl.slot %ring[%other] : !ring to !tile
      tl.copy %A[%k, %c0] to %view tile(64, 64) async bulk : !A to !tile
      tl.pipe_commit %pipe[%other] : <bulk, 2>
      %later = tl.next_phase %phase after %slot of 2
      scf.yield %other, %later : index, i32
    }
    gpu.return
  }

  // Products begin before all threads start copies, behind what is short; what
  // copies are computed from stays.
  // CHECK-LABEL: gpu.func @groups(
  // CHECK:           tl.pipe_release
  // CHECK-NEXT:      tl.pipe_wait
  // CHECK-NEXT:      tl.slot
  // CHECK-NEXT:      tl.slot
  // CHECK-NEXT:      tl.parallel
  // CHECK:           tl.gemm %{{.+}}, %{{.+}}, %[[S:.+]] async
  // CHECK-NEXT:      tl.pipe_acquire
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      tl.pipe_commit
  // CHECK-NEXT:      tl.wait_gemm 0 (%[[S]]
  gpu.func @groups(%A: !A, %B: !A, %table: !table, %q: !tile, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <groups, 2>
    %s = tl.alloc : !acc
    %end = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0) -> (index) {
      %other = tl.rotate %slot by 1 of 2
      tl.pipe_release %pipe[%other] : <groups, 2>
      tl.pipe_wait %pipe[%slot] ahead(0) : <groups, 2>
      tl.pipe_acquire %pipe[%other] : <groups, 2>
      %view = tl.slot %ring[%other] : !ring to !tile
      tl.copy %A[%k, %c0] to %view tile(64, 64) async : !A to !tile
      tl.pipe_commit %pipe[%other] : <groups, 2>
      %t = tl.slot %ring[%slot] : !ring to !tile
      tl.parallel (%i, %j) in (64, 64) {
        %number = tl.load %table[%j] : !table
        %x = arith.sitofp %number : i32 to f32
        tl.store %x, %s[%i, %j] : !acc
      }
      tl.gemm %q, %t, %s async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.wait_gemm 0 (%s : !acc)
      scf.yield %other : index
    }
    gpu.return
  }

  // What stands before the products goes through a tile in shared memory, and
  // would delay the copies.
  // CHECK-LABEL: gpu.func @groups_behind_work(
  // CHECK:           tl.pipe_wait
  // CHECK-NEXT:      tl.pipe_acquire
  // CHECK-NEXT:      tl.slot
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      tl.pipe_commit
  gpu.func @groups_behind_work(%A: !A, %q: !tile, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <groups, 2>
    %s = tl.alloc : !acc
    %end = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0) -> (index) {
      %other = tl.rotate %slot by 1 of 2
      tl.pipe_release %pipe[%other] : <groups, 2>
      tl.pipe_wait %pipe[%slot] ahead(0) : <groups, 2>
      tl.pipe_acquire %pipe[%other] : <groups, 2>
      %view = tl.slot %ring[%other] : !ring to !tile
      tl.copy %A[%k, %c0] to %view tile(64, 64) async : !A to !tile
      tl.pipe_commit %pipe[%other] : <groups, 2>
      %t = tl.slot %ring[%slot] : !ring to !tile
      tl.copy %t to %s tile(64, 64) : !tile to !acc
      tl.gemm %q, %t, %s async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.wait_gemm 0 (%s : !acc)
      scf.yield %other : index
    }
    gpu.return
  }

  // Products of the iteration before are waited for at its beginning: those of
  // this one start ahead of the copies, which may go through registers.
  // CHECK-LABEL: gpu.func @groups_behind_products(
  // CHECK:           tl.wait_gemm 0
  // CHECK-NEXT:      tl.pipe_release
  // CHECK-NEXT:      tl.pipe_wait
  // CHECK:           tl.gemm %{{.+}}, %{{.+}}, %[[S:.+]] async
  // CHECK-NEXT:      tl.pipe_acquire
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      tl.pipe_commit
  // CHECK-NEXT:      scf.yield
  gpu.func @groups_behind_products(%A: !A, %q: !tile, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <groups, 2>
    %s = tl.alloc : !acc
    %end = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0) -> (index) {
      %other = tl.rotate %slot by 1 of 2
      tl.wait_gemm 0 (%s : !acc)
      tl.pipe_release %pipe[%other] : <groups, 2>
      tl.pipe_wait %pipe[%slot] ahead(0) : <groups, 2>
      tl.pipe_acquire %pipe[%other] : <groups, 2>
      %view = tl.slot %ring[%other] : !ring to !tile
      tl.copy %A[%k, %c0] to %view tile(64, 64) async : !A to !tile
      tl.pipe_commit %pipe[%other] : <groups, 2>
      %t = tl.slot %ring[%slot] : !ring to !tile
      tl.gemm %q, %t, %s async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      scf.yield %other : index
    }
    tl.wait_gemm 0 (%s : !acc)
    gpu.return
  }

  // One product of the iteration before may be under way when the slot is
  // released, which it reads.
  // CHECK-LABEL: gpu.func @groups_behind_some_products(
  // CHECK:           tl.wait_gemm 1
  // CHECK-NEXT:      tl.pipe_release
  // CHECK-NEXT:      tl.pipe_wait
  // CHECK-NEXT:      tl.pipe_acquire
  gpu.func @groups_behind_some_products(%A: !A, %q: !tile, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <groups, 2>
    %s = tl.alloc : !acc
    %end = scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0) -> (index) {
      %other = tl.rotate %slot by 1 of 2
      tl.wait_gemm 1 (%s : !acc)
      tl.pipe_release %pipe[%other] : <groups, 2>
      tl.pipe_wait %pipe[%slot] ahead(0) : <groups, 2>
      tl.pipe_acquire %pipe[%other] : <groups, 2>
      %view = tl.slot %ring[%other] : !ring to !tile
      tl.copy %A[%k, %c0] to %view tile(64, 64) async : !A to !tile
      tl.pipe_commit %pipe[%other] : <groups, 2>
      %t = tl.slot %ring[%slot] : !ring to !tile
      tl.gemm %q, %t, %s async plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      scf.yield %other : index
    }
    tl.wait_gemm 0 (%s : !acc)
    gpu.return
  }
}
