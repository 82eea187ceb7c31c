// The instruction of each gemm, and the grid of warps or warp groups over its accumulator.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-gemms))' --split-input-file | FileCheck %s

!a = memref<128x64xf16, #gpu.address_space<workgroup>>
!b = memref<64x128xf16, #gpu.address_space<workgroup>>
!acc = memref<128x128xf32, #tl.fragment>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // The policy decides which side is cut, where the tile allows it.
  // CHECK-LABEL: gpu.func @wgmma_policy
  // CHECK:         tl.gemm {{.*}} policy(full_col) plan(<wgmma, warps_m = 1, warps_n = 2>)
  gpu.func @wgmma_policy() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc policy(full_col) : !a, !b, !acc
    gpu.return
  }

  // 8-bit operands go to wgmma if both have K in their rows.
  // CHECK-LABEL: gpu.func @wgmma_int8
  // CHECK:         tl.gemm {{.*}} transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>)
  gpu.func @wgmma_int8() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : memref<64x64xi8, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<64x64xi32, #tl.fragment>
    tl.gemm %a, %a, %acc transpose_b : memref<64x64xi8, #gpu.address_space<workgroup>>, memref<64x64xi8, #gpu.address_space<workgroup>>, memref<64x64xi32, #tl.fragment>
    gpu.return
  }

  // Above 32 columns there is no wgmma of 8-bit operands for each multiple of 8.
  // CHECK-LABEL: gpu.func @wgmma_int8_columns
  // CHECK:         tl.gemm {{.*}} transpose_b plan(<mma, warps_m = 4, warps_n = 1>)
  // CHECK:         tl.gemm {{.*}} transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>)
  gpu.func @wgmma_int8_columns() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : memref<64x64xi8, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<40x64xi8, #gpu.address_space<workgroup>>
    %c = tl.alloc : memref<24x64xi8, #gpu.address_space<workgroup>>
    %wide = tl.alloc : memref<64x40xi32, #tl.fragment>
    %narrow = tl.alloc : memref<64x24xi32, #tl.fragment>
    tl.gemm %a, %b, %wide transpose_b : memref<64x64xi8, #gpu.address_space<workgroup>>, memref<40x64xi8, #gpu.address_space<workgroup>>, memref<64x40xi32, #tl.fragment>
    tl.gemm %a, %c, %narrow transpose_b : memref<64x64xi8, #gpu.address_space<workgroup>>, memref<24x64xi8, #gpu.address_space<workgroup>>, memref<64x24xi32, #tl.fragment>
    gpu.return
  }

  // A plan that is there already is kept.
  // CHECK-LABEL: gpu.func @given_plan
  // CHECK:         tl.gemm {{.*}} plan(<mma, warps_m = 4, warps_n = 2>)
  gpu.func @given_plan() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc plan(<mma, warps_m = 4, warps_n = 2>) : !a, !b, !acc
    gpu.return
  }

  // Three warp groups and two blocks of 64 rows: the groups compute both alike.
  // CHECK-LABEL: gpu.func @fewer_parts_than_groups
  // CHECK:         tl.gemm {{.*}} plan(<wgmma, warps_m = 1, warps_n = 1>)
  gpu.func @fewer_parts_than_groups() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    gpu.return
  }

  // Windows at which descriptors can begin, and panels along N.
  // CHECK-LABEL: gpu.func @windows
  // CHECK:         tl.gemm {{.*}} plan(<wgmma, warps_m = 1, warps_n = 1>)
  // Not in the middle of a step of K, nor of a panel, nor of a period of rows: ldmatrix
  // reads any line of 16 bytes.
  // CHECK:         tl.gemm {{.*}} a_at [8, 8] {{.*}} plan(<mma,
  // CHECK:         tl.gemm {{.*}} b_at [0, 32] {{.*}} plan(<mma,
  // CHECK:         tl.gemm {{.*}} a_at [4, 0] {{.*}} plan(<mma,
  // Nor in the middle of a line.
  // CHECK:         tl.gemm {{.*}} a_at [0, 4] {{.*}} plan(<fma,
  gpu.func @windows() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : memref<128x128xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<64x128xf16, #gpu.address_space<workgroup>>
    %acc0 = tl.alloc : memref<64x64xf32, #tl.fragment>
    %acc1 = tl.alloc : memref<64x64xf32, #tl.fragment>
    %acc2 = tl.alloc : memref<64x64xf32, #tl.fragment>
    %acc3 = tl.alloc : memref<64x64xf32, #tl.fragment>
    %acc4 = tl.alloc : memref<64x64xf32, #tl.fragment>
    tl.gemm %a, %b, %acc0 a_at [8, 16] b_at [8, 64] depth(32) : memref<128x128xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<64x64xf32, #tl.fragment>
    tl.gemm %a, %b, %acc1 a_at [8, 8] b_at [0, 0] depth(32) : memref<128x128xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<64x64xf32, #tl.fragment>
    tl.gemm %a, %b, %acc2 a_at [0, 0] b_at [0, 32] depth(32) : memref<128x128xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<64x64xf32, #tl.fragment>
    tl.gemm %a, %b, %acc3 a_at [4, 0] b_at [0, 0] depth(32) : memref<128x128xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<64x64xf32, #tl.fragment>
    tl.gemm %a, %b, %acc4 a_at [0, 4] b_at [0, 0] depth(32) : memref<128x128xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>>, memref<64x64xf32, #tl.fragment>
    gpu.return
  }
}

