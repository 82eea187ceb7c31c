// What is told about fragments that go through shared memory.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-gemms,tl-infer-layouts,tl-stage-fragments))' --remarks-filter='tl-stage-.*' --verify-diagnostics

!tile = memref<64x64xf32, #tl.fragment>
!row = memref<64xf32, #tl.fragment>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @remarks attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @kernel(%A: memref<32x64xf32>, %B: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %f = tl.alloc : !tile
    %g = tl.alloc : !tile
    %r = tl.alloc : !row
    %s = tl.alloc : !s
    // expected-remark @below {{a fragment goes through shared memory: (R1) a thread does not hold the elements that its iterations touch}}
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %f[%i, %j] : !tile
      %y = tl.load %f[%j, %i] : !tile
      %z = arith.addf %x, %y : f32
      tl.store %z, %B[%i, %j] : memref<64x64xf32>
    }
    // expected-remark @below {{a fragment goes through shared memory: (R2) several iterations write one element}}
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %f[%i, %j] : !tile
      tl.store %x, %r[%i] : !row
    }
    // expected-remark @below {{a fragment goes through shared memory: a part of it is copied}}
    tl.copy %f to %A tile(32, 64) : !tile to memref<32x64xf32>
    // expected-remark @below {{a fragment goes through shared memory: a part of it is written}}
    tl.copy %A to %f tile(32, 64) : memref<32x64xf32> to !tile
    tl.gemm %s, %s, %g plan(<mma, warps_m = 4, warps_n = 1>) : !s, !s, !tile
    // expected-remark @below {{a fragment goes through shared memory: the instruction needs the accumulator in another layout}}
    tl.gemm %s, %s, %g plan(<mma, warps_m = 1, warps_n = 4>) : !s, !s, !tile
    tl.reduce sum %g to %r dim(1) : !tile to !row
    // expected-remark @below {{a fragment goes through shared memory: the result of the reduction lies otherwise}}
    tl.reduce sum %g to %r dim(0) : !tile to !row
    %x = tl.alloc layout(#tl.fragment_layout<shape = [64, 64], thread = [16, 8] : [4, 64], value = [4, 8] : [1, 512]>) : !tile
    // expected-remark @below {{a fragment goes through shared memory: groups of threads have places between each other's}}
    // expected-remark @below {{a fragment goes through shared memory: the result of the scan lies otherwise}}
    tl.scan sum %x to %x dim(0) : !tile
    gpu.return
  }
}
