// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts))' --remarks-filter='tl-.*' --verify-diagnostics --split-input-file

// expected-error @below {{has no target: run `tl-attach-target` first}}
gpu.module @no_target {
}

// -----

!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// Two gemms want the accumulator spread in two ways.
gpu.module @two_gemms attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc : !s
    // expected-error @below {{needs two different layouts; copy it into a second fragment through shared memory}}
    %acc = tl.alloc : !acc
    // expected-note @below {{this needs shape=[64, 64]}}
    tl.gemm %s, %s, %acc policy(full_row) : !s, !s, !acc
    // expected-note @below {{this needs shape=[64, 64]}}
    tl.gemm %s, %s, %acc policy(full_col) : !s, !s, !acc
    gpu.return
  }
}

// -----

!tile = memref<64x64xf32, #tl.fragment>
!row = memref<64xf32, #tl.fragment>

// A vector cannot lie along the rows and the columns of one tile.
gpu.module @rows_and_columns attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : !tile
    // expected-error @below {{needs two different layouts}}
    %r = tl.alloc : !row
    // expected-note @below {{this needs shape=[64]}}
    tl.reduce sum %f to %r dim(1) : !tile to !row
    // expected-note @below {{this needs shape=[64]}}
    tl.reduce sum %f to %r dim(0) : !tile to !row
    gpu.return
  }
}

// -----

!tile = memref<64x64xf32, #tl.fragment>

// An element is held by the thread of its own position, and by no other.
gpu.module @shifted_index attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c1 = arith.constant 1 : index
    %f = tl.alloc : !tile
    tl.parallel (%i, %j) in (64, 63) {
      %k = arith.addi %j, %c1 : index
      // expected-error @below {{expects a fragment to be indexed by the parallel loop's own indices, over its whole extents}}
      %x = tl.load %f[%i, %k] : !tile
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf32, #tl.fragment>

gpu.module @part_of_the_extents attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel(%v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : !tile
    tl.parallel (%i, %j) in (64, 32) {
      // expected-error @below {{expects a fragment to be indexed by the parallel loop's own indices, over its whole extents}}
      tl.store %v, %f[%i, %j] : !tile
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf32, #tl.fragment>

gpu.module @part_of_a_fragment attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel(%A: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : !tile
    // expected-error @below {{'tl.copy' op expects to copy a fragment as a whole}}
    tl.copy %f to %A tile(32, 64) : !tile to memref<64x64xf32>
    gpu.return
  }
}

// -----

!i8 = memref<64x64xi8, #gpu.address_space<workgroup>>
!i32 = memref<64x64xi32, #tl.fragment>
!f64 = memref<64x64xf64, #gpu.address_space<workgroup>>
!f64acc = memref<64x64xf64, #tl.fragment>
!f16 = memref<64x64xf16, #gpu.address_space<workgroup>>
!f32acc = memref<64x64xf32, #tl.fragment>
!f16odd = memref<64x24xf16, #gpu.address_space<workgroup>>
!f16few = memref<32x64xf16, #gpu.address_space<workgroup>>
!f32few = memref<32x64xf32, #tl.fragment>
!f16tiny = memref<20x20xf16, #gpu.address_space<workgroup>>
!f32tiny = memref<20x20xf32, #tl.fragment>

// Why a gemm does not use the fastest instruction that the chip has.
gpu.module @slower_gemms attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @one_group() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %i8 = tl.alloc : !i8
    %i32 = tl.alloc : !i32
    // expected-remark @below {{gemm uses mma: wgmma reads 8- and 32-bit operands only with K contiguous}}
    tl.gemm %i8, %i8, %i32 : !i8, !i8, !i32
    %f64 = tl.alloc : !f64
    %f64acc = tl.alloc : !f64acc
    // expected-remark @below {{gemm uses fma: no matrix instruction fits the tile, its type and 128 threads}}
    tl.gemm %f64, %f64, %f64acc : !f64, !f64, !f64acc
    %odd = tl.alloc : !f16odd
    %f32a = tl.alloc : !f32acc
    // expected-remark @below {{gemm uses fma: no matrix instruction fits the tile, its type and 128 threads}}
    tl.gemm %odd, %odd, %f32a transpose_b : !f16odd, !f16odd, !f32acc
    %few = tl.alloc : !f16few
    %f16 = tl.alloc : !f16
    %f32few = tl.alloc : !f32few
    // expected-remark @below {{gemm uses mma: the tile cannot be cut into 64-row blocks for its warp groups}}
    tl.gemm %few, %f16, %f32few : !f16few, !f16, !f32few
    gpu.return
  }

  gpu.func @half_a_group() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %f16 = tl.alloc : !f16
    %acc = tl.alloc : !f32acc
    // expected-remark @below {{gemm uses mma: the block is not a multiple of 128 threads}}
    tl.gemm %f16, %f16, %acc : !f16, !f16, !f32acc
    gpu.return
  }
}

