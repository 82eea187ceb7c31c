// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-verify-sync))' --verify-diagnostics --split-input-file

!s = memref<128xf32, #gpu.address_space<workgroup>>

// Threads share the work of a tile op, so that one reads what another wrote.
gpu.module @barriers {
  gpu.func @no_barrier(%A: memref<128xf32>, %v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    // expected-note @below {{the earlier access is here}}
    tl.fill %s, %v : !s
    // expected-error @below {{reads memory that `tl.fill` writes, and no barrier stands between them; this is a defect of the compiler}}
    tl.copy %s to %A tile(128) : !s to memref<128xf32>
    gpu.return
  }
}

// -----

!s = memref<128xf32, #gpu.address_space<workgroup>>

// Buffers in the same bytes, around a loop.
gpu.module @loops {
  gpu.func @around_a_loop(%A: memref<128xf32>, %v: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc offset(0) : !s
    %t = tl.alloc offset(256) : !s
    %f = tl.alloc : memref<128xf32, #tl.fragment>
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{writes memory that `tl.copy` reads, and no barrier stands between them}}
      tl.fill %s, %v : !s
      gpu.barrier
      // expected-note @below {{the earlier access is here}}
      tl.copy %t to %f tile(128) : !s to memref<128xf32, #tl.fragment>
    }
    gpu.return
  }
}

// -----

