// An element of a ring lies where the slot has it: rows of 128 elements are two panels of a slot, and not of the ring.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts,tl-plan-shared-memory,tl-lower-tile-ops),canonicalize)' | FileCheck %s

!ring = memref<2x64x128xf16, #gpu.address_space<workgroup>>
!tile = memref<64x128xf16, #gpu.address_space<workgroup>>

gpu.module @rings attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Slot 1 begins at 64 * 128 * 2 bytes, and its second panel 64 * 64 * 2 behind that.
  // CHECK-LABEL: gpu.func @element(
  // CHECK:         %[[BASE:.+]] = tl.shared_base
  // CHECK:         llvm.getelementptr %[[BASE]][24576]
  // CHECK:         llvm.getelementptr %[[BASE]][24576]
  gpu.func @element() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %x = arith.constant 1.0 : f16
    %ring = tl.alloc : !ring
    tl.store %x, %ring[%c1, %c0, %c64] : !ring
    %slot = tl.slot %ring[%c1] : !ring to !tile
    tl.store %x, %slot[%c0, %c64] : !tile
    gpu.return
  }
}
