// Small kernels that order memory in all the ways that the compiler knows.

// A pipelined product.
func.func @gemm(%A: memref<128x320xf16> {tl.align = 16 : i64, tl.name = "A"},
                %B: memref<320x256xf16> {tl.align = 16 : i64, tl.name = "B"},
                %C: memref<128x256xf16> {tl.align = 16 : i64, tl.name = "C"}) attributes {tl.entry} {
  %c2 = arith.constant 2 : index
  %blocks = arith.constant 1 : index
  tl.kernel blocks(%bx, %by) in (%c2, %blocks) threads(128) {
    %c0 = arith.constant 0 : index
    %c5 = arith.constant 5 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %As = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
    %Bs = tl.alloc : memref<64x128xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
    tl.fill %acc, %zero : memref<128x128xf32, #tl.fragment>
    %m = arith.muli %by, %c128 : index
    %n = arith.muli %bx, %c128 : index
    tl.pipelined %k = %c0 to %c5 stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%m, %kk] to %As tile(128, 64) : memref<128x320xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
      tl.copy %B[%kk, %n] to %Bs tile(64, 128) : memref<320x256xf16> to memref<64x128xf16, #gpu.address_space<workgroup>>
      tl.gemm %As, %Bs, %acc : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
    }
    tl.parallel (%i, %j) in (128, 128) {
      %x = tl.load %acc[%i, %j] : memref<128x128xf32, #tl.fragment>
      %y = arith.maximumf %x, %zero : f32
      tl.store %y, %acc[%i, %j] : memref<128x128xf32, #tl.fragment>
    }
    tl.copy %acc to %C[%m, %n] tile(128, 128) : memref<128x128xf32, #tl.fragment> to memref<128x256xf16>
  }
  return
}

// An operand of a pipelined loop's last gemm is overwritten after the loop.
func.func @operand_after_loop(%arg0: memref<128x128xf16> {tl.align = 16 : i64, tl.name = "Q"}, %arg1: memref<512x128xf16> {tl.align = 16 : i64, tl.name = "B"}, %arg2: memref<128x128xf16> {tl.align = 16 : i64, tl.name = "C"}) attributes {tl.entry} {
  %c2_0 = arith.constant 2 : index
  tl.kernel blocks(%bx) in (%c2_0) threads(256) {
    %shared = tl.alloc : memref<64x128xf16, #gpu.address_space<workgroup>>
    %shared_0 = tl.alloc : memref<128x128xf16, #gpu.address_space<workgroup>>
    %fragment = tl.alloc : memref<64x128xf32, #tl.fragment>
    %cst = arith.constant 0.000000e+00 : f32
    tl.fill %fragment, %cst : memref<64x128xf32, #tl.fragment>
    %c64 = arith.constant 64 : index
    %0 = arith.muli %bx, %c64 : index
    %c0 = arith.constant 0 : index
    tl.copy %arg0[%0, %c0] to %shared tile(64, 128) : memref<128x128xf16> to memref<64x128xf16, #gpu.address_space<workgroup>>
    %c4 = arith.constant 4 : index
    tl.pipelined %arg3 = %c0 to %c4 stages(2) {
      %c128 = arith.constant 128 : index
      %2 = arith.muli %arg3, %c128 : index
      tl.copy %arg1[%2, %c0] to %shared_0 tile(128, 128) : memref<512x128xf16> to memref<128x128xf16, #gpu.address_space<workgroup>>
      tl.gemm %shared, %shared_0, %fragment policy(full_col) : memref<64x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf16, #gpu.address_space<workgroup>>, memref<64x128xf32, #tl.fragment>
    }
    tl.copy %fragment to %shared tile(64, 128) : memref<64x128xf32, #tl.fragment> to memref<64x128xf16, #gpu.address_space<workgroup>>
    %1 = arith.muli %bx, %c64 : index
    tl.copy %shared to %arg2[%1, %c0] tile(64, 128) : memref<64x128xf16, #gpu.address_space<workgroup>> to memref<128x128xf16>
  }
  return
}

