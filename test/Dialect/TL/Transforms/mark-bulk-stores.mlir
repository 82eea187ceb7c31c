// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts,tl-mark-bulk-stores))' --split-input-file | FileCheck %s

!a = memref<128x64xf16, #gpu.address_space<workgroup>>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // A whole tile in shared memory is stored by the bulk copy engine, if the
  // destination is aligned.
  // CHECK-LABEL: gpu.func @bulk_store
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(128, 64) bulk :
  gpu.func @bulk_store(%A: memref<128x64xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    tl.copy %a to %A tile(128, 64) : !a to memref<128x64xf16>
    gpu.return
  }
}

// -----

!a = memref<128x64xf16, #gpu.address_space<workgroup>>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // Stores by threads are no bulk copies.
  // CHECK-LABEL: gpu.func @no_bulk_store
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(128, 64) :
  gpu.func @no_bulk_store(%A: memref<128x64xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    tl.copy %a to %A tile(128, 64) : !a to memref<128x64xf16>
    gpu.return
  }
}

// -----

!a = memref<128x64xf16, #gpu.address_space<workgroup>>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // 2^24 blocks of 128 rows end at 2^31; there are fewer blocks along y.
  // CHECK-LABEL: gpu.func @blocks
  // CHECK-COUNT-2: tl.copy %{{.+}} to %{{.+}} tile(128, 64) bulk :
  gpu.func @blocks(%A: memref<?x64xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 16777216, 65535, 65535>} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %x = arith.muli %bx, %c128 : index
    %y = arith.muli %by, %c128 : index
    %a = tl.alloc : !a
    tl.copy %a to %A[%x, %c0] tile(128, 64) : !a to memref<?x64xf16>
    tl.copy %a to %A[%y, %c0] tile(128, 64) : !a to memref<?x64xf16>
    gpu.return
  }

  // What loops count, and quotients, remainders and choices of it.
  // CHECK-LABEL: gpu.func @counters
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(128, 64) async bulk :
  // CHECK-COUNT-2: tl.copy %{{.+}} to %{{.+}} tile(128, 64) bulk :
  gpu.func @counters(%A: memref<?x64xf16> {tl.align = 16 : i64}, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c100 = arith.constant 100 : index
    %c128 = arith.constant 128 : index
    %bx = gpu.block_id x
    %rows = memref.dim %A, %c0 : memref<?x64xf16>
    %tiles = arith.ceildivui %rows, %c128 : index
    %m = arith.index_cast %n : i32 to index
    %a = tl.alloc : !a
    scf.for %k = %c0 to %tiles step %c1 {
      %row = arith.muli %k, %c128 : index
      tl.copy %a to %A[%row, %c0] tile(128, 64) : !a to memref<?x64xf16>
    }
    %half = arith.divui %bx, %c128 : index
    %rest = arith.remui %bx, %c64 : index
    %even = arith.cmpi eq, %rest, %c0 : index
    %some = arith.select %even, %half, %rest : index
    %row = arith.muli %some, %c128 : index
    tl.copy %a to %A[%row, %c0] tile(128, 64) : !a to memref<?x64xf16>
    %low = arith.maxsi %m, %c0 : index
    %cut = arith.minsi %low, %c100 : index
    %place = arith.muli %cut, %c128 : index
    tl.copy %a to %A[%place, %c0] tile(128, 64) : !a to memref<?x64xf16>
    gpu.return
  }
}

// -----

!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!f = memref<64x64xf16, #tl.fragment>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @loops attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // In a loop the engine goes on behind a store, and somebody waits behind the loop.
  // CHECK-LABEL: gpu.func @stores(
  // CHECK:         scf.for
  // CHECK:           tl.copy %{{.+}} to %[[TILE:[^ ]+]] tile(64, 64) :
  // CHECK-NEXT:      tl.copy %[[TILE]] to %arg0[%{{.+}}] tile(64, 64) async bulk :
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.wait_stores 0 read
  gpu.func @stores(%A: memref<64x4096xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc : !a
    %f = tl.alloc : !f
    scf.for %k = %c0 to %c64 step %c1 {
      %column = arith.muli %k, %c64 : index
      tl.copy %f to %a tile(64, 64) : !f to !a
      tl.copy %a to %A[%c0, %column] tile(64, 64) : !a to memref<64x4096xf16>
    }
    gpu.return
  }

  // Before the tile is written again, threads meet in front of the product of what they wrote: the wait stands there.
  // CHECK-LABEL: gpu.func @stores_behind_products(
  // CHECK:         scf.for
  // CHECK:           tl.gemm
  // CHECK:           tl.copy %{{.+}} to %[[FACTOR:[^ ]+]] tile(64, 64) :
  // CHECK-NEXT:      tl.wait_stores 0 read
  // CHECK-NEXT:      tl.gemm %{{.+}}, %[[FACTOR]],
  // CHECK-NEXT:      tl.copy %{{.+}} to %[[TILE:[^ ]+]] tile(64, 64) :
  // CHECK-NEXT:      tl.copy %[[TILE]] to %arg0[%{{.+}}] tile(64, 64) async bulk :
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.wait_stores 0 read
  gpu.func @stores_behind_products(%A: memref<64x4096xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc : !a
    %b = tl.alloc : !a
    %c = tl.alloc : !a
    %f = tl.alloc : !f
    %acc = tl.alloc : !acc
    scf.for %k = %c0 to %c64 step %c1 {
      %column = arith.muli %k, %c64 : index
      tl.gemm %b, %b, %acc plan(<wgmma, warps_m = 4, warps_n = 1>) : !a, !a, !acc
      tl.copy %f to %c tile(64, 64) : !f to !a
      tl.gemm %b, %c, %acc plan(<wgmma, warps_m = 4, warps_n = 1>) : !a, !a, !acc
      tl.copy %acc to %a tile(64, 64) : !acc to !a
      tl.copy %a to %A[%c0, %column] tile(64, 64) : !a to memref<64x4096xf16>
    }
    gpu.return
  }
}

