// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-assign-stages))' --remarks-filter='tl-.*' --verify-diagnostics --split-input-file | FileCheck %s

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// Blocks side by side along x have the same rows of A: they fetch these
// together, for which a thread of its own starts all copies.
// CHECK-LABEL: gpu.func @side_by_side(
// CHECK-SAME:    tl.specialize
// CHECK:         tl.copy %{{.+}} to %{{.+}} tile(64, 64) multicast {tl.ahead} :
// CHECK:         tl.copy %{{.+}} to %{{.+}} tile(64, 64) {tl.ahead} :
gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @side_by_side(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %y = gpu.block_id y
    %row = arith.muli %y, %c64 : index
    %column = arith.muli %x, %c64 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%row, %kk] to %a tile(64, 64) : !A to !tile
      // expected-remark @below {{the blocks of a cluster do not fetch the tile together: where it lies depends on the block's place in its cluster}}
      tl.copy %A[%kk, %column] to %b tile(64, 64) : !A to !tile
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// The coordinate of a cluster is the same in all of its blocks, and so is what
// is loaded from there.
// CHECK-LABEL: gpu.func @cluster_coordinate(
// CHECK:         tl.copy %{{.+}} to %{{.+}} tile(64, 64) multicast {tl.ahead} :
gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @cluster_coordinate(%A: !A {tl.align = 16 : i64}, %counts: memref<64xi32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %pair = arith.divui %x, %c4 : index
    %raw = tl.load %counts[%pair] : memref<64xi32>
    %n = arith.index_cast %raw : i32 to index
    %row = arith.muli %pair, %c64 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%row, %kk] to %a tile(64, 64) : !A to !tile
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// How often a block copies must be the same in all blocks of the cluster.
// CHECK-LABEL: gpu.func @own_count(
// CHECK-NOT:     multicast
gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @own_count(%A: !A {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %x stages(3) {
      %kk = arith.muli %k, %c64 : index
      // expected-remark @below {{do not fetch the tile together: how often it is copied depends on the block's place in its cluster}}
      tl.copy %A[%c0, %kk] to %a tile(64, 64) : !A to !tile
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// A tile of 8 KB has no 16 parts of 1024 bytes.
// CHECK-LABEL: gpu.func @small_parts(
// CHECK-NOT:     multicast
gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @small_parts(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 16, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      // expected-remark @below {{do not fetch the tile together: its tile has no 16 equal parts of whole units of the swizzle, 1024 bytes}}
      tl.copy %A[%c0, %kk] to %a tile(64, 64) : !A to !tile
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// Ordinary reads of a slot would have to be over in the other blocks too.
// CHECK-LABEL: gpu.func @ordinary_reads(
// CHECK-NOT:     multicast
gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @ordinary_reads(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      // expected-remark @below {{do not fetch the tile together: other operations than products of warp groups read what the loop copies}}
      tl.copy %A[%c0, %kk] to %a tile(64, 64) : !A to !tile
      tl.copy %a to %B[%c0, %kk] tile(64, 64) : !tile to !A
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// What a block writes itself, the others need not see.
// CHECK-LABEL: gpu.func @written(
// CHECK-NOT:     multicast
gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @written(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %one = arith.constant 1.0 : f16
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.store %one, %A[%c0, %c0] : !A
    // expected-remark @below {{do not fetch the tile together: the kernel writes a tensor, which it also copies from or finds its way by}}
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(64, 64) : !A to !tile
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }
}
