// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-gemms,tl-infer-layouts))' --split-input-file | FileCheck %s

!a = memref<128x64xf16, #gpu.address_space<workgroup>>
!b = memref<64x128xf16, #gpu.address_space<workgroup>>
!acc = memref<128x128xf32, #tl.fragment>

// On Hopper each warp group takes whole 64-row blocks, and the accumulator lies
// as the instruction leaves it.
gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: gpu.func @wgmma
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) : memref<128x64xf16
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) : memref<64x128xf16
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [128, 128], thread = [4, 8, 8] : [2, 128, 2048], value = [2, 2, 16] : [1, 1024, 8]>) : memref<128x128xf32, #tl.fragment>
  // CHECK:         tl.gemm {{.*}} plan(<wgmma, warps_m = 2, warps_n = 1>)
  gpu.func @wgmma() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    gpu.return
  }
}

// -----

!a = memref<128x64xf16, #gpu.address_space<workgroup>>
!b = memref<64x128xf16, #gpu.address_space<workgroup>>
!acc = memref<128x128xf32, #tl.fragment>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // Warps share the tile so that their parts are near to squares.
  // CHECK-LABEL: gpu.func @mma
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [128, 128], thread = [4, 8, 2, 2] : [2, 128, 8192, 64], value = [2, 2, 8, 4] : [1, 1024, 8, 2048]>) : memref<128x128xf32, #tl.fragment>
  // CHECK:         tl.gemm {{.*}} plan(<mma, warps_m = 2, warps_n = 2>)
  gpu.func @mma() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    gpu.return
  }
}

// -----

gpu.module @shared attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // The widest swizzle that divides the rows; none for one dimension, for odd
  // rows and for less than 8 of them.
  // CHECK-LABEL: gpu.func @swizzles
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) : memref<8x96xf32
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 64, chunk = 16>) : memref<8x48xf32
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 32>) : memref<2x8x32xi8
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 20>) : memref<8x20xf16
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) : memref<4x64xf16
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 256>) : memref<256xf16
  gpu.func @swizzles() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %0 = tl.alloc : memref<8x96xf32, #gpu.address_space<workgroup>>
    %1 = tl.alloc : memref<8x48xf32, #gpu.address_space<workgroup>>
    %2 = tl.alloc : memref<2x8x32xi8, #gpu.address_space<workgroup>>
    %3 = tl.alloc : memref<8x20xf16, #gpu.address_space<workgroup>>
    %4 = tl.alloc : memref<4x64xf16, #gpu.address_space<workgroup>>
    %5 = tl.alloc : memref<256xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // A given layout is kept.
  // CHECK-LABEL: gpu.func @given_layout
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 16>) : memref<64x64xf16
  gpu.func @given_layout() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %0 = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 16>) : memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf32, #tl.fragment>
