// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-pipeline))' --remarks-filter='tl-.*' --verify-diagnostics --split-input-file

// expected-error @below {{has no target: run `tl-attach-target` first}}
gpu.module @no_target {
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @nothing_to_copy(%n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    // expected-remark @below {{loop is not pipelined: it has no copy from device memory into shared memory that could be started early}}
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.gemm %s, %s, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // A loop of one stage does not ask for a pipeline.
  gpu.func @one_stage(%n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    tl.pipelined %k = %c0 to %n stages(1) {
    }
    gpu.return
  }

  gpu.func @unaligned_address(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      // expected-remark @below {{the loop's copies do not use the bulk copy engine: the address of its buffer is not known to be a multiple of 16 bytes}}
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
    }
    gpu.return
  }

  gpu.func @unaligned_strides(%A: memref<?x?xf16> {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      // expected-remark @below {{the loop's copies do not use the bulk copy engine: a stride of its buffer is not known to be a multiple of 16 bytes}}
      tl.copy %A[%c0, %k] to %s tile(64, 64) : memref<?x?xf16> to !tile
    }
    gpu.return
  }

  gpu.func @inside_a_loop(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    scf.for %i = %c0 to %n step %c1 {
      // expected-remark @below {{the loop's copies do not use the bulk copy engine: the loop is inside another loop}}
      tl.pipelined %k = %c0 to %n stages(2) {
        tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      }
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

// A chip that has no bulk copy engine gives no remark about it.
gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
    }
    gpu.return
  }
}

// -----

// Whether the bulk copy engine can fill a tile depends on its layout.
gpu.module @layouts attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @no_layout(%A: memref<4096x4096xf16>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    %s = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : memref<4096x4096xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}