// -----

!a = memref<64x32xf32, #gpu.address_space<workgroup>>

gpu.module @sums attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // A loop that adds each element of a tile is a store that accumulates; the
  // tile may lie across leading dimensions of the tensor.
  // CHECK-LABEL: gpu.func @sum
  // CHECK:         tl.copy %[[TILE:.+]] to %arg0[%{{.+}}, %[[ROW:.+]], %{{.+}}] tile(1, 64, 32) bulk accumulate :
  // CHECK-NOT:     tl.atomic
  // CHECK-NOT:     tl.wait_stores
  gpu.func @sum(%A: memref<4x4096x32xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 64, 65535, 65535>} {
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %bx = gpu.block_id x
    %first = arith.muli %bx, %c64 : index
    %a = tl.alloc : !a
    tl.parallel (%i, %j) in (64, 32) {
      %row = arith.addi %first, %i : index
      %x = tl.load %a[%i, %j] : !a
      %old = tl.atomic add %x, %A[%c3, %row, %j] : memref<4x4096x32xf32>
    }
    gpu.return
  }

  // In a loop the engine may go on, and behind all loops somebody waits. Where
  // a loop counts to a difference, its index is below the greatest that it can
  // be.
  // CHECK-LABEL: gpu.func @sums
  // CHECK:         scf.for
  // CHECK:           scf.for
  // CHECK:             tl.copy %{{.+}} to %arg0[%{{.+}}, %{{.+}}] tile(64, 32) async bulk accumulate :
  // CHECK:           }
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.wait_stores 0 read
  gpu.func @sums(%A: memref<8192x32xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 64, 65535, 65535>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %bx = gpu.block_id x
    %rest = arith.subi %c64, %bx : index
    %a = tl.alloc : !a
    scf.for %m = %c0 to %c64 step %c1 {
      scf.for %k = %c0 to %rest step %c1 {
        %step = arith.addi %bx, %k : index
        %first = arith.muli %step, %c64 : index
        tl.parallel (%i, %j) in (64, 32) {
          %row = arith.addi %first, %i : index
          %x = tl.load %a[%i, %j] : !a
          %old = tl.atomic add %x, %A[%row, %j] : memref<8192x32xf32>
        }
      }
    }
    gpu.return
  }

  // Somebody asks what was there; the operation orders others, or is one for
  // the whole system; elements are converted, or lie otherwise; there is no
  // sum.
  // CHECK-LABEL: gpu.func @other_sums
  // CHECK-NOT:     tl.copy
  // CHECK-COUNT-6: tl.atomic
  gpu.func @other_sums(%A: memref<64x32xf32> {tl.align = 16 : i64}, %H: memref<64x32xf16> {tl.align = 16 : i64}, %T: memref<32x64xf32> {tl.align = 16 : i64}, %B: memref<64x32xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    tl.parallel (%i, %j) in (64, 32) {
      %x = tl.load %a[%i, %j] : !a
      %old = tl.atomic add %x, %A[%i, %j] : memref<64x32xf32>
      tl.store %old, %B[%i, %j] : memref<64x32xf32>
    }
    tl.parallel (%i, %j) in (64, 32) {
      %x = tl.load %a[%i, %j] : !a
      %old = tl.atomic add %x, %A[%i, %j] order(release) : memref<64x32xf32>
    }
    tl.parallel (%i, %j) in (64, 32) {
      %x = tl.load %a[%i, %j] : !a
      %old = tl.atomic add %x, %A[%i, %j] scope(system) : memref<64x32xf32>
    }
    tl.parallel (%i, %j) in (64, 32) {
      %x = tl.load %a[%i, %j] : !a
      %h = arith.truncf %x : f32 to f16
      %old = tl.atomic add %h, %H[%i, %j] : memref<64x32xf16>
    }
    tl.parallel (%i, %j) in (64, 32) {
      %x = tl.load %a[%i, %j] : !a
      %old = tl.atomic add %x, %T[%j, %i] : memref<32x64xf32>
    }
    tl.parallel (%i, %j) in (64, 32) {
      %x = tl.load %a[%i, %j] : !a
      %old = tl.atomic max %x, %A[%i, %j] : memref<64x32xf32>
    }
    gpu.return
  }
}
