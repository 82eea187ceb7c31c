// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-gemms))' --remarks-filter='tl-.*' --verify-diagnostics --split-input-file

// expected-error @below {{has no target: run `tl-attach-target` first}}
gpu.module @no_target {
}

// -----

!i8 = memref<64x64xi8, #gpu.address_space<workgroup>>
!i32 = memref<64x64xi32, #tl.fragment>
!f64 = memref<64x64xf64, #gpu.address_space<workgroup>>
!f64acc = memref<64x64xf64, #tl.fragment>
!f16 = memref<64x64xf16, #gpu.address_space<workgroup>>
!f32acc = memref<64x64xf32, #tl.fragment>
!f16odd = memref<64x24xf16, #gpu.address_space<workgroup>>
!f16few = memref<32x64xf16, #gpu.address_space<workgroup>>
!f32few = memref<32x64xf32, #tl.fragment>
!f16tiny = memref<20x20xf16, #gpu.address_space<workgroup>>
!f32tiny = memref<20x20xf32, #tl.fragment>

// Why a gemm does not use the fastest instruction that the chip has.
gpu.module @slower_gemms attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @one_group() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %i8 = tl.alloc : !i8
    %i32 = tl.alloc : !i32
    // expected-remark @below {{gemm uses mma: wgmma reads 8- and 32-bit operands only with K contiguous}}
    tl.gemm %i8, %i8, %i32 : !i8, !i8, !i32
    %f64 = tl.alloc : !f64
    %f64acc = tl.alloc : !f64acc
    // expected-remark @below {{gemm uses mma: wgmma has no f64}}
    tl.gemm %f64, %f64, %f64acc : !f64, !f64, !f64acc
    %odd = tl.alloc : !f16odd
    %f32a = tl.alloc : !f32acc
    // expected-remark @below {{gemm uses fma: no matrix instruction fits the tile, its type and 128 threads}}
    tl.gemm %odd, %odd, %f32a transpose_b : !f16odd, !f16odd, !f32acc
    %few = tl.alloc : !f16few
    %f16 = tl.alloc : !f16
    %f32few = tl.alloc : !f32few
    // expected-remark @below {{gemm uses mma: the tile cannot be cut into 64-row blocks for its warp groups}}
    tl.gemm %few, %f16, %f32few : !f16few, !f16, !f32few
    gpu.return
  }

  gpu.func @half_a_group() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %f16 = tl.alloc : !f16
    %acc = tl.alloc : !f32acc
    // expected-remark @below {{gemm uses mma: the block is not a multiple of 128 threads}}
    tl.gemm %f16, %f16, %acc : !f16, !f16, !f32acc
    gpu.return
  }
}

// -----

!f16 = memref<64x64xf16, #gpu.address_space<workgroup>>
!f16odd = memref<64x40xf16, #gpu.address_space<workgroup>>
!f32odd = memref<64x40xf32, #tl.fragment>

// Rows of 80 bytes cannot be swizzled.
gpu.module @odd_rows attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !f16
    %b = tl.alloc : !f16odd
    %acc = tl.alloc : !f32odd
    // expected-remark @below {{gemm uses mma: an operand's rows are not a multiple of 32 bytes}}
    tl.gemm %a, %b, %acc : !f16, !f16odd, !f32odd
    gpu.return
  }
}
