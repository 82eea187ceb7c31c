// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-verify-sync))' --verify-diagnostics --split-input-file

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// A block reaches into another one between meetings, and the engine reads what
// came behind a fence.
gpu.module @in_order attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %t = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(8192) : !tile
    %there = tl.map_shared_rank %t[%c1] : !tile
    tl.cluster_barrier
    tl.copy %s to %there tile(64, 64) : !tile to !tile
    tl.fence_async device
    tl.cluster_barrier
    tl.copy %t to %A tile(64, 64) async bulk : !tile to !A
    tl.wait_stores 0 read
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// The other block need not run.
gpu.module @before_the_first attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %t = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(8192) : !tile
    %there = tl.map_shared_rank %t[%c1] : !tile
    // expected-error @below {{touches shared memory of another block of the cluster, which need not run yet; this is a defect of the compiler}}
    tl.copy %s to %there tile(64, 64) : !tile to !tile
    tl.cluster_barrier
    tl.copy %t to %A tile(64, 64) : !tile to !A
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// The other block may have ended.
gpu.module @behind_the_last attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %t = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(8192) : !tile
    %there = tl.map_shared_rank %t[%c1] : !tile
    tl.cluster_barrier
    // expected-error @below {{may touch shared memory of a block of the cluster that has ended; this is a defect of the compiler}}
    tl.copy %s to %there tile(64, 64) : !tile to !tile
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// The two blocks are not in order.
gpu.module @no_barrier attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %t = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(8192) : !tile
    %there = tl.map_shared_rank %t[%c1] : !tile
    tl.cluster_barrier
    tl.copy %s to %there tile(64, 64) : !tile to !tile
    gpu.barrier
    // expected-error @below {{is not in order with what other blocks of the cluster do; this is a defect of the compiler}}
    tl.copy %t to %A tile(64, 64) : !tile to !A
    tl.cluster_barrier
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// The engine may still read what another block writes next.
gpu.module @under_way attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %t = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(8192) : !tile
    %there = tl.map_shared_rank %t[%c1] : !tile
    // expected-note @below {{the earlier access is here}}
    tl.copy %t to %A tile(64, 64) async bulk : !tile to !A
    // expected-error @below {{lets other blocks of the cluster touch memory that `tl.copy` reads, and nothing waits until it is complete; this is a defect of the compiler}}
    tl.cluster_barrier
    tl.copy %s to %there tile(64, 64) : !tile to !tile
    tl.cluster_barrier
    tl.wait_stores 0 read
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// No fence of all spaces.
gpu.module @unfenced attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %t = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(8192) : !tile
    %there = tl.map_shared_rank %t[%c1] : !tile
    tl.cluster_barrier
    // expected-note @below {{the earlier access is here}}
    tl.copy %s to %there tile(64, 64) : !tile to !tile
    tl.fence_async
    // expected-error @below {{lets other blocks of the cluster touch memory that `tl.copy` writes, and no fence shows it to the async proxy there; this is a defect of the compiler}}
    tl.cluster_barrier
    tl.copy %t to %A tile(64, 64) async bulk : !tile to !A
    tl.wait_stores 0 read
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// Two tiles have bytes in common, and others come to one of them at any time.
gpu.module @places attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    // expected-error @below {{is reached by other blocks of the cluster, and shares bytes with another buffer; this is a defect of the compiler}}
    %t = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %there = tl.map_shared_rank %t[%c1] : !tile
    tl.cluster_barrier
    tl.copy %s to %there tile(64, 64) : !tile to !tile
    tl.cluster_barrier
    gpu.return
  }
}
