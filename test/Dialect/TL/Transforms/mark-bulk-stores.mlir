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
  gpu.func @blocks(%A: memref<?x64xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = 16777216 : i64} {
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
  // CHECK-COUNT-3: tl.copy %{{.+}} to %{{.+}} tile(128, 64) bulk :
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
