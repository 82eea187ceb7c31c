// Floats of 8 bits, of one type or two: by the instructions for them where there are
// some, else as f16.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-gemms))' --split-input-file | FileCheck %s

!a = memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>
!b = memref<64x64xf8E5M2, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: gpu.func @wgmma
  // CHECK:         tl.gemm %[[A:.+]], %[[B:.+]], %{{.+}} transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<64x64xf8E4M3FN, {{.*}}>, memref<64x64xf8E5M2
  gpu.func @wgmma() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc transpose_b : !a, !b, !acc
    gpu.return
  }

  // wgmma has no 8-bit operands whose rows run along N.
  // CHECK-LABEL: gpu.func @not_transposed
  // CHECK:         tl.gemm {{.*}} plan(<mma, {{.*}} : memref<64x64xf8E4M3FN
  gpu.func @not_transposed() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    gpu.return
  }
}

// -----

!a = memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>
!b = memref<64x64xf8E5M2, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @ada attributes {tl.target = #tl.target<chip = "sm_89">} {
  // CHECK-LABEL: gpu.func @mma
  // CHECK-NOT:     tl.copy
  // CHECK:         tl.gemm {{.*}} transpose_b plan(<mma, warps_m = 2, warps_n = 2>) : memref<64x64xf8E4M3FN
  gpu.func @mma() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc transpose_b : !a, !b, !acc
    gpu.return
  }
}

// -----

!a = memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>
!b = memref<64x64xf8E5M2, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // CHECK-LABEL: gpu.func @widened
  // CHECK-DAG:     %[[A:.+]] = tl.alloc : memref<64x64xf8E4M3FN, #gpu.address_space<workgroup>>
  // CHECK-DAG:     %[[B:.+]] = tl.alloc : memref<64x64xf8E5M2, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %[[A]] to %[[WIDE_A:.+]] tile
  // CHECK:         tl.copy %[[B]] to %[[WIDE_B:.+]] tile
  // CHECK:         tl.gemm %[[WIDE_A]], %[[WIDE_B]], {{.*}} plan(<mma, warps_m = 2, warps_n = 2>) : memref<64x64xf16, {{.*}}>, memref<64x64xf16
  gpu.func @widened() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    gpu.return
  }

  // One tile is converted once.
  // CHECK-LABEL: gpu.func @one_tile
  // CHECK-COUNT-1: tl.copy
  // CHECK:         tl.gemm %[[WIDE:.+]], %[[WIDE]], {{.*}} : memref<64x64xf16
  gpu.func @one_tile() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    %acc = tl.alloc : !acc
    tl.gemm %a, %a, %acc transpose_b : !a, !a, !acc
    gpu.return
  }
}