!half = memref<64x64xf16, #tl.fragment>
!row = memref<64xf32, #tl.fragment>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @propagation attributes {tl.target = #tl.target<chip = "sm_80">} {
  // Fragments that nothing decides get vectors of 16 bytes along their rows;
  // a loop is spread like the fragment it reads.
  // CHECK-LABEL: gpu.func @default_layout
  // CHECK:         tl.alloc layout(#[[L:.+]]) : memref<64x64xf32, #tl.fragment>
  // CHECK:         tl.parallel (%{{.+}}, %{{.+}}) in (64, 64) layout(#[[L]])
  // CHECK:         tl.parallel (%{{.+}}) in (4096) layout(#tl.fragment_layout<shape = [4096], thread = [128] : [8], value = [8, 4] : [1, 1024]>)
  gpu.func @default_layout(%A: memref<4096xf16>, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : !tile
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %f[%i, %j] : !tile
    }
    tl.parallel (%i) in (4096) {
      tl.store %v, %A[%i] : memref<4096xf16>
    }
    gpu.return
  }

  // A gemm's layout goes through a copy, a loop and a reduction to everything
  // that is computed of it.
  // CHECK-LABEL: gpu.func @from_a_gemm
  // CHECK:         tl.alloc layout([[ACC:#tl.fragment_layout<.*>]]) : memref<64x64xf32, #tl.fragment>
  // CHECK:         tl.alloc layout([[ACC]]) : memref<64x64xf16, #tl.fragment>
  // CHECK:         tl.alloc layout([[ROW:#tl.fragment_layout<.*>]]) : memref<64xf32, #tl.fragment>
  // CHECK:         tl.alloc layout([[ROW]]) : memref<64xf32, #tl.fragment>
  // CHECK:         tl.parallel (%{{.+}}, %{{.+}}) in (64, 64) layout([[ACC]])
  gpu.func @from_a_gemm() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc : !s
    %acc = tl.alloc : !tile
    %copy = tl.alloc : !half
    %sum = tl.alloc : !row
    %scale = tl.alloc : !row
    tl.gemm %s, %s, %acc policy(full_row) : !s, !s, !tile
    tl.copy %acc to %copy tile(64, 64) : !tile to !half
    tl.reduce sum %acc to %sum dim(1) : !tile to !row
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %acc[%i, %j] : !tile
      %y = tl.load %scale[%i] : !row
      %z = arith.mulf %x, %y : f32
      tl.store %z, %acc[%i, %j] : !tile
    }
    gpu.return
  }

  // A copy passes layouts on in both directions.
  // CHECK-LABEL: gpu.func @backwards
  // CHECK:         tl.alloc layout([[ACC:#tl.fragment_layout<.*>]]) : memref<64x64xf16, #tl.fragment>
  // CHECK:         tl.alloc layout([[ACC]]) : memref<64x64xf32, #tl.fragment>
  gpu.func @backwards() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %init = tl.alloc : !half
    %acc = tl.alloc : !tile
    %s = tl.alloc : !s
    tl.copy %init to %acc tile(64, 64) : !half to !tile
    tl.gemm %s, %s, %acc : !s, !s, !tile
    gpu.return
  }

  // A loop over one column of a fragment lies by itself: those that hold the
  // column are few, and would do all of its work.
  // CHECK-LABEL: gpu.func @loop_over_a_column
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [33, 64], thread = [32] : [1], value = [2, 33] : [32, 64]>) : memref<33x33xf32
  // CHECK:         tl.parallel (%{{.+}}, %{{.+}}, %{{.+}}) in (33, 1, 33) layout(#tl.fragment_layout<shape = [33, 1, 64], thread = [32] : [1], value = [2, 33] : [32, 64]>)
  gpu.func @loop_over_a_column(%C: memref<33x33xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %f = tl.alloc : memref<33x33xf32, #tl.fragment>
    tl.parallel (%i, %j, %k) in (33, 1, 33) {
      %x = tl.load %f[%i, %j] : memref<33x33xf32, #tl.fragment>
      tl.store %x, %C[%i, %k] : memref<33x33xf32>
    }
    gpu.return
  }

  // A loop may index a fragment by its indices in another order.
  // CHECK-LABEL: gpu.func @transposed_loop
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [32, 64], thread = [16, 8] : [4, 64], value = [4, 4] : [1, 512]>) : memref<32x64xf32
  // CHECK:         tl.parallel (%{{.+}}, %{{.+}}) in (64, 32) layout(#tl.fragment_layout<shape = [64, 32], thread = [16, 8] : [128, 1], value = [4, 4] : [32, 8]>)
  gpu.func @transposed_loop() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : memref<32x64xf32, #tl.fragment>
    tl.parallel (%i, %j) in (64, 32) {
      %x = tl.load %f[%j, %i] : memref<32x64xf32, #tl.fragment>
    }
    gpu.return
  }
}

// -----

!x = memref<4x1024xf32, #tl.fragment>
!rows = memref<4xf32, #tl.fragment>

