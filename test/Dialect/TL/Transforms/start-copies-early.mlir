// What fills the first slot of a loop, and the first copy of a block, do not wait for numbers that threads load and
// store to shared memory in front of them.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-gemms,tl-infer-layouts,tl-assign-stages,tl-expand-pipeline,tl-start-copies,tl-lower-pipes,tl-plan-shared-memory,tl-insert-sync,tl-verify-sync))' | FileCheck %s

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!row = memref<64xf32, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: gpu.func @factors
  // CHECK:         tl.copy %{{.+}} async :
  // CHECK:         scf.if
  // CHECK:           tl.copy %{{.+}} async bulk barrier
  // CHECK:         tl.parallel
  // CHECK:           tl.load %{{.+}} : memref<64xf32>
  // CHECK:         tl.wait_copies 0
  // CHECK:         scf.for
  // CHECK:           tl.wait_barrier
  gpu.func @factors(%A: memref<64x512xf16> {tl.align = 16 : i64}, %B: memref<64x64xf16>, %F: memref<64xf32>, %C: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %factors = tl.alloc : !row
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    %acc = tl.alloc : !acc
    tl.fill %acc, %zero : !acc
    tl.parallel (%i) in (64) {
      %x = tl.load %F[%i] : memref<64xf32>
      tl.store %x, %factors[%i] : !row
    }
    tl.copy %B to %b tile(64, 64) : memref<64x64xf16> to !tile
    tl.pipelined %k = %c0 to %c8 stages(2) {
      %at = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %at] to %a tile(64, 64) : memref<64x512xf16> to !tile
      tl.gemm %a, %b, %acc transpose_b : !tile, !tile, !acc
    }
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %acc[%i, %j] : !acc
      %f = tl.load %factors[%i] : !row
      %y = arith.mulf %x, %f : f32
      tl.store %y, %C[%i, %j] : memref<64x64xf32>
    }
    gpu.return
  }

  // They do where the tensor is written before, or the tile is used.
  // CHECK-LABEL: gpu.func @written
  // CHECK:         tl.parallel
  // CHECK:           tl.store %{{.+}} : memref<64x64xf16>
  // CHECK:         tl.copy %{{.+}} async
  // CHECK-LABEL: gpu.func @used
  // CHECK:         tl.parallel
  // CHECK:           tl.store %{{.+}} : memref<64x64xf16, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %{{.+}} async
  gpu.func @written(%B: memref<64x64xf16>, %F: memref<64xf16>, %C: memref<64x64xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %b = tl.alloc : !tile
    tl.parallel (%i) in (64) {
      %x = tl.load %F[%i] : memref<64xf16>
      tl.store %x, %B[%i, %c0] : memref<64x64xf16>
    }
    tl.copy %B to %b tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %b to %C tile(64, 64) : !tile to memref<64x64xf16>
    gpu.return
  }
  gpu.func @used(%B: memref<64x64xf16>, %F: memref<64x64xf16>, %C: memref<64x64xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %b = tl.alloc : !tile
    %old = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %F[%i, %j] : memref<64x64xf16>
      tl.store %x, %b[%i, %j] : !tile
    }
    tl.copy %b to %old tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
    tl.copy %B to %b tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %b to %C tile(64, 64) : !tile to memref<64x64xf16>
    tl.copy %old to %F tile(64, 64) : memref<64x64xf16, #tl.fragment> to memref<64x64xf16>
    gpu.return
  }
}
