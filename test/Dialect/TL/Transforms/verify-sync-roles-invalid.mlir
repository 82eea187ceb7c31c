// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-verify-sync))' --verify-diagnostics --split-input-file

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>
!x = memref<8xi32, #gpu.address_space<workgroup>>

// The branch of both roles is decided by the outer loop.
gpu.module @same_loop {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %i7 = arith.constant 7 : i32
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %x = tl.alloc offset(16640) : !x
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      scf.for %i = %c0 to %n step %c1 iter_args(%sa = %c0, %pa = %p0) -> (index, i32) {
        %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %sa, %p = %pa) -> (index, i32) {
          %c = arith.cmpi slt, %i, %c2 : index
          %b:2 = scf.if %c -> (index, i32) {
            %q = arith.xori %p, %p1 : i32
            tl.wait_barrier %empty[%s] parity(%q) : !bar
            %v = tl.slot %ring[%s] : !ring to !tile
            tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk barrier(%full[%s] : !bar) : !A to !tile
            %s1 = tl.rotate %s by 1 of 2
            %p2 = tl.next_phase %p after %s of 2
            scf.yield %s1, %p2 : index, i32
          } else {
            scf.yield %s, %p : index, i32
          }
          scf.yield %b#0, %b#1 : index, i32
        }
        scf.yield %e#0, %e#1 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      scf.for %i = %c0 to %n step %c1 iter_args(%sa = %c0, %pa = %p0) -> (index, i32) {
        %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %sa, %p = %pa) -> (index, i32) {
          %c = arith.cmpi slt, %i, %c2 : index
          %b:2 = scf.if %c -> (index, i32) {
            tl.wait_barrier %full[%s] parity(%p) : !bar
            %r = tl.slot %ring[%s] : !ring to !tile
            tl.copy %r to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
            tl.arrive_barrier %empty[%s] : !bar
            %s1 = tl.rotate %s by 1 of 2
            %p2 = tl.next_phase %p after %s of 2
            scf.yield %s1, %p2 : index, i32
          } else {
            scf.yield %s, %p : index, i32
          }
          scf.yield %b#0, %b#1 : index, i32
        }
        scf.yield %e#0, %e#1 : index, i32
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
!x = memref<8xi32, #gpu.address_space<workgroup>>

// Loops of equal bounds in each other are different ones.
gpu.module @other_loop {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %i7 = arith.constant 7 : i32
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %x = tl.alloc offset(16640) : !x
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      scf.for %i = %c0 to %n step %c1 iter_args(%sa = %c0, %pa = %p0) -> (index, i32) {
        %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %sa, %p = %pa) -> (index, i32) {
          %c = arith.cmpi slt, %i, %c2 : index
          // expected-error @below {{has to do with phases of mbarriers, and what other roles do at the same time is not known to go the same ways; this is a defect of the compiler}}
          %b:2 = scf.if %c -> (index, i32) {
            %q = arith.xori %p, %p1 : i32
            tl.wait_barrier %empty[%s] parity(%q) : !bar
            %v = tl.slot %ring[%s] : !ring to !tile
            tl.copy %A[%c0, %c0] to %v tile(64, 64) async bulk barrier(%full[%s] : !bar) : !A to !tile
            %s1 = tl.rotate %s by 1 of 2
            %p2 = tl.next_phase %p after %s of 2
            scf.yield %s1, %p2 : index, i32
          } else {
            scf.yield %s, %p : index, i32
          }
          scf.yield %b#0, %b#1 : index, i32
        }
        scf.yield %e#0, %e#1 : index, i32
      }
    }
    tl.role threads(0, 128) barrier(2) {
      scf.for %i = %c0 to %n step %c1 iter_args(%sa = %c0, %pa = %p0) -> (index, i32) {
        %e:2 = scf.for %j = %c0 to %n step %c1 iter_args(%s = %sa, %p = %pa) -> (index, i32) {
          %c = arith.cmpi slt, %j, %c2 : index
          %b:2 = scf.if %c -> (index, i32) {
            tl.wait_barrier %full[%s] parity(%p) : !bar
            %r = tl.slot %ring[%s] : !ring to !tile
            tl.copy %r to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
            tl.arrive_barrier %empty[%s] : !bar
            %s1 = tl.rotate %s by 1 of 2
            %p2 = tl.next_phase %p after %s of 2
            scf.yield %s1, %p2 : index, i32
          } else {
            scf.yield %s, %p : index, i32
          }
          scf.yield %b#0, %b#1 : index, i32
        }
        scf.yield %e#0, %e#1 : index, i32
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
!x = memref<8xi32, #gpu.address_space<workgroup>>

// Other iterations, if a bound is negative.
gpu.module @unsigned {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %i7 = arith.constant 7 : i32
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %x = tl.alloc offset(16640) : !x
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      // expected-error @below {{has to do with phases of mbarriers, and what other roles do at the same time is not known to go the same ways; this is a defect of the compiler}}
      scf.for unsigned %i = %c0 to %n step %c1 iter_args(%s = %c0, %p = %p0) -> (index, i32) {
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
!x = memref<8xi32, #gpu.address_space<workgroup>>

// Roles run at the same time, whatever stands between them.
gpu.module @apart {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %i7 = arith.constant 7 : i32
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %x = tl.alloc offset(16640) : !x
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(128, 1) barrier(1) {
      tl.store %i7, %x[%c0] : !x
    }
    %k = arith.constant 3 : index
    // expected-error @below {{does not follow the role before it, so that they cannot be executed together; this is a defect of the compiler}}
    tl.role threads(0, 128) barrier(2) {
      %l = tl.load %x[%c0] : !x
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<2x64x64xf16, #gpu.address_space<workgroup>>
!bar = memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
!A = memref<4096x4096xf16>
!x = memref<8xi32, #gpu.address_space<workgroup>>

// The thread that starts a copy does not know what others have done.
gpu.module @one_thread_tells {
  gpu.func @k(%A: !A, %n: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %i7 = arith.constant 7 : i32
    %p0 = arith.constant 0 : i32
    %p1 = arith.constant 1 : i32
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !ring
    %full = tl.alloc_barriers arrivals(1) offset(16384) : !bar
    %empty = tl.alloc_barriers arrivals(4) offset(16400) : !bar
    %x = tl.alloc offset(16640) : !x
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.role threads(0, 128) barrier(2) {
      // expected-note @below {{the earlier access is here}}
      %l = tl.load %x[%c0] : !x
      %t = tl.slot %ring[%c0] : !ring to !tile
      tl.copy %A[%c0, %c0] to %t tile(64, 64) async bulk barrier(%full[%c0] : !bar) : !A to !tile
    }
    tl.role threads(128, 1) barrier(1) {
      tl.wait_barrier %full[%c0] parity(%p0) : !bar
      // expected-error @below {{writes memory that `tl.load` reads, and no phase of an mbarrier stands between the roles; this is a defect of the compiler}}
      tl.store %i7, %x[%c0] : !x
    }
    gpu.return
  }
}

// -----

// Only some threads take a turn.
gpu.module @turns_of_some {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %t = gpu.thread_id x
    %c9 = arith.constant 9 : index
    // expected-note @below {{the condition differs between threads}}
    %few = arith.cmpi ult, %t, %c9 : index
    tl.role threads(0, 256) barrier(2) {
      tl.open_turns barrier(3)
      scf.if %few {
        // expected-error @below {{is executed by all threads together, but stands where only some threads come by; this is a defect of the compiler}}
        tl.take_turn barrier(3)
        tl.pass_turn barrier(3)
      }
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}
