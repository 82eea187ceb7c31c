// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts,tl-start-copies,tl-plan-shared-memory,tl-insert-sync,tl-verify-sync))' --split-input-file | FileCheck %s

!A = memref<128x64xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!wide = memref<64x64xf32, #gpu.address_space<workgroup>>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // Both loads are under way at once, and one wait is for both.
  // CHECK-LABEL: gpu.func @two_loads(
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(64, 64) async :
  // CHECK-NEXT:    tl.copy %{{.+}} to %{{.+}} tile(64, 64) async :
  // CHECK-NEXT:    tl.commit_copies
  // CHECK-NEXT:    tl.wait_copies 0
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy %{{.+}} to %{{.+}} tile(64, 64) :
  gpu.func @two_loads(%A: !A {tl.align = 16 : i64}, %B: !A, %C: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    tl.copy %A to %a tile(64, 64) : !A to !tile
    tl.copy %B to %b tile(64, 64) : !A to !tile
    tl.copy %a to %C tile(64, 64) : !tile to !A
    tl.copy %b to %C tile(64, 64) : !tile to !A
    gpu.return
  }

  // What is read may be written again once the copy is complete.
  // CHECK-LABEL: gpu.func @source_is_written(
  // CHECK:         tl.copy %{{.+}} to %[[TILE:.+]] tile(64, 64) async :
  // CHECK-NEXT:    tl.commit_copies
  // CHECK-NEXT:    tl.wait_copies 0
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy %{{.+}} to %{{.+}} tile(64, 64) :
  gpu.func @source_is_written(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !tile
    %s = tl.alloc : !tile
    tl.copy %A to %a tile(64, 64) : !A to !tile
    tl.copy %s to %A tile(64, 64) : !tile to !A
    gpu.return
  }

  // Nobody reads the tile, but the block does not end before it is there.
  // CHECK-LABEL: gpu.func @nobody_reads(
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(64, 64) async :
  // CHECK-NEXT:    tl.commit_copies
  // CHECK-NEXT:    tl.wait_copies 0
  // CHECK-NEXT:    gpu.return
  gpu.func @nobody_reads(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !tile
    tl.copy %A to %a tile(64, 64) : !A to !tile
    gpu.return
  }

  // Conversions go through registers, and so do stores.
  // CHECK-LABEL: gpu.func @converts(
  // CHECK-NOT:     async
  // CHECK:         gpu.return
  gpu.func @converts(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !wide
    tl.copy %A to %a tile(64, 64) : !A to !wide
    tl.copy %a to %A tile(64, 64) : !wide to !A
    gpu.return
  }

  // A wait for this copy would be one for the groups of a pipe as well.
  // CHECK-LABEL: gpu.func @beside_groups(
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(64, 64) async :
  // CHECK-NEXT:    tl.commit_copies
  // CHECK-NEXT:    tl.copy %{{.+}} to %{{.+}} tile(64, 64) :
  gpu.func @beside_groups(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    tl.copy %A to %a tile(64, 64) async : !A to !tile
    tl.commit_copies
    tl.copy %A to %b tile(64, 64) : !A to !tile
    tl.wait_copies 0
    gpu.return
  }
}