// Operands that threads wrote are read by threads, then by a gemm.
func.func @read_before_gemm(%arg0: memref<256x64xf16> {tl.align = 16 : i64, tl.name = "A"}, %arg1: memref<64x128xf16> {tl.align = 16 : i64, tl.name = "B"}, %arg2: memref<256xf32> {tl.align = 16 : i64, tl.name = "R"}, %arg3: memref<256x128xf32> {tl.align = 16 : i64, tl.name = "C"}) attributes {tl.entry} {
  %c2_0 = arith.constant 2 : index
  tl.kernel blocks(%bx) in (%c2_0) threads(128) {
    %shared = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
    %shared_0 = tl.alloc : memref<64x128xf16, #gpu.address_space<workgroup>>
    %fragment = tl.alloc : memref<128x64xf32, #tl.fragment>
    %fragment_1 = tl.alloc : memref<128xf32, #tl.fragment>
    %fragment_2 = tl.alloc : memref<128x128xf32, #tl.fragment>
    %c128 = arith.constant 128 : index
    %0 = arith.muli %bx, %c128 : index
    %c0 = arith.constant 0 : index
    tl.copy %arg0[%0, %c0] to %shared tile(128, 64) : memref<256x64xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    tl.copy %arg1 to %shared_0 tile(64, 128) : memref<64x128xf16> to memref<64x128xf16, #gpu.address_space<workgroup>>
    tl.parallel (%arg4, %arg5) in (128, 64) {
      %3 = tl.load %shared[%arg4, %arg5] : memref<128x64xf16, #gpu.address_space<workgroup>>
      %4 = arith.extf %3 : f16 to f32
      tl.store %4, %fragment[%arg4, %arg5] : memref<128x64xf32, #tl.fragment>
    }
    tl.reduce  sum %fragment to %fragment_1 dim(1) : memref<128x64xf32, #tl.fragment> to memref<128xf32, #tl.fragment>
    %1 = arith.muli %bx, %c128 : index
    tl.copy %fragment_1 to %arg2[%1] tile(128) : memref<128xf32, #tl.fragment> to memref<256xf32>
    %cst = arith.constant 0.000000e+00 : f32
    tl.fill %fragment_2, %cst : memref<128x128xf32, #tl.fragment>
    tl.gemm %shared, %shared_0, %fragment_2 : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
    %2 = arith.muli %bx, %c128 : index
    tl.copy %fragment_2 to %arg3[%2, %c0] tile(128, 128) : memref<128x128xf32, #tl.fragment> to memref<256x128xf32>
  }
  return
}

// A tile that threads wrote is read by threads, then by the copy engine.
func.func @read_before_store(%arg0: memref<256x64xf16> {tl.align = 16 : i64, tl.name = "A"}, %arg1: memref<256xf32> {tl.align = 16 : i64, tl.name = "R"}, %arg2: memref<256x64xf16> {tl.align = 16 : i64, tl.name = "C"}) attributes {tl.entry} {
  %c2_0 = arith.constant 2 : index
  tl.kernel blocks(%bx) in (%c2_0) threads(128) {
    %shared = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
    %fragment = tl.alloc : memref<128x64xf32, #tl.fragment>
    %fragment_0 = tl.alloc : memref<128xf32, #tl.fragment>
    tl.parallel (%arg3, %arg4) in (128, 64) {
      %c128_1 = arith.constant 128 : index
      %2 = arith.muli %bx, %c128_1 : index
      %3 = arith.addi %2, %arg3 : index
      %4 = tl.load %arg0[%3, %arg4] : memref<256x64xf16>
      %cst = arith.constant 2.000000e+00 : f16
      %5 = arith.mulf %4, %cst : f16
      tl.store %5, %shared[%arg3, %arg4] : memref<128x64xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%arg3, %arg4) in (128, 64) {
      %2 = tl.load %shared[%arg3, %arg4] : memref<128x64xf16, #gpu.address_space<workgroup>>
      %3 = arith.extf %2 : f16 to f32
      tl.store %3, %fragment[%arg3, %arg4] : memref<128x64xf32, #tl.fragment>
    }
    tl.reduce  sum %fragment to %fragment_0 dim(1) : memref<128x64xf32, #tl.fragment> to memref<128xf32, #tl.fragment>
    %c128 = arith.constant 128 : index
    %0 = arith.muli %bx, %c128 : index
    tl.copy %fragment_0 to %arg1[%0] tile(128) : memref<128xf32, #tl.fragment> to memref<256xf32>
    %1 = arith.muli %bx, %c128 : index
    %c0 = arith.constant 0 : index
    tl.copy %shared to %arg2[%1, %c0] tile(128, 64) : memref<128x64xf16, #gpu.address_space<workgroup>> to memref<256x64xf16>
  }
  return
}

