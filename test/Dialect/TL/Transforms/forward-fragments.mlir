// A fragment that a program stages is stored straight where it lies as the
// tensor does.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-forward-fragments))' | FileCheck %s

// Of 4 warps each holds 4 rows of 128 bytes, in pieces of 16.
#rows = #tl.fragment_layout<shape = [32, 32], thread = [8, 16] : [4, 32], value = [4, 2] : [1, 512]>
// Pieces of 8 bytes, as an accumulator's.
#pieces = #tl.fragment_layout<shape = [32, 32], thread = [16, 8] : [2, 32], value = [2, 4] : [1, 256]>
// Of each sector one half is held by another warp than the other.
#halves = #tl.fragment_layout<shape = [32, 32], thread = [32, 4] : [32, 8], value = [4, 2] : [1, 4]>
// Two threads hold each element.
#copies = #tl.fragment_layout<shape = [32, 32], thread = [2, 8, 8] : [0, 4, 32], value = [4, 4] : [1, 256]>

!tile = memref<32x32xf32, #gpu.address_space<workgroup>>
!fragment = memref<32x32xf32, #tl.fragment>
!tensor = memref<1024x1024xf32>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: gpu.func @staged(
  // CHECK-NOT:     workgroup
  // CHECK:         %[[F:.+]] = tl.alloc
  // CHECK-NOT:     tl.copy
  // CHECK:         gpu.barrier
  // CHECK-NEXT:    tl.copy %[[F]] to %{{.+}}[%{{.+}}, %{{.+}}] tile(32, 32) : memref<32x32xf32, #tl.fragment> to memref<1024x1024xf32>
  gpu.func @staged(%C: !tensor {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %c32 = arith.constant 32 : index
    %x = gpu.block_id x
    %i = arith.muli %x, %c32 : index
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#rows) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    gpu.barrier
    tl.copy %S to %C[%c32, %i] tile(32, 32) : !tile to !tensor
    gpu.return
  }

  // Numbers that the tile rounds are rounded by the store: the tensor's type is the tile's.
  // CHECK-LABEL: gpu.func @rounded(
  // CHECK-NOT:     workgroup
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(16, 64) : memref<16x64xf32, #tl.fragment> to memref<16x64xbf16>
  gpu.func @rounded(%C: memref<16x64xbf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %S = tl.alloc : memref<16x64xbf16, #gpu.address_space<workgroup>>
    %F = tl.alloc layout(#tl.fragment_layout<shape = [16, 64], thread = [8, 16] : [8, 64], value = [8] : [1]>) : memref<16x64xf32, #tl.fragment>
    tl.copy %F to %S tile(16, 64) : memref<16x64xf32, #tl.fragment> to memref<16x64xbf16, #gpu.address_space<workgroup>>
    tl.copy %S to %C tile(16, 64) : memref<16x64xbf16, #gpu.address_space<workgroup>> to memref<16x64xbf16>
    gpu.return
  }

  // What keeps the tile: pieces of 8 bytes, halves of sectors, copies of
  // elements, rows that are no multiple of 16 bytes, a place that is not, a
  // tensor of another type, a fragment that changes in between, a part of the
  // tile, another reader, a branch between.
  // CHECK-LABEL: gpu.func @pieces(
  // CHECK-COUNT-2: tl.copy
  gpu.func @pieces(%C: !tensor {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#pieces) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    tl.copy %S to %C tile(32, 32) : !tile to !tensor
    gpu.return
  }
  // CHECK-LABEL: gpu.func @halves(
  // CHECK-COUNT-2: tl.copy
  gpu.func @halves(%C: !tensor {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#halves) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    tl.copy %S to %C tile(32, 32) : !tile to !tensor
    gpu.return
  }
  // CHECK-LABEL: gpu.func @copies(
  // CHECK-COUNT-2: tl.copy
  gpu.func @copies(%C: !tensor {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#copies) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    tl.copy %S to %C tile(32, 32) : !tile to !tensor
    gpu.return
  }
  // CHECK-LABEL: gpu.func @odd_rows(
  // CHECK-COUNT-2: tl.copy
  gpu.func @odd_rows(%C: memref<1024x1023xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#rows) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    tl.copy %S to %C tile(32, 32) : !tile to memref<1024x1023xf32>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @odd_place(
  // CHECK-COUNT-2: tl.copy
  gpu.func @odd_place(%C: !tensor {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %x = gpu.block_id x
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#rows) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    tl.copy %S to %C[%x, %x] tile(32, 32) : !tile to !tensor
    gpu.return
  }
  // CHECK-LABEL: gpu.func @other_type(
  // CHECK-COUNT-2: tl.copy
  gpu.func @other_type(%C: memref<1024x1024xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#rows) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    tl.copy %S to %C tile(32, 32) : !tile to memref<1024x1024xf16>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @changed(
  // CHECK-COUNT-2: tl.copy
  gpu.func @changed(%C: !tensor {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %zero = arith.constant 0.0 : f32
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#rows) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    tl.fill %F, %zero : !fragment
    tl.copy %S to %C tile(32, 32) : !tile to !tensor
    gpu.return
  }
  // CHECK-LABEL: gpu.func @part(
  // CHECK-COUNT-2: tl.copy
  gpu.func @part(%C: !tensor {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#rows) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    tl.copy %S to %C tile(16, 32) : !tile to !tensor
    gpu.return
  }
  // CHECK-LABEL: gpu.func @read_again(
  // CHECK-COUNT-3: tl.copy
  gpu.func @read_again(%C: !tensor {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#rows) : !fragment
    tl.copy %F to %S tile(32, 32) : !fragment to !tile
    tl.copy %S to %C tile(32, 32) : !tile to !tensor
    tl.copy %S to %F tile(32, 32) : !tile to !fragment
    gpu.return
  }
  // CHECK-LABEL: gpu.func @branch(
  // CHECK-COUNT-2: tl.copy
  gpu.func @branch(%C: !tensor {tl.align = 16 : i64}, %c: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>} {
    %S = tl.alloc : !tile
    %F = tl.alloc layout(#rows) : !fragment
    scf.if %c {
      tl.copy %F to %S tile(32, 32) : !fragment to !tile
    }
    tl.copy %S to %C tile(32, 32) : !tile to !tensor
    gpu.return
  }
}