gpu.module @rows attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Rows of bf16 in memory are moved by eight elements, whatever the fragments between
  // them hold, and those that only compute lie as they do. What stands for a row says
  // nothing of its vectors.
  // CHECK-LABEL: gpu.func @narrow_in_memory
  // CHECK:         tl.alloc layout([[ROWS:#tl.fragment_layout<shape = \[4, 1024\], thread = \[128\] : \[8\], value = \[8, 4\] : \[1, 1024\]>]]) : memref<4x1024xf32
  // CHECK:         tl.alloc layout([[ROWS]]) : memref<4x1024xf32
  // CHECK:         tl.parallel (%{{.+}}, %{{.+}}) in (4, 1024) layout([[ROWS]])
  gpu.func @narrow_in_memory(%X: memref<4x1024xbf16>, %scale: memref<4xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %squares = tl.alloc : !x
    %x = tl.alloc : !x
    %sum = tl.alloc : !rows
    tl.copy %X to %x tile(4, 1024) : memref<4x1024xbf16> to !x
    tl.parallel (%i, %j) in (4, 1024) {
      %v = tl.load %x[%i, %j] : !x
      %s = tl.load %scale[%i] : memref<4xf32>
      %w = arith.mulf %v, %s : f32
      tl.store %w, %squares[%i, %j] : !x
    }
    tl.reduce sum %squares to %sum dim(1) : !x to !rows
    gpu.return
  }

  // The widest of what is moved decides: shorter vectors lie side by side as well.
  // CHECK-LABEL: gpu.func @wide_in_memory
  // CHECK:         tl.alloc layout(#tl.fragment_layout<{{.*}}value = [4, 2, 4] : [1, 512, 1024]>) : memref<4x1024xf32
  gpu.func @wide_in_memory(%X: memref<4x1024xbf16>, %Y: memref<4x1024xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.alloc : !x
    tl.copy %X to %x tile(4, 1024) : memref<4x1024xbf16> to !x
    tl.copy %x to %Y tile(4, 1024) : !x to memref<4x1024xf32>
    gpu.return
  }

  // Vectors are shorter where whole ones would leave threads without an element, and
  // have them do what others do.
  // CHECK-LABEL: gpu.func @small
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [1, 512], thread = [128] : [4], value = [4] : [1]>) : memref<1x512xbf16
  // CHECK:         tl.parallel (%{{.+}}) in (256) layout(#tl.fragment_layout<shape = [256], thread = [128] : [2], value = [2] : [1]>)
  gpu.func @small(%A: memref<256xf32>, %X: memref<1x512xbf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.alloc : memref<1x512xbf16, #tl.fragment>
    tl.copy %X to %x tile(1, 512) : memref<1x512xbf16> to memref<1x512xbf16, #tl.fragment>
    tl.parallel (%i) in (256) {
      %v = tl.load %A[%i] : memref<256xf32>
      tl.store %v, %A[%i] : memref<256xf32>
    }
    gpu.return
  }

  // Down the columns of a scan each thread has neighbours, and what is copied to lies
  // alike; a row is over several warps only where there are more warps than rows.
  // CHECK-LABEL: gpu.func @scans
  // CHECK-DAG:     tl.alloc layout(#tl.fragment_layout<shape = [64, 32], thread = [32, 4] : [1, 512], value = [16] : [32]>) : memref<64x32xf32
  // CHECK-DAG:     tl.alloc layout(#tl.fragment_layout<shape = [64, 32], thread = [32, 4] : [1, 512], value = [16] : [32]>) : memref<64x32xf16
  // CHECK-DAG:     tl.alloc layout(#tl.fragment_layout<shape = [1, 64], thread = [16, 8] : [4, 0], value = [4] : [1]>) : memref<1x64xf32
  gpu.func @scans() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.alloc : memref<64x32xf32, #tl.fragment>
    %sums = tl.alloc : memref<64x32xf32, #tl.fragment>
    %half = tl.alloc : memref<64x32xf16, #tl.fragment>
    %row = tl.alloc : memref<1x64xf32, #tl.fragment>
    tl.scan sum %x to %sums dim(0) : memref<64x32xf32, #tl.fragment>
    tl.copy %sums to %half tile(64, 32) : memref<64x32xf32, #tl.fragment> to memref<64x32xf16, #tl.fragment>
    tl.scan sum %row to %row dim(1) : memref<1x64xf32, #tl.fragment>
    gpu.return
  }

  // But a row that one warp holds is reduced without a barrier.
  // CHECK-LABEL: gpu.func @row_of_a_warp
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [1, 128], thread = [32, 4] : [4, 0], value = [4] : [1]>) : memref<1x128xf32
  gpu.func @row_of_a_warp(%A: memref<1x128xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.alloc : memref<1x128xf32, #tl.fragment>
    %sum = tl.alloc : memref<1xf32, #tl.fragment>
    tl.copy %A to %x tile(1, 128) : memref<1x128xf32> to memref<1x128xf32, #tl.fragment>
    tl.reduce sum %x to %sum dim(1) : memref<1x128xf32, #tl.fragment> to memref<1xf32, #tl.fragment>
    gpu.return
  }

  // Rows that are added up lie along a warp, if 32 bits for a lane are enough for that:
  // then lanes have columns of their own.
  // CHECK-LABEL: gpu.func @rows_added_up
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [16, 128], thread = [32, 4] : [4, 128], value = [4, 4] : [1, 512]>) : memref<16x128xi8
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [16, 64], thread = [16, 8] : [4, 64], value = [4, 2] : [1, 512]>) : memref<16x64xi8
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [64, 512], thread = [64, 2] : [8, 512], value = [8, 32] : [1, 1024]>) : memref<64x512xf16
  gpu.func @rows_added_up(%A: memref<16x128xi8>, %B: memref<16x64xi8>, %C: memref<64x512xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : memref<16x128xi8, #tl.fragment>
    %b = tl.alloc : memref<16x64xi8, #tl.fragment>
    %c = tl.alloc : memref<64x512xf16, #tl.fragment>
    %x = tl.alloc : memref<128xi8, #tl.fragment>
    %y = tl.alloc : memref<64xi8, #tl.fragment>
    %z = tl.alloc : memref<512xf16, #tl.fragment>
    tl.copy %A to %a tile(16, 128) : memref<16x128xi8> to memref<16x128xi8, #tl.fragment>
    tl.copy %B to %b tile(16, 64) : memref<16x64xi8> to memref<16x64xi8, #tl.fragment>
    tl.copy %C to %c tile(64, 512) : memref<64x512xf16> to memref<64x512xf16, #tl.fragment>
    tl.reduce sum %a to %x dim(0) : memref<16x128xi8, #tl.fragment> to memref<128xi8, #tl.fragment>
    tl.reduce sum %b to %y dim(0) : memref<16x64xi8, #tl.fragment> to memref<64xi8, #tl.fragment>
    tl.reduce sum %c to %z dim(0) : memref<64x512xf16, #tl.fragment> to memref<512xf16, #tl.fragment>
    gpu.return
  }

  // And no lane has two elements of it while another one has none.
  // CHECK-LABEL: gpu.func @small_rows
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [4, 4], thread = [4, 4, 2] : [1, 4, 0], value = [] : []>) : memref<4x4xf32
  gpu.func @small_rows(%A: memref<4x4xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc : memref<4x4xf32, #tl.fragment>
    %sum = tl.alloc : memref<4xf32, #tl.fragment>
    tl.copy %A to %x tile(4, 4) : memref<4x4xf32> to memref<4x4xf32, #tl.fragment>
    tl.reduce sum %x to %sum dim(1) : memref<4x4xf32, #tl.fragment> to memref<4xf32, #tl.fragment>
    gpu.return
  }
}

