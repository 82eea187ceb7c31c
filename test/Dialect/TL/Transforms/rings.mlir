// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-stage-stores))' | FileCheck %s --check-prefix=STAGE
// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-stage-stores,tl-plan-gemms,tl-infer-layouts,tl-stage-fragments,tl-mark-bulk-stores,tl-assign-stages))' | FileCheck %s --check-prefix=ASSIGN
// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-stage-stores,tl-plan-gemms,tl-infer-layouts,tl-stage-fragments,tl-mark-bulk-stores,tl-assign-stages,tl-expand-pipeline,tl-round-factors,tl-overlap-gemms,tl-specialize-warps,tl-lower-pipes,tl-plan-shared-memory))' | FileCheck %s --check-prefix=PLAN

// How many rings there are is counted where stores are staged and where roles are
// chosen, and memory is planned for as many: no kernel is refused for a tile, or
// for a thread, that it can do without. A block has 232,448 bytes.

!A = memref<4096x4096xbf16>
!F = memref<4096x4096xf32>
!tile = memref<64x128xbf16, #gpu.address_space<workgroup>>
!rows = memref<128x128xbf16, #gpu.address_space<workgroup>>
!acc = memref<128x128xf32, #tl.fragment>
!s = memref<128x64xf32, #tl.fragment>
!p = memref<128x64xbf16, #tl.fragment>
!fa = memref<128x32xf32, #gpu.address_space<workgroup>>
!fb = memref<256x32xf32, #gpu.address_space<workgroup>>
!wide = memref<128x256xf32, #tl.fragment>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Two loops whose second product is done late have a ring for each tile in common, so that the result goes through
  // shared memory.
  // STAGE-LABEL:  gpu.func @both_late(
  // STAGE-NEXT:     tl.alloc : memref<128x128xf32, #gpu.address_space<workgroup>>
  // ASSIGN-LABEL: gpu.func @both_late(
  // ASSIGN-COUNT-2: tl.delayed
  gpu.func @both_late(%A: !A {tl.align = 16 : i64}, %C: !F {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %q = tl.alloc : !rows
    %r = tl.alloc : memref<64x64xbf16, #gpu.address_space<workgroup>>
    %k = tl.alloc : !tile
    %v = tl.alloc : !tile
    %s = tl.alloc : !s
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    tl.copy %A[%c0, %c0] to %r tile(64, 64) : !A to memref<64x64xbf16, #gpu.address_space<workgroup>>
    scf.for %t = %c0 to %n step %c128 {
      tl.copy %A[%t, %c0] to %q tile(128, 128) : !A to !rows
      tl.fill %o, %zero : !acc
      tl.pipelined %i = %c0 to %n stages(2) {
        %ii = arith.muli %i, %c64 : index
        tl.copy %A[%ii, %c0] to %k tile(64, 128) : !A to !tile
        tl.copy %A[%ii, %c128] to %v tile(64, 128) : !A to !tile
        tl.fill %s, %zero : !s
        tl.gemm %q, %k, %s transpose_b policy(full_row) : !rows, !tile, !s
        tl.copy %s to %p tile(128, 64) : !s to !p
        tl.gemm %p, %v, %o policy(full_row) : !p, !tile, !acc
      }
      tl.pipelined %i = %c0 to %n stages(2) {
        %ii = arith.muli %i, %c64 : index
        tl.copy %A[%ii, %c64] to %k tile(64, 128) : !A to !tile
        tl.copy %A[%ii, %c128] to %v tile(64, 128) : !A to !tile
        tl.fill %s, %zero : !s
        tl.gemm %q, %k, %s transpose_b policy(full_row) : !rows, !tile, !s
        tl.copy %s to %p tile(128, 64) : !s to !p
        tl.gemm %p, %v, %o policy(full_row) : !p, !tile, !acc
      }
      tl.copy %o to %C[%t, %c0] tile(128, 128) : !acc to !F
      tl.copy %r to %A[%t, %c0] tile(64, 64) : memref<64x64xbf16, #gpu.address_space<workgroup>> to !A
    }
    gpu.return
  }

  // What the second loop computes after its last product is not done late: its rings are its own, and leave no room.
  // STAGE-LABEL:  gpu.func @one_late(
  // STAGE-NOT:      memref<128x128xf32, #gpu.address_space<workgroup>>
  // ASSIGN-LABEL: gpu.func @one_late(
  // ASSIGN:         tl.delayed
  // ASSIGN-NOT:     tl.delayed
  gpu.func @one_late(%A: !A {tl.align = 16 : i64}, %C: !F {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %q = tl.alloc : !rows
    %r = tl.alloc : memref<64x64xbf16, #gpu.address_space<workgroup>>
    %k = tl.alloc : !tile
    %v = tl.alloc : !tile
    %s = tl.alloc : !s
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    %sum = tl.alloc : memref<128xf32, #tl.fragment>
    tl.fill %sum, %zero : memref<128xf32, #tl.fragment>
    tl.copy %A[%c0, %c0] to %r tile(64, 64) : !A to memref<64x64xbf16, #gpu.address_space<workgroup>>
    scf.for %t = %c0 to %n step %c128 {
      tl.copy %A[%t, %c0] to %q tile(128, 128) : !A to !rows
      tl.fill %o, %zero : !acc
      tl.pipelined %i = %c0 to %n stages(2) {
        %ii = arith.muli %i, %c64 : index
        tl.copy %A[%ii, %c0] to %k tile(64, 128) : !A to !tile
        tl.copy %A[%ii, %c128] to %v tile(64, 128) : !A to !tile
        tl.fill %s, %zero : !s
        tl.gemm %q, %k, %s transpose_b policy(full_row) : !rows, !tile, !s
        tl.copy %s to %p tile(128, 64) : !s to !p
        tl.gemm %p, %v, %o policy(full_row) : !p, !tile, !acc
      }
      tl.pipelined %i = %c0 to %n stages(2) {
        %ii = arith.muli %i, %c64 : index
        tl.copy %A[%ii, %c64] to %k tile(64, 128) : !A to !tile
        tl.copy %A[%ii, %c128] to %v tile(64, 128) : !A to !tile
        tl.fill %s, %zero : !s
        tl.gemm %q, %k, %s transpose_b policy(full_row) : !rows, !tile, !s
        tl.copy %s to %p tile(128, 64) : !s to !p
        tl.gemm %p, %v, %o policy(full_row) : !p, !tile, !acc
        tl.reduce sum %o to %sum dim(1) accumulate : !acc to memref<128xf32, #tl.fragment>
      }
      tl.copy %o to %C[%t, %c0] tile(128, 128) : !acc to !F
      tl.copy %r to %A[%t, %c0] tile(64, 64) : memref<64x64xbf16, #gpu.address_space<workgroup>> to !A
    }
    gpu.return
  }

  // Loops over tiles of float32 that products alone read have 147,456 bytes of rings in common, which a thread of its own
  // fills.
  // ASSIGN-LABEL: gpu.func @both_rounded(
  // ASSIGN-SAME:    tl.specialize
  // PLAN-LABEL:   gpu.func @both_rounded(
  // PLAN:           tl.role
  gpu.func @both_rounded(%A: !F {tl.align = 16 : i64}, %C: !F {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %a = tl.alloc : !fa
    %b = tl.alloc : !fb
    %acc = tl.alloc : !wide
    scf.for %t = %c0 to %n step %c32 {
      tl.pipelined %k = %c0 to %n stages(3) {
        %kk = arith.muli %k, %c32 : index
        tl.copy %A[%t, %kk] to %a tile(128, 32) : !F to !fa
        tl.copy %A[%c0, %kk] to %b tile(256, 32) : !F to !fb
        tl.gemm %a, %b, %acc transpose_b : !fa, !fb, !wide
      }
    }
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c32 : index
      tl.copy %A[%c32, %kk] to %a tile(128, 32) : !F to !fa
      tl.copy %A[%c32, %kk] to %b tile(256, 32) : !F to !fb
      tl.gemm %a, %b, %acc transpose_b : !fa, !fb, !wide
    }
    gpu.return
  }

  // With another reader in one of them the engine must not round there. As much again is not there while the other rings
  // are filled.
  // ASSIGN-LABEL: gpu.func @one_rounded(
  // ASSIGN-NOT:     tl.specialize
  // ASSIGN:         gpu.return
  // PLAN-LABEL:   gpu.func @one_rounded(
  // PLAN-NOT:       tl.role
  gpu.func @one_rounded(%A: !F {tl.align = 16 : i64}, %C: !F {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %a = tl.alloc : !fa
    %b = tl.alloc : !fb
    %acc = tl.alloc : !wide
    scf.for %t = %c0 to %n step %c32 {
      tl.pipelined %k = %c0 to %n stages(3) {
        %kk = arith.muli %k, %c32 : index
        tl.copy %A[%t, %kk] to %a tile(128, 32) : !F to !fa
        tl.copy %A[%c0, %kk] to %b tile(256, 32) : !F to !fb
        tl.gemm %a, %b, %acc transpose_b : !fa, !fb, !wide
      }
    }
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c32 : index
      tl.copy %A[%c32, %kk] to %a tile(128, 32) : !F to !fa
      tl.copy %A[%c32, %kk] to %b tile(256, 32) : !F to !fb
      tl.gemm %a, %b, %acc transpose_b : !fa, !fb, !wide
      tl.copy %b to %C[%kk, %c0] tile(256, 32) : !fb to !F
    }
    gpu.return
  }

  // Five slots of 32,768 bytes would leave room for the result, but not if the rounded copy of the factor that another
  // statement reads lies beside both, as it may.
  // STAGE-LABEL:  gpu.func @copied(
  // STAGE-NOT:      memref<128x128xf32, #gpu.address_space<workgroup>>
  // STAGE:          gpu.return
  // PLAN-LABEL:   gpu.func @copied(
  // PLAN:           memref<5x128x32xf32, #gpu.address_space<workgroup>>
  gpu.func @copied(%A: !F {tl.align = 16 : i64}, %C: !F {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c128 = arith.constant 128 : index
    %a = tl.alloc : !fa
    %b = tl.alloc : !fa
    %acc = tl.alloc : !acc
    scf.for %t = %c0 to %n step %c128 {
      tl.pipelined %k = %c0 to %n stages(5) {
        %kk = arith.muli %k, %c32 : index
        tl.copy %A[%t, %kk] to %a tile(128, 32) : !F to !fa
        tl.copy %A[%c0, %kk] to %b tile(128, 32) : !F to !fa
        tl.gemm %a, %b, %acc transpose_b : !fa, !fa, !acc
        tl.copy %b to %C[%c0, %kk] tile(128, 32) : !fa to !F
      }
      tl.copy %acc to %C[%t, %c0] tile(128, 128) : !acc to !F
    }
    gpu.return
  }
}
