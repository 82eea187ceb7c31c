// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-verify-sync))' --verify-diagnostics --split-input-file

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>
!acc = memref<64x64xf32, #tl.fragment>

// Releases of all blocks are waited for before a slot is filled in all of them.
gpu.module @in_order attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %x = gpu.block_id x
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(8) offset(16400) : !bar
    %acc = tl.alloc : !acc
    tl.cluster_barrier
    tl.role threads(128, 1) barrier(1) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %empty[%s] parity(%q) : !bar
        %v = tl.slot %ring[%s] : !ring to !tile
        tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk multicast barrier(%full[%s] : !bar) : !A to !tile
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.gemm %r, %r, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
        tl.arrive_barrier %empty[%s] cluster : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.cluster_barrier
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>
!acc = memref<64x64xf32, #tl.fragment>

// Each block releases its own slots, and the other one may still read its own.
gpu.module @released_here attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %x = gpu.block_id x
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %acc = tl.alloc : !acc
    tl.cluster_barrier
    tl.role threads(128, 1) barrier(1) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %empty[%s] parity(%q) : !bar
        %v = tl.slot %ring[%s] : !ring to !tile
        // expected-note @below {{the earlier access is here}}
        // expected-error @below {{and the other blocks of the cluster are not known to be past it; this is a defect of the compiler}}
        tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk multicast barrier(%full[%s] : !bar) : !A to !tile
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.gemm %r, %r, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
        tl.arrive_barrier %empty[%s] : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.cluster_barrier
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>
!acc = memref<64x64xf32, #tl.fragment>

// More blocks are waited for than there are.
gpu.module @too_many attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %x = gpu.block_id x
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(12) offset(16400) : !bar
    %acc = tl.alloc : !acc
    tl.cluster_barrier
    tl.role threads(128, 1) barrier(1) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        // expected-error @below {{waits for a phase that nothing completes; this is a defect of the compiler}}
        tl.wait_barrier %empty[%s] parity(%q) : !bar
        %v = tl.slot %ring[%s] : !ring to !tile
        tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk multicast barrier(%full[%s] : !bar) : !A to !tile
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.gemm %r, %r, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
        tl.arrive_barrier %empty[%s] cluster : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.cluster_barrier
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>
!acc = memref<64x64xf32, #tl.fragment>

// A block that fetches for itself alone does not tell the others that it has waited.
gpu.module @not_told attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %x = gpu.block_id x
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(8) offset(16400) : !bar
    %acc = tl.alloc : !acc
    tl.cluster_barrier
    tl.role threads(128, 1) barrier(1) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %empty[%s] parity(%q) : !bar
        %v = tl.slot %ring[%s] : !ring to !tile
        tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk barrier(%full[%s] : !bar) : !A to !tile
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.gemm %r, %r, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
        // expected-error @below {{may arrive before the phase before has been waited for; this is a defect of the compiler}}
        tl.arrive_barrier %empty[%s] cluster : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.cluster_barrier
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>
!acc = memref<64x64xf32, #tl.fragment>

// A tile that is fetched together is the same in all blocks.
gpu.module @other_place attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %x = gpu.block_id x
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(8) offset(16400) : !bar
    %acc = tl.alloc : !acc
    tl.cluster_barrier
    tl.role threads(128, 1) barrier(1) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %empty[%s] parity(%q) : !bar
        %v = tl.slot %ring[%s] : !ring to !tile
        // expected-error @below {{is one tile of all blocks of a cluster, but does not come from the same place in all of them; this is a defect of the compiler}}
        tl.copy %A[%x, %c0] to %v tile(64, 64) async bulk multicast barrier(%full[%s] : !bar) : !A to !tile
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.gemm %r, %r, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
        tl.arrive_barrier %empty[%s] cluster : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.cluster_barrier
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>
!acc = memref<64x64xf32, #tl.fragment>

// Blocks of a cluster go around the loop equally often.
gpu.module @own_bound attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>, tl.cluster = array<i64: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %x = gpu.block_id x
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(8) offset(16400) : !bar
    %acc = tl.alloc : !acc
    tl.cluster_barrier
    tl.role threads(128, 1) barrier(1) {
      // expected-note @below {{this differs between blocks}}
      %e:2 = scf.for %j = %c0 to %x step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %empty[%s] parity(%q) : !bar
        %v = tl.slot %ring[%s] : !ring to !tile
        // expected-error @below {{is executed by all blocks of a cluster in step, but not equally often; this is a defect of the compiler}}
        tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk multicast barrier(%full[%s] : !bar) : !A to !tile
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      %e:2 = scf.for %j = %c0 to %x step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.gemm %r, %r, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
        tl.arrive_barrier %empty[%s] cluster : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.cluster_barrier
    gpu.return
  }
}