// -----

!tile = memref<64x64xbf16, #gpu.address_space<workgroup>>

gpu.module @banks attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // A transposition of a tile in shared memory has the lanes of a warp side by side in
  // the tile that is not accessed by vectors; those of vectors are in other banks then
  // by the swizzle. Otherwise lanes lie along the rows.
  // CHECK-LABEL: gpu.func @transposition
  // CHECK:         tl.parallel (%{{.+}}, %{{.+}}) in (64, 64) layout(#tl.fragment_layout<shape = [64, 64], thread = [64, 4] : [64, 8], value = [8, 2] : [1, 32]>)
  // CHECK:         tl.parallel (%{{.+}}, %{{.+}}) in (64, 64) layout(#tl.fragment_layout<shape = [64, 64], thread = [8, 32] : [8, 64], value = [8, 2] : [1, 2048]>)
  gpu.func @transposition() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %a[%i, %j] : !tile
      tl.store %x, %b[%j, %i] : !tile
    }
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %a[%i, %j] : !tile
      tl.store %x, %b[%i, %j] : !tile
    }
    gpu.return
  }
}

// -----

!acc = memref<64x128xf32, #tl.fragment>

gpu.module @digits attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // A tile of another shape, each of whose columns is two indices of the loop: the
  // loop lies as the accumulator does, and so does what its indices pick.
  // CHECK-LABEL: gpu.func @reshaped
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [64, 128], thread = [4, 8, 4] : [2, 128, 2048], value = [2, 2, 16] : [1, 1024, 8]>) : memref<64x128xf32
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [4, 32], thread = [4, 32] : [2, 0], value = [2, 4, 4] : [1, 8, 32]>) : memref<4x32xf32
  // CHECK:         tl.parallel (%{{.+}}, %{{.+}}, %{{.+}}) in (64, 4, 32) layout(#tl.fragment_layout<shape = [64, 4, 32], thread = [4, 8, 4] : [2, 128, 2048], value = [2, 2, 4, 4] : [1, 1024, 8, 32]>)
  gpu.func @reshaped(%W: memref<4x32xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %c128 = arith.constant 128 : index
    %a = tl.alloc : memref<64x64xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<64x128xbf16, #gpu.address_space<workgroup>>
    %s = tl.alloc : !acc
    %w = tl.alloc : memref<4x32xf32, #tl.fragment>
    tl.copy %W to %w tile(4, 32) : memref<4x32xf32> to memref<4x32xf32, #tl.fragment>
    tl.gemm %a, %b, %s plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<64x64xbf16, #gpu.address_space<workgroup>>, memref<64x128xbf16, #gpu.address_space<workgroup>>, !acc
    tl.parallel (%i, %q, %h) in (64, 4, 32) {
      %0 = arith.muli %i, %c4 : index
      %1 = arith.addi %0, %q : index
      %2 = arith.muli %1, %c32 : index
      %3 = arith.addi %2, %h : index
      %column = arith.remui %3, %c128 : index
      %row = arith.divui %3, %c128 : index
      %x = tl.load %s[%row, %column] : !acc
      %y = tl.load %w[%q, %h] : memref<4x32xf32, #tl.fragment>
      %z = arith.mulf %x, %y : f32
      tl.store %z, %s[%row, %column] : !acc
    }
    gpu.return
  }

  // What is no number with indices as its digits says nothing of layouts: the loop
  // has its own.
  // CHECK-LABEL: gpu.func @overlapping
  // CHECK:         tl.parallel (%{{.+}}, %{{.+}}, %{{.+}}) in (64, 4, 16) layout(#tl.fragment_layout<shape = [64, 4, 16], thread = [4, 4, 8] : [4, 16, 64], value = [4, 8] : [1, 512]>)
  gpu.func @overlapping() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c32 = arith.constant 32 : index
    %a = tl.alloc : memref<64x64xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<64x128xbf16, #gpu.address_space<workgroup>>
    %s = tl.alloc : !acc
    tl.gemm %a, %b, %s plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<64x64xbf16, #gpu.address_space<workgroup>>, memref<64x128xbf16, #gpu.address_space<workgroup>>, !acc
    tl.parallel (%i, %q, %h) in (64, 4, 16) {
      %2 = arith.muli %q, %c32 : index
      %column = arith.addi %2, %h : index
      %x = tl.load %s[%i, %column] : !acc
      %y = arith.addf %x, %x : f32
      tl.store %y, %s[%i, %column] : !acc
    }
    gpu.return
  }

  // A loop that reads one line after the other has its part of all of them in each
  // thread; so has what it writes.
  // CHECK-LABEL: gpu.func @lines
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [2, 256], thread = [128] : [2], value = [2, 2] : [1, 256]>)
  // CHECK:         tl.parallel
  gpu.func @lines(%X: memref<2x256xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = tl.alloc : memref<2x256xf32, #tl.fragment>
    %y = tl.alloc : memref<2x256xf32, #tl.fragment>
    tl.copy %X to %x tile(2, 256) : memref<2x256xf32> to memref<2x256xf32, #tl.fragment>
    tl.parallel (%i, %j) in (2, 256) {
      %a = tl.load %x[%c0, %j] : memref<2x256xf32, #tl.fragment>
      %b = tl.load %x[%c1, %j] : memref<2x256xf32, #tl.fragment>
      %c = arith.addf %a, %b : f32
      tl.store %c, %y[%i, %j] : memref<2x256xf32, #tl.fragment>
    }
    tl.copy %y to %X tile(2, 256) : memref<2x256xf32, #tl.fragment> to memref<2x256xf32>
    gpu.return
  }
}