// A tensor hands elements from one thread to another.
func.func @flipped(%arg0: memref<4096xf32> {tl.align = 16 : i64, tl.name = "X"}, %arg1: memref<4096xf32> {tl.align = 16 : i64, tl.name = "A"}, %arg2: memref<4096xf32> {tl.align = 16 : i64, tl.name = "B"}) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%bx) in (%c1) threads(1024) {
    tl.parallel (%arg3) in (4096) {
      %0 = tl.load %arg0[%arg3] : memref<4096xf32>
      %cst = arith.constant 1.000000e+00 : f32
      %1 = arith.addf %0, %cst : f32
      tl.store %1, %arg1[%arg3] : memref<4096xf32>
    }
    tl.parallel (%arg3) in (4096) {
      %c4095 = arith.constant 4095 : index
      %0 = arith.subi %c4095, %arg3 : index
      %1 = tl.load %arg1[%0] : memref<4096xf32>
      tl.store %1, %arg2[%arg3] : memref<4096xf32>
    }
  }
  return
}

// Two tiles in one parallel loop.
func.func @transposed(%arg0: memref<64x64xf32> {tl.align = 16 : i64, tl.name = "A"}, %arg1: memref<64x64xf32> {tl.align = 16 : i64, tl.name = "B"}) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%bx) in (%c1) threads(128) {
    %shared = tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
    %shared_0 = tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
    tl.copy %arg0 to %shared tile(64, 64) : memref<64x64xf32> to memref<64x64xf32, #gpu.address_space<workgroup>>
    tl.parallel (%arg2, %arg3) in (64, 64) {
      %0 = tl.load %shared[%arg2, %arg3] : memref<64x64xf32, #gpu.address_space<workgroup>>
      tl.store %0, %shared_0[%arg3, %arg2] : memref<64x64xf32, #gpu.address_space<workgroup>>
    }
    tl.copy %shared_0 to %arg1 tile(64, 64) : memref<64x64xf32, #gpu.address_space<workgroup>> to memref<64x64xf32>
  }
  return
}

// A pipelined product of tiles that threads convert: copies, ordinary writes and a product in one loop.
func.func @gemm_of_converted(%A: memref<128x256xf32> {tl.align = 16 : i64, tl.name = "A"},
                             %B: memref<256x64xf16> {tl.align = 16 : i64, tl.name = "B"},
                             %C: memref<128x64xf32> {tl.align = 16 : i64, tl.name = "C"}) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%bx) in (%c1) threads(128) {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %As = tl.alloc : memref<128x64xf32, #gpu.address_space<workgroup>>
    %Ah = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
    %Bs = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x64xf32, #tl.fragment>
    tl.fill %acc, %zero : memref<128x64xf32, #tl.fragment>
    tl.pipelined %k = %c0 to %c4 stages(2) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %As tile(128, 64) : memref<128x256xf32> to memref<128x64xf32, #gpu.address_space<workgroup>>
      tl.copy %B[%kk, %c0] to %Bs tile(64, 64) : memref<256x64xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
      tl.parallel (%i, %j) in (128, 64) {
        %x = tl.load %As[%i, %j] : memref<128x64xf32, #gpu.address_space<workgroup>>
        %h = arith.truncf %x : f32 to f16
        tl.store %h, %Ah[%i, %j] : memref<128x64xf16, #gpu.address_space<workgroup>>
      }
      tl.gemm %Ah, %Bs, %acc : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf16, #gpu.address_space<workgroup>>, memref<128x64xf32, #tl.fragment>
    }
    tl.copy %acc to %C tile(128, 64) : memref<128x64xf32, #tl.fragment> to memref<128x64xf32>
  }
  return
}