// -----

!f16 = memref<64x64xf16, #gpu.address_space<workgroup>>
!f16odd = memref<64x40xf16, #gpu.address_space<workgroup>>
!f32odd = memref<64x40xf32, #tl.fragment>

// Rows of 80 bytes cannot be swizzled.
gpu.module @odd_rows attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !f16
    %b = tl.alloc : !f16odd
    %acc = tl.alloc : !f32odd
    // expected-remark @below {{gemm uses mma: an operand's rows are not a multiple of 32 bytes}}
    tl.gemm %a, %b, %acc : !f16, !f16odd, !f32odd
    gpu.return
  }
}

// -----

!s = memref<64x64xf16, #gpu.address_space<workgroup>>

// Why threads store a tile that the bulk copy engine could have taken.
gpu.module @stores attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @kernel(%unaligned: memref<64x64xf16>, %strided: memref<?x?xf16> {tl.align = 16 : i64},
                   %converted: memref<64x64xf32> {tl.align = 16 : i64},
                   %column: memref<64x64xf16, strided<[1, 64]>> {tl.align = 16 : i64},
                   %aligned: memref<64x64xf16> {tl.align = 16 : i64},
                   %i: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc : !s
    // expected-remark @below {{threads store the tile instead of the bulk copy engine: the address of its buffer is not known to be a multiple of 16 bytes}}
    tl.copy %s to %unaligned tile(64, 64) : !s to memref<64x64xf16>
    // expected-remark @below {{a stride of its buffer is not known to be a multiple of 16 bytes}}
    tl.copy %s to %strided[%i, %i] tile(64, 64) : !s to memref<?x?xf16>
    // expected-remark @below {{it converts the element type}}
    tl.copy %s to %converted tile(64, 64) : !s to memref<64x64xf32>
    // expected-remark @below {{the last dimension of its buffer is not contiguous}}
    tl.copy %s to %column tile(64, 64) : !s to memref<64x64xf16, strided<[1, 64]>>
    %given = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
    // expected-remark @below {{its tile is a part of the shared buffer}}
    tl.copy %given to %aligned tile(64, 64) : memref<128x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16>
    gpu.return
  }
}

// -----

!tall = memref<512x64xf16, #gpu.address_space<workgroup>>
!narrow = memref<64x4xf16, #gpu.address_space<workgroup>>
!deep = memref<1x1x1x1x8x64xf16, #gpu.address_space<workgroup>>

gpu.module @shapes attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @kernel(%A: memref<512x64xf16> {tl.align = 16 : i64},
                   %B: memref<1x1x1x1x8x64xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tall = tl.alloc : !tall
    // expected-remark @below {{its tile has an extent above 256}}
    tl.copy %tall to %A tile(512, 64) : !tall to memref<512x64xf16>
    %narrow = tl.alloc : !narrow
    // expected-remark @below {{its rows are not a multiple of 16 bytes}}
    tl.copy %narrow to %A tile(64, 4) : !narrow to memref<512x64xf16>
    %deep = tl.alloc : !deep
    // expected-remark @below {{its buffer in device memory does not have 1 to 5 dimensions}}
    tl.copy %deep to %B tile(1, 1, 1, 1, 8, 64) : !deep to memref<1x1x1x1x8x64xf16>
    gpu.return
  }
}
