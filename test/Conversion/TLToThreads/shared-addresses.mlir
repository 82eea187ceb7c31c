// Where elements of shared tiles are: what of an address all elements of a thread have in
// common is computed once.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops,canonicalize,cse))' | FileCheck %s

!tile = memref<64x128xf16, #gpu.address_space<workgroup>>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // The thread's own part is swizzled once. Elements four columns further are eight bytes
  // further; those of the next 16-byte unit differ by one exclusive or; those of the next
  // panel, and of rows eight further, by a constant.
  // CHECK-LABEL: gpu.func @swizzled
  // CHECK:         %[[OWN:.+]] = arith.xori %{{.+}}, %{{.+}} : index
  // CHECK-NOT:     arith.xori
  // CHECK:         %[[A:.+]] = arith.index_cast %[[OWN]] : index to i32
  // CHECK:         llvm.getelementptr %{{.+}}[%[[A]]]
  // CHECK:         arith.addi %[[OWN]], %c8 overflow<nsw>
  // CHECK:         %[[UNIT:.+]] = arith.xori %[[OWN]], %c16 : index
  // CHECK:         arith.addi %[[OWN]], %c8192 overflow<nsw>
  // CHECK:         arith.addi %[[OWN]], %c1024 overflow<nsw>
  // CHECK-NOT:     arith.xori
  // CHECK:         gpu.return
  gpu.func @swizzled(%f: f16) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    tl.parallel (%i, %j) in (8, 4) layout(#tl.fragment_layout<shape = [8, 4], thread = [4, 8] : [1, 4], value = [] : []>) {
      %next = arith.addi %j, %c4 : index
      %unit = arith.addi %j, %c8 : index
      %panel = arith.addi %j, %c64 : index
      %row = arith.addi %i, %c8 : index
      tl.store %f, %s[%i, %j] : !tile
      tl.store %f, %s[%i, %next] : !tile
      tl.store %f, %s[%i, %unit] : !tile
      tl.store %f, %s[%i, %panel] : !tile
      tl.store %f, %s[%row, %j] : !tile
    }
    gpu.return
  }

  // Numbers that may have a bit in common are added first.
  // CHECK-LABEL: gpu.func @carries
  // CHECK:         %[[SUM:.+]] = arith.addi %{{.+}}, %c6 : index
  // CHECK:         arith.divui %[[SUM]], %c64 : index
  // CHECK:         arith.xori
  // CHECK-NOT:     arith.xori
  gpu.func @carries(%f: f16) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %c6 = arith.constant 6 : index
    tl.parallel (%i, %j) in (8, 4) layout(#tl.fragment_layout<shape = [8, 4], thread = [4, 8] : [1, 4], value = [] : []>) {
      %next = arith.addi %j, %c6 : index
      tl.store %f, %s[%i, %next] : !tile
    }
    gpu.return
  }

  // So are digits of a sum: of 4 t + 1 they are those of 4 t, and one, while 5 t + 1 may carry.
  // CHECK-LABEL: gpu.func @digits
  // CHECK:         %[[QUAD:.+]] = arith.muli %{{.+}}, %c4
  // CHECK:         arith.remui %[[QUAD]], %c128
  // CHECK:         %[[PLACE:.+]] = arith.xori
  // CHECK:         arith.addi %[[PLACE]], %c2 overflow<nsw>
  // CHECK:         arith.addi %[[PLACE]], %c6 overflow<nsw>
  // CHECK:         %[[FIVE:.+]] = arith.muli %{{.+}}, %c5
  // CHECK:         %[[SUM:.+]] = arith.addi %[[FIVE]], %c1
  // CHECK:         arith.remui %[[SUM]], %c128
  // CHECK:         arith.xori
  // CHECK:         gpu.return
  gpu.func @digits(%f: f16) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c128 = arith.constant 128 : index
    tl.parallel (%t) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) {
      %quad = arith.muli %t, %c4 : index
      %second = arith.addi %quad, %c1 : index
      %row = arith.divui %second, %c128 : index
      %column = arith.remui %second, %c128 : index
      tl.store %f, %s[%row, %column] : !tile
      %fourth = arith.addi %quad, %c3 : index
      %row4 = arith.divui %fourth, %c128 : index
      %column4 = arith.remui %fourth, %c128 : index
      tl.store %f, %s[%row4, %column4] : !tile
      %five = arith.muli %t, %c5 : index
      %odd = arith.addi %five, %c1 : index
      %oddRow = arith.divui %odd, %c128 : index
      %oddColumn = arith.remui %odd, %c128 : index
      tl.store %f, %s[%oddRow, %oddColumn] : !tile
    }
    gpu.return
  }

  // Of an extent that only a launch knows any bit may be there: it may carry.
  // CHECK-LABEL: gpu.func @extents(
  // CHECK:         %[[N:.+]] = arith.index_cast %{{.+}} : i64 to index
  // CHECK:         %[[NEXT:.+]] = arith.addi %[[N]], %c4
  // CHECK:         arith.divui %[[NEXT]], %c64
  // CHECK:         gpu.return
  gpu.func @extents(%A: memref<4x?xf16>, %f: f16) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %n = memref.dim %A, %c1 : memref<4x?xf16>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) {
      %next = arith.addi %n, %c4 : index
      tl.store %f, %s[%i, %next] : !tile
    }
    gpu.return
  }
}
