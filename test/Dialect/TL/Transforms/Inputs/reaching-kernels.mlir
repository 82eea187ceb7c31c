// Kernels whose blocks reach into each other's shared memory.

!A = memref<512x512xf16>
!C = memref<512x512xf32>
!half = memref<64x64xf16, #gpu.address_space<workgroup>>
!single = memref<64x64xf32, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Each block sends a factor to the other one, which multiplies by it.
  gpu.func @send(%A: !A {tl.align = 16 : i64}, %C: !C {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %x = gpu.block_id x
    %row = arith.muli %x, %c64 : index
    %mine = tl.alloc : !half
    %came = tl.alloc : !half
    %acc = tl.alloc : !acc
    %there = tl.map_shared_rank %came[%c1] : !half
    tl.fill %acc, %zero : !acc
    scf.for %k = %c0 to %n step %c1 {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%row, %kk] to %mine tile(64, 64) : !A to !half
      tl.copy %mine to %there tile(64, 64) : !half to !half
      tl.cluster_barrier
      tl.gemm %mine, %came, %acc : !half, !half, !acc
      tl.cluster_barrier
    }
    tl.copy %acc to %C[%row, %c0] tile(64, 64) : !acc to !C
    gpu.return
  }

  // Each block fetches what the other one has, and goes on meanwhile.
  gpu.func @fetch(%A: !A {tl.align = 16 : i64}, %C: !C {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %row = arith.muli %x, %c64 : index
    %mine = tl.alloc : !half
    %came = tl.alloc : !half
    %of = tl.map_shared_rank %mine[%c1] : !half
    tl.copy %A[%row, %c0] to %mine tile(64, 64) : !A to !half
    tl.cluster_arrive
    tl.cluster_wait
    tl.copy %of to %came tile(64, 64) : !half to !half
    tl.copy %came to %A[%c0, %row] tile(64, 64) : !half to !A
    gpu.return
  }
}