// A tensor that a statement of the block writes and a later one reads.
gpu.module @tensors {
  gpu.func @device_memory(%A: memref<128xf32>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c127 = arith.constant 127 : index
    // expected-note @below {{the earlier access is here}}
    tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [128] : [1], value = [] : []>) {
      tl.store %v, %A[%i] : memref<128xf32>
    }
    // expected-error @below {{reads memory that `tl.parallel` writes, and no barrier stands between them}}
    %x = tl.load %A[%c127] : memref<128xf32>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// A barrier orders threads; it shows nothing to the async proxy.
gpu.module @fences {
  gpu.func @no_fence(%v: f16) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    // expected-note @below {{the earlier access is here}}
    tl.fill %a, %v : !tile
    gpu.barrier
    // expected-error @below {{reads memory that `tl.fill` writes, and no fence and barrier show it to the async proxy}}
    tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// The fence is the writing thread's, so that the barrier comes after it.
gpu.module @late_fences {
  gpu.func @late_fence(%v: f16) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    // expected-note @below {{the earlier access is here}}
    tl.fill %a, %v : !tile
    gpu.barrier
    tl.fence_async
    // expected-error @below {{reads memory that `tl.fill` writes, and no fence and barrier show it to the async proxy}}
    tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// The operands of a gemm under way.
gpu.module @gemms {
  gpu.func @operands(%v: f16) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    // expected-note @below {{the earlier access is here}}
    tl.gemm %a, %a, %acc async plan(<wgmma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.barrier
    // expected-error @below {{writes memory that `tl.gemm` reads, and nothing waits until it is complete}}
    tl.fill %a, %v : !tile
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// Registers are complete by a wait that names them.
gpu.module @products {
  gpu.func @products(%A: memref<64x64xf32>, %v: f16) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    // expected-note @below {{the earlier access is here}}
    tl.gemm %a, %a, %acc async plan(<wgmma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    tl.wait_gemm 0
    // expected-error @below {{reads memory that `tl.gemm` writes, and nothing waits until it is complete}}
    tl.copy %acc to %A tile(64, 64) : !acc to memref<64x64xf32>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

// A wait for groups leaves the last ones under way.
gpu.module @groups {
  gpu.func @groups(%A: memref<64x64xf16>, %B: memref<64x64xf16>) kernel {
    %a = tl.alloc offset(0) : !tile
    %b = tl.alloc offset(8192) : !tile
    tl.copy %A to %a tile(64, 64) async : memref<64x64xf16> to !tile
    tl.commit_copies
    // expected-note @below {{the earlier access is here}}
    tl.copy %A to %b tile(64, 64) async : memref<64x64xf16> to !tile
    tl.commit_copies
    tl.wait_copies 1
    gpu.barrier
    tl.copy %a to %B tile(64, 64) : !tile to memref<64x64xf16>
    // expected-error @below {{reads memory that `tl.copy` writes, and nothing waits until it is complete}}
    tl.copy %b to %B tile(64, 64) : !tile to memref<64x64xf16>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bars = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>

// The parity is that of the phase before, which is complete: the wait does not
// wait.
gpu.module @phases {
  gpu.func @wrong_phase(%A: memref<64x64xf16>, %B: memref<64x64xf16>) kernel {
    %c0 = arith.constant 0 : index
    %p = arith.constant 1 : i32
    %ring = tl.alloc offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bars
    %s = tl.slot %ring[%c0] : !ring to !tile
    // expected-note @below {{the earlier access is here}}
    tl.copy %A to %s tile(64, 64) async bulk barrier(%full[%c0] : !bars) : memref<64x64xf16> to !tile
    tl.wait_barrier %full[%c0] parity(%p) : !bars
    // expected-error @below {{reads memory that `tl.copy` writes, and nothing waits until it is complete}}
    tl.copy %s to %B tile(64, 64) : !tile to memref<64x64xf16>
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bars = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>

// The phase goes on although control leaves the branch, and the loop that is in
// it: the wait of the next iteration is for a phase that is over.
gpu.module @branches {
  gpu.func @in_a_branch(%A: memref<64x64xf16>, %B: memref<64x64xf16>, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p = arith.constant 0 : i32
    %ring = tl.alloc offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bars
    %s = tl.slot %ring[%c0] : !ring to !tile
    scf.for %i = %c0 to %n step %c1 {
      scf.if %c {
        scf.for %j = %c0 to %c1 step %c1 {
          // expected-note @below {{the earlier access is here}}
          tl.copy %A to %s tile(64, 64) async bulk barrier(%full[%c0] : !bars) : memref<64x64xf16> to !tile
          tl.wait_barrier %full[%c0] parity(%p) : !bars
          // expected-error @below {{reads memory that `tl.copy` writes, and nothing waits until it is complete}}
          tl.copy %s to %B tile(64, 64) : !tile to memref<64x64xf16>
          gpu.barrier
        }
      }
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bars = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>

// What the iterations before left of a number of the loop is asked for in the next
// one, though not behind the inner loop.
gpu.module @numbers {
  gpu.func @in_front_of_a_loop(%A: memref<64x64xf16>, %B: memref<64x64xf16>, %n: index, %m: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p = arith.constant 0 : i32
    %ring = tl.alloc offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bars
    scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0, %phase = %p) -> (index, i32) {
      %s = tl.slot %ring[%slot] : !ring to !tile
      // expected-note @below {{the earlier access is here}}
      tl.copy %A to %s tile(64, 64) async bulk barrier(%full[%slot] : !bars) : memref<64x64xf16> to !tile
      scf.for %j = %c0 to %m step %c1 {
        gpu.barrier
      }
      // The parity is never another one.
      tl.wait_barrier %full[%slot] parity(%phase) : !bars
      // expected-error @below {{reads memory that `tl.copy` writes, and nothing waits until it is complete}}
      tl.copy %s to %B tile(64, 64) : !tile to memref<64x64xf16>
      gpu.barrier
      %next = tl.rotate %slot by 1 of 2
      scf.yield %next, %phase : index, i32
    }
    gpu.return
  }
}

// -----

!bars = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>

gpu.module @forever {
  gpu.func @nobody_arrives() kernel {
    %c0 = arith.constant 0 : index
    %p = arith.constant 0 : i32
    %full = tl.alloc_barriers arrivals(1) offset(0) : !bars
    // expected-error @below {{waits for a phase that nothing completes}}
    tl.wait_barrier %full[%c0] parity(%p) : !bars
    gpu.return
  }
}

// -----

!bars = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>

gpu.module @twice {
  gpu.func @in_a_loop(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @below {{sets its barriers up again in each iteration of a loop}}
      %full = tl.alloc_barriers arrivals(1) offset(0) : !bars
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

// The next block gets the memory when this one ends.
gpu.module @ends {
  gpu.func @under_way(%A: memref<64x64xf16>) kernel {
    %a = tl.alloc offset(0) : !tile
    // expected-error @below {{may be under way in shared memory when the block ends}}
    tl.copy %a to %A tile(64, 64) async bulk : !tile to memref<64x64xf16>
    gpu.return
  }
}

// -----

// Threads that do not come by would be waited for.
gpu.module @branches {
  gpu.func @divergent() kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    // expected-note @below {{the condition differs between threads}}
    %first = arith.cmpi eq, %t, %c0 : index
    scf.if %first {
      // expected-error @below {{is executed by all threads together, but stands where only some threads come by}}
      gpu.barrier
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<3x64x64xf16, #gpu.address_space<workgroup>>

gpu.module @slots {
  gpu.func @no_end(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc offset(0) : !ring
    // expected-error @below {{has more states of slots and phases than can be looked at; this is a defect of the compiler}}
    scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> index {
      %s = tl.slot %ring[%slot] : !ring to !tile
      %next = arith.addi %slot, %c1 : index
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

// Buffers conflict where their bytes meet.
gpu.module @offsets {
  gpu.func @no_offset(%v: f32) kernel {
    // expected-error @below {{has no offset: run `tl-plan-shared-memory` first}}
    %s = tl.alloc : memref<128xf32, #gpu.address_space<workgroup>>
    tl.fill %s, %v : memref<128xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @pipelines {
  gpu.func @pipelined(%n: index) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{is not a plain loop yet: run `tl-expand-pipeline` first}}
    tl.pipelined %k = %c0 to %n stages(2) {
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// Two roles in order: nothing is said.
gpu.module @roles_agree {
  gpu.func @k(%A: !A, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
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
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.copy %r to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
        tl.arrive_barrier %empty[%s] : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// A slot is filled again while the other role reads it.
gpu.module @refill_too_early {
  gpu.func @k(%A: !A, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        %v = tl.slot %ring[%s] : !ring to !tile
        // expected-error @below {{writes memory that `tl.copy` reads, and no phase of an mbarrier stands between the roles; this is a defect of the compiler}}
        tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk barrier(%full[%s] : !bar) : !A to !tile
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        // expected-note @below {{the earlier access is here}}
        tl.copy %r to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
        tl.arrive_barrier %empty[%s] : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// Who waits for a slot that nobody gives back waits for ever.
gpu.module @never_released {
  gpu.func @k(%A: !A, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        // expected-error @below {{waits for a phase that nothing completes; this is a defect of the compiler}}
        tl.wait_barrier %empty[%s] parity(%q) : !bar
        %v = tl.slot %ring[%s] : !ring to !tile
        tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk barrier(%full[%s] : !bar) : !A to !tile
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.copy %r to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// The roles make different numbers of steps.
gpu.module @other_bounds {
  gpu.func @k(%A: !A, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      // expected-error @below {{has to do with phases of mbarriers, and what other roles do at the same time is not known to go the same ways; this is a defect of the compiler}}
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
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
      scf.for %i = %c0 to %m step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.copy %r to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
        tl.arrive_barrier %empty[%s] : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// A wait for a phase that is over already, with one of the same parity to come.
gpu.module @same_phase_twice {
  gpu.func @k(%A: !A, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
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
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.copy %r to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
        tl.arrive_barrier %empty[%s] : !bar
        // expected-error @below {{does not wait for one phase after the other; this is a defect of the compiler}}
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// A slot is given back twice.
gpu.module @arrives_twice {
  gpu.func @k(%A: !A, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
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
      scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
        %q = arith.xori %p, %p1 : i32
        tl.wait_barrier %full[%s] parity(%p) : !bar
        %r = tl.slot %ring[%s] : !ring to !tile
        tl.copy %r to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
        tl.arrive_barrier %empty[%s] : !bar
        // expected-error @below {{may arrive before the phase before has been waited for; this is a defect of the compiler}}
        tl.arrive_barrier %empty[%s] : !bar
        %s1 = tl.rotate %s by 1 of 2
        %p2 = tl.next_phase %p after %s of 2
        scf.yield %s1, %p2 : index, i32
      }
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// Slots that nobody knows.
gpu.module @unknown_slot {
  gpu.func @k(%A: !A, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      scf.for %i = %c0 to %n step %c1 {
        // expected-error @below {{waits for a phase that is not known; this is a defect of the compiler}}
        tl.wait_barrier %empty[%i] parity(%p1) : !bar
        %v = tl.slot %ring[%i] : !ring to !tile
        tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk barrier(%full[%i] : !bar) : !A to !tile
      }
    }
    tl.role threads(0, 128) barrier(2) {
      scf.for %i = %c0 to %n step %c1 {
        tl.wait_barrier %full[%i] parity(%p0) : !bar
        %r = tl.slot %ring[%i] : !ring to !tile
        tl.copy %r to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
        tl.arrive_barrier %empty[%i] : !bar
      }
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// The same of an arrival.
gpu.module @unknown_arrival {
  gpu.func @k(%A: !A, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {

    }
    tl.role threads(0, 128) barrier(2) {
      // expected-error @below {{arrives at an mbarrier that is not known; this is a defect of the compiler}}
      tl.arrive_barrier %empty[%n] : !bar
    }
    gpu.return
  }
}

// -----

!tiles = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

// A slot of a slot is a part of it, whatever its own number.
gpu.module @slots_of_slots {
  gpu.func @part_of_a_slot(%A: memref<2x64x64xf16>, %v: f16) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc offset(0) : memref<2x2x64x64xf16, #gpu.address_space<workgroup>>
    %s1 = tl.slot %ring[%c1] : memref<2x2x64x64xf16, #gpu.address_space<workgroup>> to !tiles
    %s10 = tl.slot %s1[%c0] : !tiles to !tile
    // expected-note @below {{the earlier access is here}}
    tl.fill %s10, %v : !tile
    // expected-error @below {{reads memory that `tl.fill` writes}}
    tl.copy %s1 to %A tile(2, 64, 64) : !tiles to memref<2x64x64xf16>
    gpu.return
  }
}

// -----

!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!one = memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>

// Beside pipes, which are looked at one by one, an mbarrier with a phase that is
// known from the start.
gpu.module @nothing_completes_a_constant_phase {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %p0 = arith.constant 0 : i32
    %first = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %second = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(16384) : !ring
    %full1 = tl.alloc_barriers arrivals(1) offset(32768) : !bar
    %full2 = tl.alloc_barriers arrivals(1) offset(32784) : !bar
    %once = tl.alloc_barriers arrivals(1) offset(32800) : !one
    // expected-error @below {{waits for a phase that nothing completes; this is a defect of the compiler}}
    tl.wait_barrier %once[%c0] parity(%p0) : !one
    scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
      %t = tl.slot %first[%s] : !ring to !tile
      tl.copy %A[%c0, %c0] to %t tile(64, 64) async bulk barrier(%full1[%s] : !bar) : !A to !tile
      tl.wait_barrier %full1[%s] parity(%p) : !bar
      %s1 = tl.rotate %s by 1 of 2
      %p1 = tl.next_phase %p after %s of 2
      gpu.barrier
      scf.yield %s1, %p1 : index, i32
    }
    scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
      %t = tl.slot %second[%s] : !ring to !tile
      tl.copy %A[%c0, %c0] to %t tile(64, 64) async bulk barrier(%full2[%s] : !bar) : !A to !tile
      tl.wait_barrier %full2[%s] parity(%p) : !bar
      %s1 = tl.rotate %s by 1 of 2
      %p1 = tl.next_phase %p after %s of 2
      gpu.barrier
      scf.yield %s1, %p1 : index, i32
    }
    gpu.return
  }
}

// -----

!A = memref<64x32xf32>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>
!bars = memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>

// A tile that is rounded for products, and read by others too.
gpu.module @rounded {
  gpu.func @read_elsewhere(%A: !A, %B: !A) kernel {
    %c0 = arith.constant 0 : index
    %a = tl.alloc offset(0) : !tile
    %bars = tl.alloc_barriers arrivals(1) offset(8192) : !bars
    %acc = tl.alloc : !acc
    // expected-error @below {{rounds a tile to tf32 that is not for products in tf32 alone; this is a defect of the compiler}}
    tl.copy %A to %a tile(64, 32) async bulk round_tf32 barrier(%bars[%c0] : !bars) : !A to !tile
    tl.gemm %a, %a, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    // expected-note @below {{this touches it as f32}}
    tl.copy %a to %B tile(64, 32) : !tile to !A
    gpu.return
  }
}

// -----

!A = memref<64x32xf32>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>
!bars = memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>

// `mma` rounds in registers, if it is not told that it need not.
gpu.module @rounded {
  gpu.func @read_by_mma(%A: !A) kernel {
    %c0 = arith.constant 0 : index
    %a = tl.alloc offset(0) : !tile
    %bars = tl.alloc_barriers arrivals(1) offset(8192) : !bars
    %acc = tl.alloc : !acc
    // expected-error @below {{rounds a tile to tf32 that is not for products in tf32 alone}}
    tl.copy %A to %a tile(64, 32) async bulk round_tf32 barrier(%bars[%c0] : !bars) : !A to !tile
    // expected-note @below {{this touches it as f32}}
    tl.gemm %a, %a, %acc transpose_b plan(<mma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }
}

// -----

!A = memref<64x32xf32>
!ring = memref<2x64x32xf32, #gpu.address_space<workgroup>>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>
!bars = memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>

// One of two loads leaves its slot as it comes.
gpu.module @rounded {
  gpu.func @by_half(%A: !A) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc offset(0) : !ring
    %bars = tl.alloc_barriers arrivals(1) offset(16384) : !bars
    %acc = tl.alloc : !acc
    %a = tl.slot %ring[%c0] : !ring to !tile
    %b = tl.slot %ring[%c1] : !ring to !tile
    // expected-error @below {{rounds a tile to tf32 that is not for products in tf32 alone}}
    tl.copy %A to %a tile(64, 32) async bulk round_tf32 barrier(%bars[%c0] : !bars) : !A to !tile
    // expected-note @below {{this touches it as f32}}
    tl.copy %A to %b tile(64, 32) async bulk barrier(%bars[%c0] : !bars) : !A to !tile
    tl.gemm %a, %b, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }
}

// -----

!A = memref<64x32xf32>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>
!bars = memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>

// What a load leaves, the product would cut.
gpu.module @rounded {
  gpu.func @not_at_all(%A: !A) kernel {
    %c0 = arith.constant 0 : index
    %a = tl.alloc offset(0) : !tile
    %bars = tl.alloc_barriers arrivals(1) offset(8192) : !bars
    %acc = tl.alloc : !acc
    // expected-error @below {{does not round a tile that is cut to tf32; this is a defect of the compiler}}
    tl.copy %A to %a tile(64, 32) async bulk barrier(%bars[%c0] : !bars) : !A to !tile
    // expected-note @below {{it is read here}}
    tl.gemm %a, %a, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }
}

// -----

!A = memref<64x32xf32>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!regs = memref<64x32xf32, #tl.fragment>
!acc = memref<64x64xf32, #tl.fragment>

// A factor in registers is rounded there, whatever wrote it: this is no error.
gpu.module @rounded {
  gpu.func @in_registers(%A: !A) kernel {
    %a = tl.alloc : !regs
    %b = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.copy %A to %a tile(64, 32) : !A to !regs
    tl.gemm %a, %b, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !regs, !tile, !acc
    gpu.return
  }
}

// -----

!A = memref<64x32xf32>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

// Nothing has rounded what a product is told that it need not round.
gpu.module @rounded {
  gpu.func @not_narrow(%A: !A) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    // expected-error @below {{does not round a tile that is cut to tf32; this is a defect of the compiler}}
    tl.copy %A to %a tile(64, 32) : !A to !tile
    gpu.barrier
    // expected-note @below {{it is read here}}
    tl.gemm %a, %a, %acc transpose_b narrow_b plan(<mma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }
}

// -----

!A = memref<64x32xf32>
!narrow = memref<64x32xf16>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!regs = memref<64x32xf32, #tl.fragment>
!acc = memref<64x64xf32, #tl.fragment>

// In registers neither: one of two ops writes numbers of all 32 bits.
gpu.module @rounded {
  gpu.func @not_narrow_in_registers(%A: !A, %H: !narrow) kernel {
    // expected-note @below {{they are in this tile}}
    %a = tl.alloc : !regs
    %b = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.copy %H to %a tile(64, 32) : !narrow to !regs
    tl.copy %A to %a tile(64, 32) : !A to !regs
    // expected-error @below {{takes numbers for narrow ones that may be others; this is a defect of the compiler}}
    tl.gemm %a, %b, %acc transpose_b narrow_a plan(<mma, warps_m = 4, warps_n = 1>) : !regs, !tile, !acc
    gpu.return
  }
}

// -----

!A = memref<64x32xf32>
!narrow = memref<64x32xf16>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!regs = memref<64x32xf32, #tl.fragment>
!acc = memref<64x64xf32, #tl.fragment>

// What was extended needs no rounding, in registers and in shared memory.
gpu.module @rounded {
  gpu.func @narrow(%H: !narrow) kernel {
    %a = tl.alloc : !regs
    %b = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.copy %H to %a tile(64, 32) : !narrow to !regs
    tl.copy %H to %b tile(64, 32) : !narrow to !tile
    gpu.barrier
    tl.gemm %a, %b, %acc transpose_b narrow_a narrow_b plan(<mma, warps_m = 4, warps_n = 1>) : !regs, !tile, !acc
    gpu.return
  }
}
