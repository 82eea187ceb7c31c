// Kernels whose copies have a thread of their own.

!A = memref<512x512xf16>
!C = memref<512x512xf32>
!I = memref<64xi32>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Tiles in turn, some of which are left out, each in a number of steps that is
  // read from memory.
  gpu.func @tiles(%A: !A {tl.align = 16 : i64}, %B: !A {tl.align = 16 : i64}, %counts: !I, %C: !C {tl.align = 16 : i64}, %tiles: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    %acc = tl.alloc : !acc
    scf.for %t = %c0 to %tiles step %c1 {
      %raw = tl.load %counts[%t] : !I
      %count = arith.index_cast %raw : i32 to index
      %any = arith.cmpi sgt, %count, %c0 : index
      scf.if %any {
        %m = arith.muli %t, %c64 : index
        tl.fill %acc, %zero : !acc
        tl.pipelined %k = %c0 to %count stages(3) {
          %kk = arith.muli %k, %c64 : index
          tl.copy %A[%m, %kk] to %a tile(64, 64) : !A to !tile
          tl.copy %B[%kk, %m] to %b tile(64, 64) : !A to !tile
          tl.gemm %a, %b, %acc : !tile, !tile, !acc
        }
        tl.copy %acc to %C[%m, %c0] tile(64, 64) : !acc to !C
      }
    }
    gpu.return
  }
}
