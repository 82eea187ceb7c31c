// Three loops behind each other, of which two have their tile in common, and
// the third one its bytes.
func.func @loops_in_turn(%arg0: memref<512x128xf16> {tl.align = 16 : i64, tl.name = "A"}, %n: index, %m: index, %arg1: memref<128x128xf32> {tl.align = 16 : i64, tl.name = "C"}) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%bx) in (%c1) threads(128) {
    %shared = tl.alloc : memref<128x128xf16, #gpu.address_space<workgroup>>
    %other = tl.alloc : memref<128x128xf16, #gpu.address_space<workgroup>>
    %fragment = tl.alloc : memref<128x128xf32, #tl.fragment>
    %cst = arith.constant 0.000000e+00 : f32
    tl.fill %fragment, %cst : memref<128x128xf32, #tl.fragment>
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    tl.pipelined %k = %c0 to %n stages(3) {
      %row = arith.muli %k, %c128 : index
      tl.copy %arg0[%row, %c0] to %shared tile(128, 128) : memref<512x128xf16> to memref<128x128xf16, #gpu.address_space<workgroup>>
      tl.gemm %shared, %shared, %fragment : memref<128x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
    }
    tl.pipelined %k = %c0 to %m stages(3) {
      %row = arith.muli %k, %c128 : index
      tl.copy %arg0[%row, %c0] to %shared tile(128, 128) : memref<512x128xf16> to memref<128x128xf16, #gpu.address_space<workgroup>>
      tl.parallel (%i, %j) in (128, 128) {
        %x = tl.load %shared[%i, %j] : memref<128x128xf16, #gpu.address_space<workgroup>>
        %wide = arith.extf %x : f16 to f32
        %sum = tl.load %fragment[%i, %j] : memref<128x128xf32, #tl.fragment>
        %new = arith.addf %sum, %wide : f32
        tl.store %new, %fragment[%i, %j] : memref<128x128xf32, #tl.fragment>
      }
    }
    tl.pipelined %k = %c0 to %n stages(3) {
      %row = arith.muli %k, %c128 : index
      tl.copy %arg0[%row, %c0] to %other tile(128, 128) : memref<512x128xf16> to memref<128x128xf16, #gpu.address_space<workgroup>>
      tl.gemm %other, %other, %fragment : memref<128x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
    }
    tl.copy %fragment to %arg1 tile(128, 128) : memref<128x128xf32, #tl.fragment> to memref<128x128xf32>
  }
  return
}