// -----

!a = memref<128x64xf16, #gpu.address_space<workgroup>>
!b = memref<64x128xf16, #gpu.address_space<workgroup>>
!acc = memref<128x128xf32, #tl.fragment>
!wide = memref<32x512xf32, #tl.fragment>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // Under `full_row` each warp has whole rows, under `full_col` whole columns.
  // CHECK-LABEL: gpu.func @mma_policy
  // CHECK:         tl.gemm {{.*}} policy(full_row) plan(<mma, warps_m = 4, warps_n = 1>)
  // CHECK:         tl.gemm {{.*}} policy(full_col) plan(<mma, warps_m = 1, warps_n = 4>)
  gpu.func @mma_policy() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %rows = tl.alloc : !acc
    %columns = tl.alloc : !acc
    tl.gemm %a, %b, %rows policy(full_row) : !a, !b, !acc
    tl.gemm %a, %b, %columns policy(full_col) : !a, !b, !acc
    gpu.return
  }

  // 32 rows cannot be cut into four blocks of 16: the policy gives in.
  // CHECK-LABEL: gpu.func @mma_policy_cannot_hold
  // CHECK:         tl.gemm {{.*}} policy(full_row) plan(<mma, warps_m = 2, warps_n = 2>)
  gpu.func @mma_policy_cannot_hold() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : memref<32x64xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<64x512xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : !wide
    tl.gemm %a, %b, %acc policy(full_row) : memref<32x64xf16, #gpu.address_space<workgroup>>, memref<64x512xf16, #gpu.address_space<workgroup>>, !wide
    gpu.return
  }

  // Tiles that no instruction fits are multiplied element by element.
  // CHECK-LABEL: gpu.func @fma
  // CHECK:         tl.gemm {{.*}} plan(<fma, warps_m = 1, warps_n = 1>)
  gpu.func @fma() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : memref<20x20xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<20x20xf32, #tl.fragment>
    tl.gemm %a, %a, %acc : memref<20x20xf16, #gpu.address_space<workgroup>>, memref<20x20xf16, #gpu.address_space<workgroup>>, memref<20x20xf32, #tl.fragment>
    gpu.return
  }

  // Of f64 an instruction takes four elements of K.
  // CHECK-LABEL: gpu.func @f64
  // CHECK:         tl.gemm {{.*}} plan(<mma, warps_m = 2, warps_n = 2>)
  gpu.func @f64() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : memref<64x4xf64, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<64x64xf64, #tl.fragment>
    tl.gemm %a, %a, %acc transpose_b : memref<64x4xf64, #gpu.address_space<workgroup>>, memref<64x4xf64, #gpu.address_space<workgroup>>, memref<64x64xf64, #tl.fragment>
    gpu.return
  }

  // Two gemms on one accumulator take one plan, whatever the second one's policy,
  // so that the accumulator stays where it is.
  // CHECK-LABEL: gpu.func @one_accumulator
  // CHECK:         tl.gemm {{.*}} policy(full_row) plan(<mma, warps_m = 4, warps_n = 1>)
  // CHECK:         tl.gemm {{.*}} policy(full_col) plan(<mma, warps_m = 4, warps_n = 1>)
  gpu.func @one_accumulator() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc policy(full_row) : !a, !b, !acc
    tl.gemm %a, %b, %acc policy(full_col) : !a, !b, !acc
    gpu.return
  }

  // 128 columns have no thirds of whole blocks, and 128 rows neither: of six warps
  // three compute each half.
  // CHECK-LABEL: gpu.func @fewer_parts_than_warps
  // CHECK:         tl.gemm {{.*}} plan(<mma, warps_m = 1, warps_n = 2>)
  gpu.func @fewer_parts_than_warps() kernel attributes {known_block_size = array<i32: 192, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    gpu.return
  }

  // A matrix instruction takes 32 lanes, and the last warp has 16 only.
  // CHECK-LABEL: gpu.func @half_a_warp
  // CHECK:         tl.gemm {{.*}} plan(<fma, warps_m = 1, warps_n = 1>)
  gpu.func @half_a_warp() kernel attributes {known_block_size = array<i32: 48, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    gpu.return
  }
}

// -----

!a = memref<64x64xf16, #gpu.address_space<workgroup>>
!b = memref<64x64xbf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @turing attributes {tl.target = #tl.target<chip = "sm_75">} {
  // Chips before 8.0 multiply f16 and bytes by `mma.sync`, and nothing else.
  // CHECK-LABEL: gpu.func @mma_of_turing
  // CHECK:         tl.gemm {{.*}} plan(<mma, warps_m = 2, warps_n = 2>) : {{.*}}xf16
  // CHECK:         tl.gemm {{.*}} plan(<fma, warps_m = 1, warps_n = 1>) : {{.*}}xbf16
  gpu.func @mma_of_turing() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %first = tl.alloc : !acc
    %second = tl.alloc : !acc
    tl.gemm %a, %a, %first : !a, !a, !acc
    tl.gemm %b, %b, %second : !b, !b, !acc
    gpu.return
  }
}
