// Kernels whose blocks fetch tiles together.

!A = memref<512x512xf16>
!C = memref<512x512xf32>
!I = memref<64xi32>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // One tile of the two is the same in both blocks.
  gpu.func @product(%A: !A {tl.align = 16 : i64}, %B: !A {tl.align = 16 : i64}, %C: !C {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %x = gpu.block_id x
    %y = gpu.block_id y
    %row = arith.muli %y, %c64 : index
    %column = arith.muli %x, %c64 : index
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    %acc = tl.alloc : !acc
    tl.fill %acc, %zero : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%row, %kk] to %a tile(64, 64) : !A to !tile
      tl.copy %B[%kk, %column] to %b tile(64, 64) : !A to !tile
      tl.gemm %a, %b, %acc : !tile, !tile, !acc
    }
    tl.copy %acc to %C[%row, %column] tile(64, 64) : !acc to !C
    gpu.return
  }

  // Tiles in turn, some of which are left out, in all blocks of the cluster.
  gpu.func @tiles(%A: !A {tl.align = 16 : i64}, %B: !A {tl.align = 16 : i64}, %counts: !I, %C: !C {tl.align = 16 : i64}, %tiles: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 1, 2, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %y = gpu.block_id y
    %row = arith.muli %y, %c64 : index
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    %acc = tl.alloc : !acc
    scf.for %t = %c0 to %tiles step %c1 {
      %raw = tl.load %counts[%t] : !I
      %count = arith.index_cast %raw : i32 to index
      %any = arith.cmpi sgt, %count, %c0 : index
      scf.if %any {
        %column = arith.muli %t, %c64 : index
        tl.fill %acc, %zero : !acc
        tl.pipelined %k = %c0 to %count stages(3) {
          %kk = arith.muli %k, %c64 : index
          tl.copy %A[%row, %kk] to %a tile(64, 64) : !A to !tile
          tl.copy %B[%kk, %column] to %b tile(64, 64) : !A to !tile
          tl.gemm %a, %b, %acc : !tile, !tile, !acc
        }
        tl.copy %acc to %C[%row, %column] tile(64, 64) : !acc to !C
      }
    }
    gpu.return
  }
}
