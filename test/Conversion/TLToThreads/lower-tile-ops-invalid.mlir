// RUN: tl-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))'

// Iterations run as lanes of a vector: an op must have a form for vectors.
gpu.module @parallel attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @loop(%A: memref<32xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [1] : [1]>) {
      // expected-error @below {{is not supported inside `tl.parallel`; use element-wise arithmetic, loads, stores and `scf.if`}}
      %g = gpu.grid_dim x
      %x = arith.index_cast %g : index to i32
      tl.store %x, %A[%i] : memref<32xi32>
    }
    gpu.return
  }
}

// -----

// A gemm's instruction is chosen before.
gpu.module @gemm attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @no_plan() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 16>) offset(0) : memref<16x16xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 16>) offset(1024) : memref<16x16xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [16, 16], thread = [4, 8] : [2, 16], value = [2, 2, 2] : [1, 128, 8]>) : memref<16x16xf32, #tl.fragment>
    // expected-error @below {{has no plan: run `tl-infer-layouts` first}}
    tl.gemm %a, %b, %acc : memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf32, #tl.fragment>
    gpu.return
  }
}

// -----

// A copy marked for the bulk engine that the engine cannot do: 4-byte aligned.
gpu.module @bulk attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @unaligned(%A: memref<64x64xf16> {tl.align = 4 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<64x64xf16, #gpu.address_space<workgroup>>
    // expected-error @below {{cannot be done by the bulk copy engine: the address of its buffer is not known to be a multiple of 16 bytes}}
    tl.copy %tile to %A tile(64, 64) bulk : memref<64x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16>
    gpu.return
  }
}

// -----

// What a kernel is lowered to depends on the chip.
// expected-error @below {{has no target: run `tl-attach-target` first}}
gpu.module @no_target {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