// Rows are scaled by their sums, which warps compute together.
func.func @normalized(%A: memref<32x256xf32> {tl.align = 16 : i64, tl.name = "A"},
                      %B: memref<32x256xf32> {tl.align = 16 : i64, tl.name = "B"}) attributes {tl.entry} {
  %c2 = arith.constant 2 : index
  tl.kernel blocks(%bx) in (%c2) threads(128) {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %row = arith.muli %bx, %c16 : index
    %s = tl.alloc : memref<16x256xf32, #gpu.address_space<workgroup>>
    %f = tl.alloc : memref<16x256xf32, #tl.fragment>
    %sum = tl.alloc : memref<16xf32, #tl.fragment>
    tl.copy %A[%row, %c0] to %s tile(16, 256) : memref<32x256xf32> to memref<16x256xf32, #gpu.address_space<workgroup>>
    tl.copy %s to %f tile(16, 256) : memref<16x256xf32, #gpu.address_space<workgroup>> to memref<16x256xf32, #tl.fragment>
    tl.reduce sum %f to %sum dim(1) : memref<16x256xf32, #tl.fragment> to memref<16xf32, #tl.fragment>
    tl.parallel (%i, %j) in (16, 256) {
      %x = tl.load %f[%i, %j] : memref<16x256xf32, #tl.fragment>
      %y = tl.load %sum[%i] : memref<16xf32, #tl.fragment>
      %z = arith.addf %x, %y : f32
      tl.store %z, %s[%i, %j] : memref<16x256xf32, #gpu.address_space<workgroup>>
    }
    tl.copy %s to %B[%row, %c0] tile(16, 256) : memref<16x256xf32, #gpu.address_space<workgroup>> to memref<32x256xf32>
  }
  return
}

// Tiles in turn: bulk copies have a thread of their own, which begins the next tile while others store this one.
func.func @tiles_in_turn(%A: memref<256x192xf16> {tl.align = 16 : i64, tl.name = "A"},
                         %B: memref<192x128xf16> {tl.align = 16 : i64, tl.name = "B"},
                         %C: memref<256x128xf32> {tl.align = 16 : i64, tl.name = "C"}) attributes {tl.entry} {
  %blocks = arith.constant 1 : index
  tl.kernel blocks(%bx) in (%blocks) threads(256) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %As = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
    %Bs = tl.alloc : memref<64x128xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
    scf.for %t = %c0 to %c2 step %c1 {
      %m = arith.muli %t, %c128 : index
      tl.fill %acc, %zero : memref<128x128xf32, #tl.fragment>
      tl.pipelined %k = %c0 to %c3 stages(4) {
        %kk = arith.muli %k, %c64 : index
        tl.copy %A[%m, %kk] to %As tile(128, 64) : memref<256x192xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
        tl.copy %B[%kk, %c0] to %Bs tile(64, 128) : memref<192x128xf16> to memref<64x128xf16, #gpu.address_space<workgroup>>
        tl.gemm %As, %Bs, %acc : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.parallel (%i, %j) in (128, 128) {
        %x = tl.load %acc[%i, %j] : memref<128x128xf32, #tl.fragment>
        %row = arith.addi %m, %i : index
        tl.store %x, %C[%row, %j] : memref<256x128xf32>
      }
    }
  }
  return
}
