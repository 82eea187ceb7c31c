// Gemms of 8-bit floats of two types: the instructions name both.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @gemms attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Steps of K are 32 elements: 2 units of 16 bytes.
  // CHECK-LABEL: gpu.func @wgmma(
  // CHECK:         tl.wgmma e4m3 by e5m2 n(64) {{.*}} a_offsets([0, 2]) b_offsets([0, 2]) : vector<32xf32>
  gpu.func @wgmma() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 64, chunk = 64>) offset(0) : memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 64, chunk = 64>) offset(4096) : memref<64x64xf8E5M2, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [64, 64], thread = [4, 8, 4] : [2, 64, 1024], value = [2, 2, 8] : [1, 512, 8]>) : memref<64x64xf32, #tl.fragment>
    tl.gemm %a, %b, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>, memref<64x64xf8E5M2, #gpu.address_space<workgroup>>, memref<64x64xf32, #tl.fragment>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @mma(
  // CHECK:         tl.mma e5m2 by e4m3 %{{.+}}, %{{.+}}, %{{.+}} : vector<4xi32>, vector<2xi32>, vector<4xf32>
  gpu.func @mma() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 32>) offset(0) : memref<16x32xf8E5M2, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 32>) offset(1024) : memref<8x32xf8E4M3FN, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) : memref<16x8xf32, #tl.fragment>
    tl.gemm %a, %b, %acc transpose_b plan(<mma, warps_m = 1, warps_n = 1>) : memref<16x32xf8E5M2, #gpu.address_space<workgroup>>, memref<8x32xf8E4M3FN, #gpu.address_space<workgroup>>, memref<16x8xf32, #tl.fragment>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @mma_of_one_type(
  // CHECK:         tl.mma e5m2 %{{.+}}, %{{.+}}, %{{.+}} : vector<4xi32>
  gpu.func @mma_of_one_type() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 32>) offset(0) : memref<16x32xf8E5M2, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 32>) offset(1024) : memref<8x32xf8E5M2, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) : memref<16x8xf32, #tl.fragment>
    tl.gemm %a, %b, %acc transpose_b plan(<mma, warps_m = 1, warps_n = 1>) : memref<16x32xf8E5M2, #gpu.address_space<workgroup>>, memref<8x32xf8E5M2, #gpu.address_space<workgroup>>, memref<16x8xf32, #tl.fragment>
    gpu.return
  }
}
