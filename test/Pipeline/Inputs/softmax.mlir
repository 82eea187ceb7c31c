// The softmax of each row: reductions across warps, one row for each block.
func.func @softmax(%X: memref<?x1000xf32> {tl.align = 16 : i64, tl.name = "X"},
                   %Y: memref<?x1000xf32> {tl.align = 16 : i64, tl.name = "Y"},
                   %rows: index) attributes {tl.entry} {
  tl.kernel blocks(%row) in (%rows) threads(128) {
    %c0 = arith.constant 0 : index
    %c1000 = arith.constant 1000 : index
    %lowest = arith.constant 0xFF800000 : f32
    %x = tl.alloc : memref<1x1024xf32, #tl.fragment>
    %max = tl.alloc : memref<1xf32, #tl.fragment>
    %sum = tl.alloc : memref<1xf32, #tl.fragment>
    tl.copy %X[%row, %c0] to %x tile(1, 1024) : memref<?x1000xf32> to memref<1x1024xf32, #tl.fragment>
    tl.parallel (%i, %j) in (1, 1024) {
      %v = tl.load %x[%i, %j] : memref<1x1024xf32, #tl.fragment>
      %inside = arith.cmpi ult, %j, %c1000 : index
      %w = arith.select %inside, %v, %lowest : f32
      tl.store %w, %x[%i, %j] : memref<1x1024xf32, #tl.fragment>
    }
    tl.reduce max %x to %max dim(1) : memref<1x1024xf32, #tl.fragment> to memref<1xf32, #tl.fragment>
    tl.parallel (%i, %j) in (1, 1024) {
      %v = tl.load %x[%i, %j] : memref<1x1024xf32, #tl.fragment>
      %m = tl.load %max[%i] : memref<1xf32, #tl.fragment>
      %d = arith.subf %v, %m : f32
      %e = math.exp %d : f32
      tl.store %e, %x[%i, %j] : memref<1x1024xf32, #tl.fragment>
    }
    tl.reduce sum %x to %sum dim(1) : memref<1x1024xf32, #tl.fragment> to memref<1xf32, #tl.fragment>
    tl.parallel (%i, %j) in (1, 1024) {
      %e = tl.load %x[%i, %j] : memref<1x1024xf32, #tl.fragment>
      %s = tl.load %sum[%i] : memref<1xf32, #tl.fragment>
      %p = arith.divf %e, %s : f32
      tl.store %p, %x[%i, %j] : memref<1x1024xf32, #tl.fragment>
    }
    tl.copy %x to %Y[%row, %c0] tile(1, 1024) : memref<1x1024xf32, #tl.fragment> to memref<?x1000xf32>
  }
  return
}
