// Rows that a copy gathers are loaded by the bulk copy engine where they are
// seen to be a box of the tensor (RowBox.h), and by threads elsewhere.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-assign-stages))' | FileCheck %s

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!image = memref<8x16x16x64xf16>
!tile = memref<32x64xf16, #gpu.address_space<workgroup>>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Two rows of an image: 32 positions are a part of a multiple of 32, whose
  // digits of 16 are rows and columns. What lies outside of the image does not
  // exist, nor does anything if a number says so.
  // CHECK-LABEL: gpu.func @patches(
  // CHECK:         tl.engine = "bulk"
  gpu.func @patches(%A: !image {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %position = arith.addi %start, %i : index
        %image = arith.divui %position, %c256 : index
        %inside = arith.remui %position, %c256 : index
        %row = arith.divui %inside, %c16 : index
        %y = arith.addi %row, %k : index
        %column = arith.remui %inside, %c16 : index
        %x = arith.subi %column, %c1 : index
        %known = arith.cmpi slt, %k, %c9 : index
        %below = arith.cmpi slt, %y, %c16 : index
        %right = arith.cmpi sge, %x, %c0 : index
        %two = arith.andi %below, %right : i1
        %all = arith.andi %known, %two : i1
        tl.places %image, %y, %x, %c0 if %all
      } : !image to !tile
    }
    gpu.return
  }

  // The same by shifts and masks, which round down as the engine's places do.
  // CHECK-LABEL: gpu.func @shifts_and_masks(
  // CHECK:         tl.engine = "bulk"
  gpu.func @shifts_and_masks(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %p = arith.addi %start, %i : index
        %y = arith.shrsi %p, %c4 : index
        %x = arith.andi %p, %c15 : index
        tl.places %c0, %y, %x, %c0
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // Positions that begin at a multiple of 24 go over the end of a row anywhere.
  // CHECK-LABEL: gpu.func @carried(
  // CHECK:         tl.engine = "groups"
  gpu.func @carried(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c24 : index
        %p = arith.addi %start, %i : index
        %y = arith.divui %p, %c16 : index
        %x = arith.remui %p, %c16 : index
        tl.places %c0, %y, %x, %c0
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // So do those that begin anywhere, but along the dimension that they are in
  // the engine counts on.
  // CHECK-LABEL: gpu.func @begins_anywhere(
  // CHECK:         tl.engine = "groups"
  gpu.func @begins_anywhere(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %p = arith.addi %m, %i : index
        %y = arith.divui %p, %c16 : index
        %x = arith.remui %p, %c16 : index
        tl.places %c0, %y, %x, %c0
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @begins_anywhere_along_a_row(
  // CHECK:         tl.engine = "bulk"
  gpu.func @begins_anywhere_along_a_row(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %x = arith.addi %m, %i : index
        tl.places %c0, %m, %x, %c0
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // Rows in another order than the tensor's.
  // CHECK-LABEL: gpu.func @columns_first(
  // CHECK:         tl.engine = "groups"
  gpu.func @columns_first(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %p = arith.addi %start, %i : index
        %y = arith.divui %i, %c16 : index
        %x = arith.remui %i, %c16 : index
        tl.places %c0, %x, %y, %c0
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // Every other pixel.
  // CHECK-LABEL: gpu.func @every_other(
  // CHECK:         tl.engine = "groups"
  gpu.func @every_other(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %p = arith.addi %start, %i : index
        %x = arith.muli %i, %c2 : index
        tl.places %c0, %b, %x, %c0
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // Each pixel twice.
  // CHECK-LABEL: gpu.func @twice(
  // CHECK:         tl.engine = "groups"
  gpu.func @twice(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %p = arith.addi %start, %i : index
        %x = arith.divui %i, %c2 : index
        tl.places %c0, %b, %x, %c0
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // The same pixels again and again.
  // CHECK-LABEL: gpu.func @again(
  // CHECK:         tl.engine = "groups"
  gpu.func @again(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %p = arith.addi %start, %i : index
        %x = arith.remui %p, %c16 : index
        tl.places %c0, %b, %x, %c0
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // A signed remainder of what may be negative is not what the engine counts.
  // CHECK-LABEL: gpu.func @signed(
  // CHECK:         tl.engine = "groups"
  gpu.func @signed(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %m, %c32 : index
        %p = arith.addi %start, %i : index
        %y = arith.divsi %p, %c16 : index
        %x = arith.remsi %p, %c16 : index
        tl.places %c0, %y, %x, %c0
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // Conditions that leave out rows inside of the tensor.
  // CHECK-LABEL: gpu.func @condition_inside(
  // CHECK:         tl.engine = "groups"
  gpu.func @condition_inside(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %p = arith.addi %start, %i : index
        %x = arith.addi %m, %i : index
        %c = arith.cmpi slt, %x, %c15 : index
        tl.places %c0, %b, %x, %c0 if %c
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @condition_on_another(
  // CHECK:         tl.engine = "groups"
  gpu.func @condition_on_another(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %p = arith.addi %start, %i : index
        %x = arith.addi %m, %i : index
        %c = arith.cmpi slt, %i, %c16 : index
        tl.places %c0, %b, %x, %c0 if %c
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // Rows that begin at other columns.
  // CHECK-LABEL: gpu.func @last_place(
  // CHECK:         tl.engine = "groups"
  gpu.func @last_place(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %p = arith.addi %start, %i : index
        %x = arith.muli %i, %c16 : index
        tl.places %c0, %b, %i, %x
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }

  // Rows that begin at no multiple of 16 bytes.
  // CHECK-LABEL: gpu.func @misaligned(
  // CHECK:         tl.engine = "groups"
  gpu.func @misaligned(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A to %s tile(32, 64) places {
      ^bb0(%i: index):
        %start = arith.muli %b, %c32 : index
        %p = arith.addi %start, %i : index
        %x = arith.addi %m, %i : index
        %z = arith.muli %k, %c4 : index
        tl.places %c0, %b, %x, %z
      } : memref<8x16x16x64xf16> to !tile
    }
    gpu.return
  }
}
