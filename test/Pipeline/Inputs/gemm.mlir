// A pipelined GEMM with an epilogue, of extents the host decides.
func.func @gemm(%A: memref<?x512xf16> {tl.align = 16 : i64, tl.name = "A"},
                %B: memref<512x256xf16> {tl.align = 16 : i64, tl.name = "B"},
                %C: memref<?x256xf16> {tl.align = 16 : i64, tl.name = "C"},
                %blocks: index) attributes {tl.entry} {
  %c2 = arith.constant 2 : index
  tl.kernel blocks(%bx, %by) in (%c2, %blocks) threads(128) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %As = tl.alloc : memref<128x64xf16, #gpu.address_space<workgroup>>
    %Bs = tl.alloc : memref<64x128xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
    tl.fill %acc, %zero : memref<128x128xf32, #tl.fragment>
    %m = arith.muli %by, %c128 : index
    %n = arith.muli %bx, %c128 : index
    tl.pipelined %k = %c0 to %c8 stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%m, %kk] to %As tile(128, 64) : memref<?x512xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
      tl.copy %B[%kk, %n] to %Bs tile(64, 128) : memref<512x256xf16> to memref<64x128xf16, #gpu.address_space<workgroup>>
      tl.gemm %As, %Bs, %acc : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
    }
    tl.parallel (%i, %j) in (128, 128) {
      %x = tl.load %acc[%i, %j] : memref<128x128xf32, #tl.fragment>
      %y = arith.maximumf %x, %zero : f32
      tl.store %y, %acc[%i, %j] : memref<128x128xf32, #tl.fragment>
    }
    tl.copy %acc to %C[%m, %n] tile(128, 128) : memref<128x128xf32, #tl.fragment> to memref<?x256xf16>
  }
  return
}
