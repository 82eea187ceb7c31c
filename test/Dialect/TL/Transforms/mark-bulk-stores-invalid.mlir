// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts,tl-mark-bulk-stores))' --remarks-filter='tl-.*' --verify-diagnostics --split-input-file

!s = memref<64x64xf16, #gpu.address_space<workgroup>>

// Why threads store a tile that the bulk copy engine could have taken.
gpu.module @stores attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @kernel(%unaligned: memref<64x64xf16>, %strided: memref<?x?xf16> {tl.align = 16 : i64},
                   %converted: memref<64x64xf32> {tl.align = 16 : i64},
                   %column: memref<64x64xf16, strided<[1, 64]>> {tl.align = 16 : i64},
                   %aligned: memref<64x64xf16> {tl.align = 16 : i64},
                   %empty: memref<0x64xf16> {tl.align = 16 : i64},
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
    // expected-remark @below {{its place in the last dimension is not known to be a multiple of 16 bytes}}
    tl.copy %s to %aligned[%i, %i] tile(64, 64) : !s to memref<64x64xf16>
    %c0 = arith.constant 0 : index
    // expected-remark @below {{its place is not known to be inside of its buffer, or behind it}}
    tl.copy %s to %aligned[%i, %c0] tile(64, 64) : !s to memref<64x64xf16>
    // expected-remark @below {{its buffer is empty}}
    tl.copy %s to %empty tile(64, 64) : !s to memref<0x64xf16>
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

// -----

!a = memref<128x64xf16, #gpu.address_space<workgroup>>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // An integer of 64 bits that is not negative may be a negative index.
  gpu.func @cut_place(%A: memref<?x64xf16> {tl.align = 16 : i64}, %n: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %mask = arith.constant 0xFFFFFFFF : i64
    %low = arith.andi %n, %mask : i64
    %i = arith.index_cast %low : i64 to index
    %a = tl.alloc : !a
    // expected-remark @below {{its place is not known to be inside of its buffer, or behind it}}
    tl.copy %a to %A[%i, %c0] tile(128, 64) : !a to memref<?x64xf16>
    gpu.return
  }
}

// -----

!a = memref<128x64xf16, #gpu.address_space<workgroup>>
!row = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Products and sums that may wrap may be negative.
  gpu.func @wrapped_place(%A: memref<?x64xf16> {tl.align = 16 : i64}, %B: memref<4096xf32> {tl.align = 16 : i64}, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 16777217, 65535, 65535>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %c65536 = arith.constant 65536 : index
    %last = arith.constant 2147483644 : index
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %x = arith.muli %bx, %c128 : index
    %y = arith.muli %by, %c65536 : index
    %a = tl.alloc : !a
    // expected-remark @below {{its place is not known to be inside of its buffer, or behind it}}
    tl.copy %a to %A[%x, %c0] tile(128, 64) : !a to memref<?x64xf16>
    // expected-remark @below {{its place is not known to be inside of its buffer, or behind it}}
    tl.copy %a to %A[%y, %c0] tile(128, 64) : !a to memref<?x64xf16>
    %m = arith.index_cast %n : i32 to index
    %low = arith.maxsi %m, %c0 : index
    %sum = arith.addi %low, %c1 : index
    // expected-remark @below {{its place is not known to be inside of its buffer, or behind it}}
    tl.copy %a to %A[%sum, %c0] tile(128, 64) : !a to memref<?x64xf16>
    scf.for %k = %c0 to %m step %c1 {
      %row = arith.muli %k, %c128 : index
      // expected-remark @below {{its place is not known to be inside of its buffer, or behind it}}
      tl.copy %a to %A[%row, %c0] tile(128, 64) : !a to memref<?x64xf16>
    }
    // The boxes of a tile lie behind its place.
    %line = tl.alloc : !row
    // expected-remark @below {{its place is not known to be inside of its buffer, or behind it}}
    tl.copy %line to %B[%last] tile(128) : !row to memref<4096xf32>
    gpu.return
  }
}

// -----

!s = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @slots attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @kernel(%A: memref<2x64x64xf16> {tl.align = 16 : i64}, %i: index, %zero: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc : !s
    %slot = tl.slot %s[%i] : !s to !tile
    tl.fill %slot, %zero : !tile
    // expected-remark @below {{other statements use slots of the shared buffer, which do not lie as one tile}}
    tl.copy %s to %A tile(2, 64, 64) : !s to memref<2x64x64xf16>
    gpu.return
  }
}
