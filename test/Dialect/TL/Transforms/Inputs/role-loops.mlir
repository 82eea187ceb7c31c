// Kernels whose copies have a thread of their own.

!A = memref<512x512xf16>
!C = memref<512x512xf32>
!I = memref<64xi32>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>
!factor = memref<64x64xf16, #tl.fragment>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Two loops, one after the other.
  gpu.func @pair(%A: !A {tl.align = 16 : i64}, %C: !C {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    %acc = tl.alloc : !acc
    tl.fill %acc, %zero : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(64, 64) : !A to !tile
      tl.gemm %a, %a, %acc : !tile, !tile, !acc
    }
    tl.pipelined %k = %c0 to %m stages(2) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%kk, %c0] to %b tile(64, 64) : !A to !tile
      tl.gemm %b, %b, %acc : !tile, !tile, !acc
    }
    tl.copy %acc to %C[%c0, %c0] tile(64, 64) : !acc to !C
    gpu.return
  }

  // A search that ends when an element of memory says so.
  gpu.func @search(%A: !A {tl.align = 16 : i64}, %next: !I, %C: !C {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc : !tile
    %acc = tl.alloc : !acc
    tl.fill %acc, %zero : !acc
    %end = scf.while (%at = %c0) : (index) -> index {
      %raw = tl.load %next[%at] : !I
      %there = arith.index_cast %raw : i32 to index
      %more = arith.cmpi ne, %there, %at : index
      scf.condition(%more) %there : index
    } do {
    ^bb0(%at: index):
      %m = arith.muli %at, %c64 : index
      tl.pipelined %k = %c0 to %n stages(3) {
        %kk = arith.muli %k, %c64 : index
        tl.copy %A[%m, %kk] to %a tile(64, 64) : !A to !tile
        tl.gemm %a, %a, %acc : !tile, !tile, !acc
      }
      scf.yield %at : index
    }
    tl.copy %acc to %C[%c0, %c0] tile(64, 64) : !acc to !C
    gpu.return
  }

  // Loops over one tile: behind each other, in a branch, and in a loop. Who
  // fills it is in the next one while the last slots are still read.
  gpu.func @in_turn(%A: !A {tl.align = 16 : i64}, %C: !C {tl.align = 16 : i64}, %n: index, %m: index, %c: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %a = tl.alloc : !tile
    %acc = tl.alloc : !acc
    tl.fill %acc, %zero : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(64, 64) : !A to !tile
      tl.gemm %a, %a, %acc : !tile, !tile, !acc
    }
    scf.if %c {
      tl.pipelined %k = %c0 to %m stages(3) {
        %kk = arith.muli %k, %c64 : index
        tl.copy %A[%kk, %c0] to %a tile(64, 64) : !A to !tile
        tl.gemm %a, %a, %acc : !tile, !tile, !acc
      }
    }
    scf.for %i = %c0 to %m step %c1 {
      tl.pipelined %k = %c0 to %n stages(3) {
        %kk = arith.muli %k, %c64 : index
        tl.copy %A[%kk, %kk] to %a tile(64, 64) : !A to !tile
        tl.gemm %a, %a, %acc : !tile, !tile, !acc
      }
    }
    tl.copy %acc to %C[%c0, %c0] tile(64, 64) : !acc to !C
    gpu.return
  }

  // The second product of an iteration is done in the next one, of two loops behind each other over the same tiles, which
  // run again for each tile of a block.
  gpu.func @late(%A: !A {tl.align = 16 : i64}, %C: !C {tl.align = 16 : i64}, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.specialize} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %q = tl.alloc : !tile
    %a = tl.alloc : !tile
    %b = tl.alloc : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !factor
    %acc = tl.alloc : !acc
    scf.for %i = %c0 to %m step %c1 {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %q tile(64, 64) : !A to !tile
      tl.fill %acc, %zero : !acc
      tl.pipelined %k = %c0 to %i stages(3) {
        %kk = arith.muli %k, %c64 : index
        tl.copy %A[%c0, %kk] to %a tile(64, 64) : !A to !tile
        tl.copy %A[%kk, %c0] to %b tile(64, 64) : !A to !tile
        tl.fill %s, %zero : !acc
        tl.gemm %q, %a, %s transpose_b policy(full_row) : !tile, !tile, !acc
        tl.copy %s to %p tile(64, 64) : !acc to !factor
        tl.gemm %p, %b, %acc policy(full_row) : !factor, !tile, !acc
      }
      tl.pipelined %k = %c0 to %n stages(3) {
        %kk = arith.muli %k, %c64 : index
        tl.copy %A[%kk, %kk] to %a tile(64, 64) : !A to !tile
        tl.copy %A[%c64, %kk] to %b tile(64, 64) : !A to !tile
        tl.fill %s, %zero : !acc
        tl.gemm %q, %a, %s transpose_b policy(full_row) : !tile, !tile, !acc
        tl.copy %s to %p tile(64, 64) : !acc to !factor
        tl.gemm %p, %b, %acc policy(full_row) : !factor, !tile, !acc
      }
      tl.copy %acc to %C[%ii, %c0] tile(64, 64) : !acc to !C
    }
    gpu.return
  }
}