// -----

!rows = memref<4x512xf16, #gpu.address_space<workgroup>>
!odd = memref<3x260xf16, #gpu.address_space<workgroup>>
!regs = memref<4x512xf32, #tl.fragment>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Boxes of the bulk copy engine have 256 columns at most: wider tiles that a pipelined loop fills are panels, if
  // these begin where the engine can write, and nothing but copies touches them.
  // CHECK-LABEL: gpu.func @panels
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 256>) : memref<4x512xf16
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 260>) : memref<3x260xf16
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 512>) : memref<4x512xf16
  // CHECK:         tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 512>) : memref<4x512xf16
  gpu.func @panels(%A: memref<4x4096xf16>, %B: memref<3x260xf16>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c512 = arith.constant 512 : index
    %wide = tl.alloc : !rows
    %odd = tl.alloc : !odd
    %once = tl.alloc : !rows
    %seen = tl.alloc : !rows
    %f = tl.alloc : !regs
    tl.pipelined %k = %c0 to %n stages(2) {
      %at = arith.muli %k, %c512 : index
      tl.copy %A[%c0, %at] to %wide tile(4, 512) : memref<4x4096xf16> to !rows
      tl.copy %B to %odd tile(3, 260) : memref<3x260xf16> to !odd
      tl.copy %A[%c0, %at] to %seen tile(4, 512) : memref<4x4096xf16> to !rows
      tl.copy %wide to %f tile(4, 512) : !rows to !regs
      %x = tl.load %seen[%c0, %k] : !rows
    }
    tl.copy %A[%c0, %c0] to %once tile(4, 512) : memref<4x4096xf16> to !rows
    gpu.return
  }
}
