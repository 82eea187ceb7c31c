// Gemms, by the instruction of their plan.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @gemms attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // wgmma reads descriptors: the start address in units of 16 bytes, 18 bits of it;
  // for an operand with K contiguous a leading offset of 1 (not used), 8 rows of 128
  // bytes to the next 8, and mode 1, the 128-byte swizzle. One group of instructions
  // walks K in steps of 32 bytes and, within a step, the blocks of 64 rows. All lanes
  // take their warp's number from lane 0.
  // CHECK-LABEL: gpu.func @wgmma_k_major(
  // CHECK:         %[[WARP:.+]], %{{.+}} = gpu.shuffle idx
  // CHECK:         %[[ADDRESS:.+]] = arith.andi %{{.+}}, %c262143_i32
  // CHECK:         %[[UNITS:.+]] = arith.shrui %[[ADDRESS]], %c4_i32
  // CHECK:         %[[LEADING:.+]] = arith.constant 65536 : i32
  // CHECK:         %[[LOW:.+]] = arith.ori %[[UNITS]], %[[LEADING]]
  // CHECK:         %[[HIGH:.+]] = arith.constant 4611686293305294848 : i64
  // CHECK:         %[[WIDE:.+]] = arith.extui %[[LOW]] : i32 to i64
  // CHECK:         %[[A:.+]] = arith.ori %[[WIDE]], %[[HIGH]]
  // CHECK:         %[[B:.+]] = arith.ori %{{.+}} : i64
  // CHECK:         %[[ACC:.+]] = memref.load %[[SLOT:.+]][] : memref<vector<64xf32>>
  // CHECK:         %[[SUM:.+]] = tl.wgmma f16 n(64) %[[A]], %[[B]], %[[ACC]] acc_offsets([0, 32, 0, 32, 0, 32, 0, 32]) a_offsets([0, 512, 2, 514, 4, 516, 6, 518]) b_offsets([0, 0, 2, 2, 4, 4, 6, 6])
  // CHECK:         %[[DONE:.+]] = tl.wgmma_wait 0 (%[[SUM]] : vector<64xf32>)
  // CHECK:         memref.store %[[DONE]], %[[SLOT]][]
  gpu.func @wgmma_k_major() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<128x64xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(16384) : memref<64x64xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [128, 64], thread = [4, 8, 4] : [2, 64, 1024], value = [2, 2, 8, 2] : [1, 512, 8, 4096]>) : memref<128x64xf32, #tl.fragment>
    tl.gemm %a, %b, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<128x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf16, #gpu.address_space<workgroup>>, memref<128x64xf32, #tl.fragment>
    gpu.return
  }

  // A in registers, in the order in which it is held: 4 registers of a block of 64
  // rows for each step. The wait completes them, too.
  // CHECK-LABEL: gpu.func @wgmma_from_fragment(
  // CHECK:         %[[P:.+]] = memref.load %[[PSLOT:.+]][] : memref<vector<32xf16>>
  // CHECK:         %[[A:.+]] = vector.bitcast %[[P]] : vector<32xf16> to vector<16xi32>
  // CHECK:         %[[SUM:.+]] = tl.wgmma f16 n(64) %[[A]], %{{.+}}, %{{.+}} b_mn_major acc_offsets([0, 32, 0, 32]) a_offsets([0, 8, 4, 12]) b_offsets([0, 0, 128, 128])
  // CHECK:         %[[HELD:.+]] = memref.load %[[PSLOT]][]
  // CHECK:         %[[DONE:.+]]:2 = tl.wgmma_wait 0 (%[[SUM]], %[[HELD]] :
  // CHECK:         memref.store %[[DONE]]#1, %[[PSLOT]][]
  gpu.func @wgmma_from_fragment() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %p = tl.alloc layout(#tl.fragment_layout<shape = [128, 32], thread = [4, 8, 4] : [2, 32, 512], value = [2, 2, 4, 2] : [1, 256, 8, 2048]>) : memref<128x32xf16, #tl.fragment>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(16384) : memref<32x64xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [128, 64], thread = [4, 8, 4] : [2, 64, 1024], value = [2, 2, 8, 2] : [1, 512, 8, 4096]>) : memref<128x64xf32, #tl.fragment>
    tl.gemm %p, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<128x32xf16, #tl.fragment>, memref<32x64xf16, #gpu.address_space<workgroup>>, memref<128x64xf32, #tl.fragment>
    gpu.return
  }

  // The same by mma.sync: nothing is loaded for A.
  // CHECK-LABEL: gpu.func @mma_from_fragment(
  // CHECK:         %[[A:.+]] = vector.bitcast %{{.+}} : vector<32xf16> to vector<16xi32>
  // CHECK:         %[[A0:.+]] = vector.extract_strided_slice %[[A]] {offsets = [0], sizes = [4], strides = [1]}
  // CHECK:         %[[A1:.+]] = vector.extract_strided_slice %[[A]] {offsets = [8], sizes = [4], strides = [1]}
  // CHECK:         tl.ldmatrix %{{.+}} transpose
  // CHECK:         tl.mma f16 %[[A0]],
  // CHECK:         tl.mma f16 %[[A1]],
  gpu.func @mma_from_fragment() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %p = tl.alloc layout(#tl.fragment_layout<shape = [32, 32], thread = [4, 8] : [2, 32], value = [2, 2, 4, 2] : [1, 256, 8, 512]>) : memref<32x32xf16, #tl.fragment>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 8>) offset(0) : memref<32x8xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [32, 8], thread = [4, 8] : [2, 8], value = [2, 2, 2] : [1, 64, 128]>) : memref<32x8xf32, #tl.fragment>
    tl.gemm %p, %b, %acc plan(<mma, warps_m = 1, warps_n = 1>) : memref<32x32xf16, #tl.fragment>, memref<32x8xf16, #gpu.address_space<workgroup>>, memref<32x8xf32, #tl.fragment>
    gpu.return
  }

  // Where K is not contiguous the leading offset goes from panel to panel, here 4 KiB
  // for A and 2 KiB for B, and a step of K is 16 rows. Each warp group starts at its
  // own rows. An asynchronous gemm does not wait.
  // CHECK-LABEL: gpu.func @wgmma_mn_major(
  // CHECK:         %[[GROUP:.+]] = arith.divui %{{.+}}, %c4
  // CHECK:         arith.remui %[[GROUP]], %c2
  // CHECK:         arith.constant 16777216 : i32
  // CHECK:         arith.constant 8388608 : i32
  // CHECK:         %[[SUM:.+]] = tl.wgmma f16 n(32) {{.+}} a_mn_major b_mn_major acc_offsets([0, 0]) a_offsets([0, 128]) b_offsets([0, 64])
  // CHECK-NOT:     tl.wgmma_wait
  // CHECK:         memref.store %[[SUM]]
  gpu.func @wgmma_mn_major() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<32x128xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 64, chunk = 32>) offset(8192) : memref<32x32xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [128, 32], thread = [4, 8, 8] : [2, 32, 512], value = [2, 2, 4] : [1, 256, 8]>) : memref<128x32xf32, #tl.fragment>
    tl.gemm %a, %b, %acc transpose_a async plan(<wgmma, warps_m = 2, warps_n = 1>) : memref<32x128xf16, #gpu.address_space<workgroup>>, memref<32x32xf16, #gpu.address_space<workgroup>>, memref<128x32xf32, #tl.fragment>
    gpu.return
  }

  // Windows begin inside of their tiles: that of A at the second panel, 17 KiB behind
  // the first, 32 bytes into its rows, and 8 rows down; that of B 16 rows down.
  // CHECK-LABEL: gpu.func @wgmma_windows(
  // CHECK:         %[[FIRST:.+]] = arith.constant 1024 : index
  // CHECK:         arith.addi %{{.+}}, %[[FIRST]]
  // CHECK:         tl.wgmma f16 n(64) {{.+}} a_offsets([1090, 1602, 1092, 1604]) b_offsets([128, 128, 256, 256])
  gpu.func @wgmma_windows() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<136x128xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(34816) : memref<64x64xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [128, 64], thread = [4, 8, 4] : [2, 64, 1024], value = [2, 2, 8, 2] : [1, 512, 8, 4096]>) : memref<128x64xf32, #tl.fragment>
    tl.gemm %a, %b, %acc a_at [8, 80] b_at [16, 0] depth(32) plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<136x128xf16, #gpu.address_space<workgroup>>, memref<64x64xf16, #gpu.address_space<workgroup>>, memref<128x64xf32, #tl.fragment>
    gpu.return
  }

  // mma.sync: four matrices of A by one ldmatrix, and four of B, turned because K is
  // not contiguous there, which are the operands of two instructions.
  // CHECK-LABEL: gpu.func @mma(
  // CHECK:         %[[A:.+]] = tl.ldmatrix %{{[0-9]+}} : <3> -> vector<4xi32>
  // CHECK:         %[[B:.+]] = tl.ldmatrix %{{[0-9]+}} transpose : <3> -> vector<4xi32>
  // CHECK:         %[[B0:.+]] = vector.extract_strided_slice %[[B]] {offsets = [0], sizes = [2]
  // CHECK:         %[[B1:.+]] = vector.extract_strided_slice %[[B]] {offsets = [2], sizes = [2]
  // CHECK:         tl.mma f16 %[[A]], %[[B0]],
  // CHECK:         tl.mma f16 %[[A]], %[[B1]],
  gpu.func @mma() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 16>) offset(0) : memref<16x16xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 16>) offset(1024) : memref<16x16xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [16, 16], thread = [4, 8] : [2, 16], value = [2, 2, 2] : [1, 128, 8]>) : memref<16x16xf32, #tl.fragment>
    tl.gemm %a, %b, %acc plan(<mma, warps_m = 1, warps_n = 1>) : memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf32, #tl.fragment>
    gpu.return
  }

  // Registers of f32 are rounded to tf32, to nearest: half a unit is added, and the
  // instruction ignores the 13 bits below. A NaN stays one, whatever its payload.
  // CHECK-LABEL: gpu.func @mma_tf32(
  // CHECK:         %[[A:.+]] = tl.ldmatrix %{{[0-9]+}} : <3> -> vector<4xi32>
  // CHECK:         %[[FLOATS:.+]] = arith.bitcast %[[A]] : vector<4xi32> to vector<4xf32>
  // CHECK:         %[[NAN:.+]] = arith.cmpf uno, %[[FLOATS]], %[[FLOATS]]
  // CHECK:         %[[HALF:.+]] = arith.constant dense<4096> : vector<4xi32>
  // CHECK:         %[[SUM:.+]] = arith.addi %[[A]], %[[HALF]]
  // CHECK:         %[[QUIET:.+]] = arith.constant dense<2147483647> : vector<4xi32>
  // CHECK:         %[[ROUNDED:.+]] = arith.select %[[NAN]], %[[QUIET]], %[[SUM]]
  // CHECK:         tl.ldmatrix %{{[0-9]+}} : <3> -> vector<2xi32>
  // CHECK:         tl.mma tf32 %[[ROUNDED]], %{{.+}},
  gpu.func @mma_tf32() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 8>) offset(0) : memref<16x8xf32, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 8>) offset(1024) : memref<8x8xf32, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) : memref<16x8xf32, #tl.fragment>
    tl.gemm %a, %b, %acc transpose_b plan(<mma, warps_m = 1, warps_n = 1>) : memref<16x8xf32, #gpu.address_space<workgroup>>, memref<8x8xf32, #gpu.address_space<workgroup>>, memref<16x8xf32, #tl.fragment>
    gpu.return
  }

  // Not where they are known to be numbers of tf32.
  // CHECK-LABEL: gpu.func @mma_narrow(
  // CHECK:         %[[A:.+]] = tl.ldmatrix %{{[0-9]+}} : <3> -> vector<4xi32>
  // CHECK:         %[[B:.+]] = tl.ldmatrix %{{[0-9]+}} : <3> -> vector<2xi32>
  // CHECK-NOT:     arith.cmpf
  // CHECK:         tl.mma tf32 %[[A]], %[[B]],
  gpu.func @mma_narrow() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 8>) offset(0) : memref<16x8xf32, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 8>) offset(1024) : memref<8x8xf32, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) : memref<16x8xf32, #tl.fragment>
    tl.gemm %a, %b, %acc transpose_b narrow_a narrow_b plan(<mma, warps_m = 1, warps_n = 1>) : memref<16x8xf32, #gpu.address_space<workgroup>>, memref<8x8xf32, #gpu.address_space<workgroup>>, memref<16x8xf32, #tl.fragment>
    gpu.return
  }

  // ldmatrix turns 16-bit elements only: bytes with K not contiguous are loaded one by
  // one, and packed.
  // CHECK-LABEL: gpu.func @mma_s8(
  // CHECK:         %[[A:.+]] = tl.ldmatrix
  // CHECK-COUNT-8: llvm.load {{.+}} : !llvm.ptr<3> -> i8
  // CHECK-NOT:     llvm.load
  // CHECK:         %[[BYTES:.+]] = vector.from_elements {{.+}} : vector<8xi8>
  // CHECK:         %[[B:.+]] = vector.bitcast %[[BYTES]] : vector<8xi8> to vector<2xi32>
  // CHECK:         tl.mma s8 %[[A]], %[[B]],
  gpu.func @mma_s8() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 32>) offset(0) : memref<16x32xi8, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 8>) offset(1024) : memref<32x8xi8, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) : memref<16x8xi32, #tl.fragment>
    tl.gemm %a, %b, %acc plan(<mma, warps_m = 1, warps_n = 1>) : memref<16x32xi8, #gpu.address_space<workgroup>>, memref<32x8xi8, #gpu.address_space<workgroup>>, memref<16x8xi32, #tl.fragment>
    gpu.return
  }

  // What no matrix instruction takes is a loop over K; a thread multiplies for its own
  // elements of the accumulator.
  // CHECK-LABEL: gpu.func @fma(
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %c5 step
  // CHECK:           llvm.load {{.+}} : !llvm.ptr<3> -> f32
  // CHECK:           llvm.load {{.+}} : !llvm.ptr<3> -> f32
  // CHECK:           %[[ACC:.+]] = memref.load %[[SLOT:.+]][]
  // CHECK:           %[[PRODUCT:.+]] = arith.mulf
  // CHECK:           %[[SUM:.+]] = arith.addf %[[ACC]], %[[PRODUCT]]
  // CHECK:           memref.store %[[SUM]], %[[SLOT]][]
  gpu.func @fma() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 5>) offset(0) : memref<8x5xf32, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 4>) offset(1024) : memref<5x4xf32, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [8, 4], thread = [4, 8] : [1, 4], value = [1] : [1]>) : memref<8x4xf32, #tl.fragment>
    tl.gemm %a, %b, %acc plan(<fma, warps_m = 1, warps_n = 1>) : memref<8x5xf32, #gpu.address_space<workgroup>>, memref<5x4xf32, #gpu.address_space<workgroup>>, memref<8x4xf32, #tl.fragment>
    gpu.return
  }

  // Sums that no thread has registers for are in its memory, each of them in one place of
  // all loops: of the one that clears them, and of the one that adds all products of one
  // sum before it goes on to the next.
  // CHECK-LABEL: gpu.func @fma_in_memory(
  // CHECK:         %[[SUMS:.+]] = llvm.alloca %{{.+}} x f32
  // CHECK-NOT:     vector<1024xf32>
  // CHECK:         scf.for %{{.+}} to %c1024
  // CHECK:           %[[PLACE:.+]] = llvm.getelementptr %[[SUMS]][
  // CHECK:           llvm.store %{{.+}}, %[[PLACE]]
  // CHECK:         scf.for %{{.+}} to %c1024
  // CHECK:           %[[OLD:.+]] = llvm.load
  // CHECK:           %[[NEW:.+]] = scf.for %{{.+}} to %c5 {{.+}} iter_args(%[[SUM:.+]] = %[[OLD]])
  // CHECK:             llvm.load {{.+}} : !llvm.ptr<3> -> f32
  // CHECK:             llvm.load {{.+}} : !llvm.ptr<3> -> f32
  // CHECK:             %[[PRODUCT:.+]] = arith.mulf
  // CHECK:             arith.addf %[[SUM]], %[[PRODUCT]]
  // CHECK:           llvm.store %[[NEW]]
  // CHECK:         gpu.return
  gpu.func @fma_in_memory() kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 5>) offset(0) : memref<32x5xf32, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(1024) : memref<5x32xf32, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [32, 32], thread = [] : [], value = [32, 32] : [1, 32]>) : memref<32x32xf32, #tl.fragment>
    %zero = arith.constant 0.0 : f32
    tl.fill %acc, %zero : memref<32x32xf32, #tl.fragment>
    tl.gemm %a, %b, %acc plan(<fma, warps_m = 1, warps_n = 1>) : memref<32x5xf32, #gpu.address_space<workgroup>>, memref<5x32xf32, #gpu.address_space<workgroup>>, memref<32x32xf32, #tl.fragment>
    gpu.return
  }
}
