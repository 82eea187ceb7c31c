// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts,tl-start-copies))' | FileCheck %s
// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tl-plan-gemms,tl-infer-layouts,tl-start-copies,tl-plan-shared-memory,tl-insert-sync,tl-verify-sync))' | FileCheck %s --check-prefix=SYNC

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @plain attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Two copies are under way at once, and the block waits where the first of them
  // is needed; so it does before the tensor is written.
  // CHECK-LABEL: gpu.func @plain
  // CHECK:         tl.copy %{{.+}} to %[[A:.+]] tile(64, 64) async :
  // CHECK-NEXT:    tl.copy %{{.+}} to %[[B:.+]] tile(64, 64) async :
  // CHECK-NEXT:    tl.copy %[[A]] to %{{.+}} tile(64, 64) :
  // CHECK:         gpu.return
  // SYNC-LABEL:  gpu.func @plain
  // SYNC:          tl.copy %{{.+}} async
  // SYNC-NEXT:     tl.copy %{{.+}} async
  // SYNC-NEXT:     tl.commit_copies
  // SYNC-NEXT:     tl.wait_copies 0
  // SYNC-NEXT:     gpu.barrier
  // SYNC-NEXT:     tl.copy
  // SYNC-NEXT:     gpu.barrier
  // SYNC-NEXT:     tl.copy %{{.+}} async
  // SYNC-NEXT:     tl.commit_copies
  // SYNC-NEXT:     tl.wait_copies 0
  // SYNC-NEXT:     gpu.barrier
  // SYNC-NEXT:     tl.copy
  gpu.func @plain(%A: memref<64x64xf16>, %B: memref<64x64xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    %c = tl.alloc : !tile
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.copy %A to %a tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %B to %b tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %a to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
    gpu.barrier
    tl.copy %B to %c tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %f to %B tile(64, 64) : memref<64x64xf16, #tl.fragment> to memref<64x64xf16>
    tl.copy %c to %A tile(64, 64) : !tile to memref<64x64xf16>
    tl.copy %b to %A tile(64, 64) : !tile to memref<64x64xf16>
    gpu.return
  }

  // What is converted goes by registers.
  // CHECK-LABEL: gpu.func @converted
  // CHECK-NOT:     async
  // CHECK:         gpu.return
  gpu.func @converted(%A: memref<64x64xf32>, %B: memref<64x64xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !tile
    tl.copy %A to %a tile(64, 64) : memref<64x64xf32> to !tile
    tl.copy %a to %B tile(64, 64) : !tile to memref<64x64xf16>
    gpu.return
  }

  // A release tells other blocks that the tensor has been read.
  // CHECK-LABEL: gpu.func @released
  // CHECK-NOT:     async
  // CHECK:         gpu.return
  gpu.func @released(%A: memref<64x64xf16>, %N: memref<1xi32>, %B: memref<64x64xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %one = arith.constant 1 : i32
    %a = tl.alloc : !tile
    tl.copy %A to %a tile(64, 64) : memref<64x64xf16> to !tile
    tl.parallel (%i) in (1) {
      %old = tl.atomic add %one, %N[%i] order(release) : memref<1xi32>
    }
    tl.copy %a to %B tile(64, 64) : !tile to memref<64x64xf16>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @moved attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // The second copy goes up to the first, and takes its arithmetic with it.
  // CHECK-LABEL: gpu.func @moved
  // CHECK:         scf.for %[[K:.+]] =
  // CHECK-NEXT:      tl.copy %[[A:.+]][%[[K]], %{{.+}}] to %{{.+}} async :
  // CHECK-NEXT:      %[[AT:.+]] = arith.muli %[[K]]
  // CHECK-NEXT:      tl.copy %[[B:.+]][%[[AT]], %{{.+}}] to %{{.+}} async :
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      tl.parallel
  gpu.func @moved(%A: memref<4096x64xf16>, %B: memref<4096x64xf16>, %C: memref<4096x64xf16>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    scf.for %k = %c0 to %n step %c1 {
      tl.copy %A[%k, %c0] to %a tile(64, 64) : memref<4096x64xf16> to !tile
      tl.copy %a to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
      tl.parallel (%i) in (64) {
        %x = tl.load %B[%i, %c0] : memref<4096x64xf16>
        tl.store %x, %C[%i, %c0] : memref<4096x64xf16>
      }
      %at = arith.muli %k, %c64 : index
      tl.copy %B[%at, %c0] to %b tile(64, 64) : memref<4096x64xf16> to !tile
      tl.copy %b to %C[%at, %c0] tile(64, 64) : !tile to memref<4096x64xf16>
    }
    gpu.return
  }

  // Not over what writes its tensor or touches its tile, and not over a barrier.
  // CHECK-LABEL: gpu.func @kept
  // CHECK:         tl.copy %{{.+}} to %[[A:.+]] tile(64, 64) async :
  // CHECK-NEXT:    tl.parallel
  // CHECK-NEXT:      tl.store
  // CHECK-NEXT:    }
  // CHECK-NEXT:    tl.copy %{{.+}} to %[[B:.+]] tile(64, 64) async :
  // CHECK-NEXT:    tl.copy %[[B]] to
  // CHECK-NEXT:    tl.copy %{{.+}} to %[[B]] tile(64, 64) async :
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy %{{.+}} to %{{.+}} tile(64, 64) async :
  gpu.func @kept(%A: memref<64x64xf16>, %B: memref<64x64xf16>, %C: memref<64x64xf16>, %x: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    %c = tl.alloc : !tile
    tl.copy %A to %a tile(64, 64) : memref<64x64xf16> to !tile
    tl.parallel (%i) in (64) {
      tl.store %x, %B[%i, %c0] : memref<64x64xf16>
    }
    tl.copy %B to %b tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %b to %C tile(64, 64) : !tile to memref<64x64xf16>
    tl.copy %A to %b tile(64, 64) : memref<64x64xf16> to !tile
    gpu.barrier
    tl.copy %A to %c tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %c to %C tile(64, 64) : !tile to memref<64x64xf16>
    tl.copy %a to %C tile(64, 64) : !tile to memref<64x64xf16>
    tl.copy %b to %C tile(64, 64) : !tile to memref<64x64xf16>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!A = memref<128x64xf16>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // Nobody reads the tile, but the block does not end before it is there.
  // SYNC-LABEL: gpu.func @nobody_reads(
  // SYNC:         tl.copy %{{.+}} to %{{.+}} tile(64, 64) async :
  // SYNC-NEXT:    tl.commit_copies
  // SYNC-NEXT:    tl.wait_copies 0
  // SYNC-NEXT:    gpu.return
  gpu.func @nobody_reads(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !tile
    tl.copy %A to %a tile(64, 64) : !A to !tile
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

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @turing attributes {tl.target = #tl.target<chip = "sm_75">} {
  // There is no `cp.async`.
  // CHECK-LABEL: gpu.func @no_engine
  // CHECK-NOT:     async
  // CHECK:         gpu.return
  gpu.func @no_engine(%A: memref<64x64xf16>, %B: memref<64x64xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !tile
    tl.copy %A to %a tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %a to %B tile(64, 64) : !tile to memref<64x64xf16>
    gpu.return
  }
}
