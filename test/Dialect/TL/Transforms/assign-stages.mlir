// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-assign-stages))' --split-input-file | FileCheck %s

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // The decision is in the IR: `tl.engine` on the loop, `tl.ahead` on the copies.
  // CHECK-LABEL: gpu.func @bulk(
  // CHECK:         tl.pipelined %{{.+}} = %{{.+}} to %{{.+}} stages(3) attributes {tl.engine = "bulk"} {
  // CHECK:           tl.copy %{{.+}} to %{{.+}} tile(64, 64) {tl.ahead} :
  // CHECK-NEXT:      tl.copy %{{.+}} to %{{.+}} tile(64, 64) {tl.ahead} :
  gpu.func @bulk(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(64, 64) : !A to !tile
      tl.copy %A[%kk, %c0] to %b tile(64, 64) : !A to !tile
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // What is behind a guard runs ahead if a role can go through it: one warp group and
  // two slots are enough.
  // CHECK-LABEL: gpu.func @behind_a_guard(
  // CHECK-SAME:    tl.specialize
  // CHECK:         tl.pipelined {{.*}} stages(2) attributes {tl.engine = "bulk", tl.guarded} {
  // CHECK-NEXT:      tl.copy {{.*}}{tl.ahead}
  gpu.func @behind_a_guard(%A: !A {tl.align = 16 : i64}, %M: memref<64xi1>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    scf.for %k = %c0 to %n step %c1 {
      %mask = tl.load %M[%k] : memref<64xi1>
      scf.if %mask {
        tl.pipelined %once = %c0 to %c1 stages(2) attributes {tl.guarded} {
          tl.copy %A[%k, %c0] to %a tile(64, 64) : !A to !tile
          tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
        }
      }
    }
    gpu.return
  }

  // Also if its product ends in each iteration: behind a guard nothing else runs ahead.
  // CHECK-LABEL: gpu.func @product_that_ends_behind_a_guard(
  // CHECK-SAME:    tl.specialize}
  gpu.func @product_that_ends_behind_a_guard(%A: !A {tl.align = 16 : i64}, %M: memref<64xi1>, %v: f32, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    scf.for %k = %c0 to %n step %c1 {
      %mask = tl.load %M[%k] : memref<64xi1>
      scf.if %mask {
        tl.pipelined %once = %c0 to %c1 stages(2) attributes {tl.guarded} {
          tl.copy %A[%k, %c0] to %a tile(64, 64) : !A to !tile
          tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
          tl.fill %acc, %v : !acc
        }
      }
    }
    gpu.return
  }

  // Else it has no slots: here the threads write what decides.
  // CHECK-LABEL: gpu.func @behind_what_it_writes(
  // CHECK-NOT:     tl.specialize
  // CHECK:         tl.pipelined {{.*}} stages(2) attributes {tl.guarded} {
  // CHECK-NOT:     tl.ahead
  // CHECK:         gpu.return
  gpu.func @behind_what_it_writes(%A: !A {tl.align = 16 : i64}, %M: memref<64xi32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    scf.for %k = %c0 to %n step %c1 {
      %number = tl.load %M[%k] : memref<64xi32>
      %mask = arith.cmpi eq, %number, %zero : i32
      scf.if %mask {
        tl.pipelined %once = %c0 to %c1 stages(2) attributes {tl.guarded} {
          tl.copy %A[%k, %c0] to %a tile(64, 64) : !A to !tile
          tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
        }
      }
      tl.parallel (%i) in (64) {
        tl.store %zero, %M[%i] : memref<64xi32>
      }
    }
    gpu.return
  }

  // One stage asks for nothing where nothing can run ahead.
  // CHECK-LABEL: gpu.func @one_stage(
  // CHECK:         stages(1) {
  // CHECK-NOT:     ahead
  gpu.func @one_stage(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(1) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %A[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // Else the tile of the next iteration is fetched beside this one's statements.
  // CHECK-LABEL: gpu.func @one_ahead(
  // CHECK:         stages(2) attributes {tl.engine = "bulk"} {
  // CHECK:         {tl.ahead}
  gpu.func @one_ahead(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(1) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // Two blocks that wait for their tiles run beside each other, and with two
  // slots one alone would.
  // CHECK-LABEL: gpu.func @one_ahead_would_be_alone(
  // CHECK:         stages(1) {
  // CHECK-NOT:     ahead
  gpu.func @one_ahead_would_be_alone(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : memref<768x64xf16, #gpu.address_space<workgroup>>
    tl.pipelined %k = %c0 to %n stages(1) {
      tl.copy %A[%k, %c0] to %s tile(768, 64) : !A to memref<768x64xf16, #gpu.address_space<workgroup>>
      tl.copy %s to %B[%k, %c0] tile(768, 64) : memref<768x64xf16, #gpu.address_space<workgroup>> to !A
    }
    gpu.return
  }

  // Each block of a small grid has a multiprocessor to itself anyway.
  // CHECK-LABEL: gpu.func @few_blocks(
  // CHECK:         stages(2) attributes
  gpu.func @few_blocks(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 8, 8, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : memref<768x64xf16, #gpu.address_space<workgroup>>
    tl.pipelined %k = %c0 to %n stages(1) {
      tl.copy %A[%k, %c0] to %s tile(768, 64) : !A to memref<768x64xf16, #gpu.address_space<workgroup>>
      tl.copy %s to %B[%k, %c0] tile(768, 64) : memref<768x64xf16, #gpu.address_space<workgroup>> to !A
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @too_many_blocks(
  // CHECK:         stages(1) {
  gpu.func @too_many_blocks(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 12, 10, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : memref<768x64xf16, #gpu.address_space<workgroup>>
    tl.pipelined %k = %c0 to %n stages(1) {
      tl.copy %A[%k, %c0] to %s tile(768, 64) : !A to memref<768x64xf16, #gpu.address_space<workgroup>>
      tl.copy %s to %B[%k, %c0] tile(768, 64) : memref<768x64xf16, #gpu.address_space<workgroup>> to !A
    }
    gpu.return
  }

  // The second loop's tile stays beside the ring that the first one would have of it, which does not fit.
  // CHECK-LABEL: gpu.func @rings_side_by_side(
  // CHECK-NOT:     tl.pipelined
  // CHECK:         gpu.return
  gpu.func @rings_side_by_side(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 8, 8, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %large = tl.alloc layout(#swizzled) : memref<640x64xf16, #gpu.address_space<workgroup>>
    scf.for %k = %c0 to %n step %c1 {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %A[%k, %c0] to %large tile(640, 64) : !A to memref<640x64xf16, #gpu.address_space<workgroup>>
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
      tl.copy %large to %B[%k, %c0] tile(640, 64) : memref<640x64xf16, #gpu.address_space<workgroup>> to !A
    }
    scf.for %k = %c0 to %n step %c1 {
      tl.copy %A[%k, %c0] to %large tile(640, 64) : !A to memref<640x64xf16, #gpu.address_space<workgroup>>
      tl.copy %large to %B[%k, %c0] tile(640, 64) : memref<640x64xf16, #gpu.address_space<workgroup>> to !A
    }
    gpu.return
  }

  // A plain loop over tiles has two slots, too, where the blocks beside this one stay.
  // CHECK-LABEL: gpu.func @plain(
  // CHECK:         tl.pipelined %{{.+}} = %{{.+}} to %{{.+}} stages(2) attributes {tl.engine = "bulk"} {
  // CHECK:         {tl.ahead}
  gpu.func @plain(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    scf.for %k = %c0 to %n step %c1 {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // Of six blocks three would stay; a multiprocessor has no more of this grid.
  // CHECK-LABEL: gpu.func @part_of_the_grid(
  // CHECK:         tl.pipelined %{{.+}} = %{{.+}} to %{{.+}} stages(2) attributes
  gpu.func @part_of_the_grid(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.grid_limit = array<i64: 16, 16, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : memref<288x64xf16, #gpu.address_space<workgroup>>
    scf.for %k = %c0 to %n step %c1 {
      tl.copy %A[%k, %c0] to %s tile(288, 64) : !A to memref<288x64xf16, #gpu.address_space<workgroup>>
      tl.copy %s to %B[%k, %c0] tile(288, 64) : memref<288x64xf16, #gpu.address_space<workgroup>> to !A
    }
    gpu.return
  }

  // Four blocks would be two; the loop writes what it reads; it carries a number; it goes by twos; it is run once; loops
  // inside of it copy; barriers are the program's own.
  // CHECK-LABEL: gpu.func @plain_stays(
  // CHECK-NOT:     tl.pipelined
  // CHECK-LABEL: gpu.func @plain_by_hand(
  // CHECK-NOT:     tl.pipelined
  gpu.func @plain_stays(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index, %m: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %large = tl.alloc layout(#swizzled) : memref<384x64xf16, #gpu.address_space<workgroup>>
    scf.for %k = %c0 to %n step %c1 {
      tl.copy %A[%k, %c0] to %large tile(384, 64) : !A to memref<384x64xf16, #gpu.address_space<workgroup>>
      tl.copy %large to %B[%k, %c0] tile(384, 64) : memref<384x64xf16, #gpu.address_space<workgroup>> to !A
    }
    scf.for %k = %c0 to %n step %c1 {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %A[%k, %c0] tile(64, 64) : !tile to !A
    }
    %last = scf.for %k = %c0 to %n step %c1 iter_args(%at = %c0) -> index {
      tl.copy %A[%at, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
      %next = arith.addi %at, %k : index
      scf.yield %next : index
    }
    scf.for %k = %last to %n step %c2 {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    scf.for %k = %c0 to %c1 step %c1 {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    scf.for %k = %c0 to %n step %c1 {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      scf.for %l = %c0 to %m step %c2 {
        tl.copy %A[%k, %l] to %large tile(384, 64) : !A to memref<384x64xf16, #gpu.address_space<workgroup>>
        tl.copy %large to %B[%k, %l] tile(384, 64) : memref<384x64xf16, #gpu.address_space<workgroup>> to !A
      }
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }
  gpu.func @plain_by_hand(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %barriers = tl.alloc_barriers arrivals(1) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    scf.for %k = %c0 to %n step %c1 {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // Where to read may be looked up in a tensor that the loop does not write.
  // CHECK-LABEL: gpu.func @looked_up(
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(64, 64) {tl.ahead} :
  gpu.func @looked_up(%A: !A {tl.align = 16 : i64}, %B: !A, %table: memref<64xindex>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      %place = tl.load %table[%k] : memref<64xindex>
      tl.copy %A[%place, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // A tensor at an address is copied by the threads, and ahead if the loop neither
  // makes it nor writes memory that it may be of.
  // CHECK-LABEL: gpu.func @at_addresses(
  // CHECK:         stages(2) attributes {tl.engine = "groups"} {
  // CHECK:           tl.copy %{{.+}} to %{{.+}} tile(64, 64) {tl.ahead} :
  // CHECK:         stages(2) {
  // CHECK-NOT:       ahead
  // CHECK:         stages(2) {
  // CHECK-NOT:       ahead
  // CHECK:         gpu.return
  gpu.func @at_addresses(%B: !A, %p: i64, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %A = tl.tensor_at %p align(16) : !A
    %s = tl.alloc layout(#swizzled) : !tile
    %f = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
    }
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    tl.pipelined %k = %c0 to %n stages(2) {
      %place = arith.index_cast %k : index to i64
      %C = tl.tensor_at %place align(16) : !A
      tl.copy %C[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %f tile(64, 64) : !tile to memref<64x64xf16, #tl.fragment>
    }
    gpu.return
  }

  // Offsets of zero, and leading dimensions of one, still mean the whole tile.
  // The engine does not take offsets in shared memory, so threads copy.
  // CHECK-LABEL: gpu.func @written_out(
  // CHECK:         stages(2) attributes {tl.engine = "groups"} {
  // CHECK:           tl.copy %{{.+}} to %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] tile(64, 64) {tl.ahead} :
  gpu.func @written_out(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : memref<1x64x64xf16, #gpu.address_space<workgroup>>
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%c0, %k] to %s[%c0, %c0, %c0] tile(64, 64) : !A to memref<1x64x64xf16, #gpu.address_space<workgroup>>
      tl.copy %s to %B[%k, %c0] tile(64, 64) : memref<1x64x64xf16, #gpu.address_space<workgroup>> to !A
    }
    gpu.return
  }

  // A loop inside of a loop keeps the engine: slot and phase are carried.
  // CHECK-LABEL: gpu.func @inside_a_loop(
  // CHECK:         stages(2) attributes {tl.engine = "bulk"} {
  gpu.func @inside_a_loop(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#swizzled) : !tile
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %n stages(2) {
        tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
        tl.copy %s to %B[%k, %i] tile(64, 64) : !tile to !A
      }
    }
    gpu.return
  }

  // Two loops use one buffer. Each overwrites it before it reads it, so that
  // neither can see what the other left. Both have the slots of the one that has
  // more: three of its own and two would be five.
  // CHECK-LABEL: gpu.func @one_buffer_two_loops(
  // CHECK-COUNT-2: stages(3) attributes {tl.engine = "bulk"}
  gpu.func @one_buffer_two_loops(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%c0, %k] tile(64, 64) : !tile to !A
    }
    tl.pipelined %k = %c0 to %n stages(3) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%c0, %k] tile(64, 64) : !tile to !A
    }
    gpu.return
  }

  // Loops that fill other tiles beside it have slots of their own. What is done with
  // a tile of float32 matters only if one of the loops takes it rounded.
  // CHECK-LABEL: gpu.func @one_buffer_and_another(
  // CHECK:         stages(2) attributes {tl.engine = "bulk"}
  // CHECK:         stages(3) attributes {tl.engine = "bulk"}
  // CHECK:         stages(4) attributes {tl.engine = "bulk"}
  // CHECK:         stages(4) attributes {tl.engine = "bulk"}
  gpu.func @one_buffer_and_another(%A: !A {tl.align = 16 : i64}, %F: memref<512x512xf32> {tl.align = 16 : i64}, %B: !A, %D: memref<512x512xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    %t = tl.alloc layout(#swizzled) : !tile
    %f = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) : memref<32x32xf32, #gpu.address_space<workgroup>>
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%c0, %k] tile(64, 64) : !tile to !A
    }
    tl.pipelined %k = %c0 to %n stages(3) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %A[%c0, %c0] to %t tile(64, 64) : !A to !tile
      tl.copy %s to %B[%c0, %k] tile(64, 64) : !tile to !A
      tl.copy %t to %B[%c0, %k] tile(64, 64) : !tile to !A
    }
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %F[%k, %c0] to %f tile(32, 32) : memref<512x512xf32> to memref<32x32xf32, #gpu.address_space<workgroup>>
      tl.copy %f to %D[%c0, %k] tile(32, 32) : memref<32x32xf32, #gpu.address_space<workgroup>> to memref<512x512xf32>
    }
    tl.pipelined %k = %c0 to %n stages(4) {
      tl.copy %F[%k, %c0] to %f tile(32, 32) : memref<512x512xf32> to memref<32x32xf32, #gpu.address_space<workgroup>>
      tl.copy %f to %D[%c0, %k] tile(32, 32) : memref<32x32xf32, #gpu.address_space<workgroup>> to memref<512x512xf32>
    }
    gpu.return
  }

  // What is overwritten again before it is read leaves no trace of the loop.
  // CHECK-LABEL: gpu.func @overwritten_after(
  // CHECK:         attributes {tl.engine = "bulk"}
  gpu.func @overwritten_after(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index, %v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(2) {
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%c0, %k] tile(64, 64) : !tile to !A
    }
    tl.fill %s, %v : !tile
    tl.copy %s to %B[%c0, %c0] tile(64, 64) : !tile to !A
    gpu.return
  }

  // A buffer of the loop itself.
  // CHECK-LABEL: gpu.func @allocated_inside(
  // CHECK:         attributes {tl.engine = "bulk"}
  gpu.func @allocated_inside(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    tl.pipelined %k = %c0 to %n stages(2) {
      %s = tl.alloc layout(#swizzled) : !tile
      tl.copy %A[%k, %c0] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%c0, %k] tile(64, 64) : !tile to !A
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
#acc = #tl.fragment_layout<shape = [128, 256], thread = [4, 8, 8] : [2, 256, 4096], value = [2, 2, 32] : [1, 2048, 8]>
!A = memref<4096x4096xf16>
!wide = memref<128x64xf16, #gpu.address_space<workgroup>>
!high = memref<64x256xf16, #gpu.address_space<workgroup>>
!acc = memref<128x256xf32, #tl.fragment>
#score = #tl.fragment_layout<shape = [128, 64], thread = [4, 8, 8] : [2, 64, 1024], value = [2, 2, 8] : [1, 512, 8]>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!score = memref<128x64xf32, #tl.fragment>
!factor = memref<128x64xf16, #tl.fragment>

// Which kernels get a thread of its own for their copies.
gpu.module @roles attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Two warp groups, three stages, one tile after the other.
  // CHECK-LABEL: gpu.func @tiles_in_turn(
  // CHECK-SAME: tl.specialize
  gpu.func @tiles_in_turn(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    scf.for %t = %c0 to %n step %c64 {
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%t, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
    }
    }
    gpu.return
  }

  // One tile: there is no next one to begin with.
  // CHECK-LABEL: gpu.func @one_tile(
  // CHECK-NOT:   tl.specialize
  gpu.func @one_tile(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
    }
    gpu.return
  }

  // Its product ends in each iteration, as the statement behind it uses what it
  // adds up: two slots are worth a role, with registers of its own.
  // CHECK-LABEL: gpu.func @product_that_ends(
  // CHECK-SAME:  tl.specialize = array<i64: 24, 240>
  gpu.func @product_that_ends(%A: !A {tl.align = 16 : i64}, %v: f32, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
      tl.fill %acc, %v : !acc
    }
    gpu.return
  }

  // A product ends too if the next iteration changes its factor in registers.
  // CHECK-LABEL: gpu.func @factor_that_changes(
  // CHECK-SAME:  tl.specialize = array<i64: 24, 240>
  gpu.func @factor_that_changes(%A: !A {tl.align = 16 : i64}, %v: f32, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !tile
    %c = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    %sum = tl.alloc layout(#score) : !score
    %s0 = tl.alloc layout(#score) : !score
    %p0 = tl.alloc layout(#score) : !factor
    tl.pipelined %k = %c0 to %n stages(2) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c64] to %b tile(64, 64) : !A to !tile
      tl.copy %A[%kk, %c0] to %c tile(64, 256) : !A to !high
      tl.fill %s0, %v : !score
      tl.gemm %a, %b, %s0 plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !tile, !score
      tl.copy %s0 to %p0 tile(128, 64) : !score to !factor
      tl.gemm %p0, %c, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !high, !acc
      tl.gemm %p0, %b, %sum plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !tile, !score
    }
    gpu.return
  }

  // All fragments together are 256 registers, of which 208 hold something at once.
  // CHECK-LABEL: gpu.func @fragments_in_turn(
  // CHECK-SAME:  tl.specialize = array<i64: 24, 240>
  gpu.func @fragments_in_turn(%A: !A {tl.align = 16 : i64}, %v: f32, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !tile
    %c = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    %sum = tl.alloc layout(#score) : !score
    %s0 = tl.alloc layout(#score) : !score
    %p0 = tl.alloc layout(#score) : !factor
    %s1 = tl.alloc layout(#score) : !score
    %p1 = tl.alloc layout(#score) : !factor
    tl.pipelined %k = %c0 to %n stages(2) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c64] to %b tile(64, 64) : !A to !tile
      tl.copy %A[%kk, %c0] to %c tile(64, 256) : !A to !high
      tl.fill %s0, %v : !score
      tl.gemm %a, %b, %s0 plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !tile, !score
      tl.copy %s0 to %p0 tile(128, 64) : !score to !factor
      tl.gemm %p0, %c, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !high, !acc
      tl.gemm %p0, %b, %sum plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !tile, !score
      tl.fill %s1, %v : !score
      tl.gemm %a, %b, %s1 plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !tile, !score
      tl.copy %s1 to %p1 tile(128, 64) : !score to !factor
      tl.gemm %p1, %c, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !high, !acc
      tl.gemm %p1, %b, %sum plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !tile, !score
    }
    gpu.return
  }

  // Here it is 240 of them: no registers are left for anything else.
  // CHECK-LABEL: gpu.func @fragments_at_once(
  // CHECK-NOT:   tl.specialize
  gpu.func @fragments_at_once(%A: !A {tl.align = 16 : i64}, %v: f32, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !tile
    %c = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    %sum = tl.alloc layout(#score) : !score
    %s0 = tl.alloc layout(#score) : !score
    %p0 = tl.alloc layout(#score) : !factor
    %s1 = tl.alloc layout(#score) : !score
    %p1 = tl.alloc layout(#score) : !factor
    tl.pipelined %k = %c0 to %n stages(2) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%c0, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c64] to %b tile(64, 64) : !A to !tile
      tl.copy %A[%kk, %c0] to %c tile(64, 256) : !A to !high
      tl.fill %s0, %v : !score
      tl.gemm %a, %b, %s0 plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !tile, !score
      tl.fill %s1, %v : !score
      tl.gemm %a, %b, %s1 plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !tile, !score
      tl.copy %s0 to %p0 tile(128, 64) : !score to !factor
      tl.gemm %p0, %c, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !high, !acc
      tl.gemm %p0, %b, %sum plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !tile, !score
      tl.copy %s1 to %p1 tile(128, 64) : !score to !factor
      tl.gemm %p1, %c, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !high, !acc
      tl.gemm %p1, %b, %sum plan(<wgmma, warps_m = 2, warps_n = 1>) : !factor, !tile, !score
    }
    gpu.return
  }

  // Two stages: nothing can be far ahead.
  // CHECK-LABEL: gpu.func @two_stages(
  // CHECK-NOT:   tl.specialize
  gpu.func @two_stages(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    scf.for %t = %c0 to %n step %c64 {
    tl.pipelined %k = %c0 to %n stages(2) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%t, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
    }
    }
    gpu.return
  }

  // The slots are filled from the kernel's start on: 147,456 bytes of them and
  // a tile of 98,304, which is done with before the loop, do not fit beside each
  // other. A tile behind the loop, or one of 65,536 bytes, does.
  // CHECK-LABEL: gpu.func @behind_a_large_tile(
  // CHECK-NOT:   tl.specialize
  // CHECK-LABEL: gpu.func @before_a_large_tile(
  // CHECK-SAME:  tl.specialize
  // CHECK-LABEL: gpu.func @behind_a_tile(
  // CHECK-SAME:  tl.specialize
  gpu.func @behind_a_large_tile(%A: !A {tl.align = 16 : i64}, %C: !A, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    %x = tl.alloc layout(#swizzled) : memref<128x384xf16, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %x tile(128, 384) : !A to memref<128x384xf16, #gpu.address_space<workgroup>>
    tl.copy %x to %C[%c0, %c0] tile(128, 384) : memref<128x384xf16, #gpu.address_space<workgroup>> to !A
    scf.for %t = %c0 to %n step %c64 {
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%t, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
    }
    }
    gpu.return
  }
  gpu.func @before_a_large_tile(%A: !A {tl.align = 16 : i64}, %C: !A, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    %x = tl.alloc layout(#swizzled) : memref<128x384xf16, #gpu.address_space<workgroup>>
    scf.for %t = %c0 to %n step %c64 {
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%t, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
    }
    }
    tl.copy %A[%c0, %c0] to %x tile(128, 384) : !A to memref<128x384xf16, #gpu.address_space<workgroup>>
    tl.copy %x to %C[%c0, %c0] tile(128, 384) : memref<128x384xf16, #gpu.address_space<workgroup>> to !A
    gpu.return
  }
  gpu.func @behind_a_tile(%A: !A {tl.align = 16 : i64}, %C: !A, %n: index) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc layout(#acc) : !acc
    %x = tl.alloc layout(#swizzled) : memref<128x256xf16, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %x tile(128, 256) : !A to memref<128x256xf16, #gpu.address_space<workgroup>>
    tl.copy %x to %C[%c0, %c0] tile(128, 256) : memref<128x256xf16, #gpu.address_space<workgroup>> to !A
    scf.for %t = %c0 to %n step %c64 {
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%t, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 1>) : !wide, !high, !acc
    }
    }
    gpu.return
  }

  // A block has 1024 threads at most.
  // CHECK-LABEL: gpu.func @no_warp_is_left(
  // CHECK-NOT:   tl.specialize
  gpu.func @no_warp_is_left(%A: !A {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 1024, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !wide
    %b = tl.alloc layout(#swizzled) : !high
    %acc = tl.alloc : !acc
    scf.for %t = %c0 to %n step %c64 {
    tl.pipelined %k = %c0 to %n stages(3) {
      %kk = arith.muli %k, %c64 : index
      tl.copy %A[%t, %kk] to %a tile(128, 64) : !A to !wide
      tl.copy %A[%kk, %c0] to %b tile(64, 256) : !A to !high
      tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 2, warps_n = 4>) : !wide, !high, !acc
    }
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // CHECK-LABEL: gpu.func @groups(
  // CHECK:         stages(4) attributes {tl.engine = "groups"} {
  gpu.func @groups(%A: !A {tl.align = 16 : i64}, %B: !A, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(4) {
      tl.copy %A[%c0, %k] to %s tile(64, 64) : !A to !tile
      tl.copy %s to %B[%k, %c0] tile(64, 64) : !tile to !A
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>
!p = memref<64x64xf16, #tl.fragment>

gpu.module @late attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // The last gemm needs what is computed from the first one. It is done an iteration
  // late, beside that.
  // CHECK-LABEL: gpu.func @delayed(
  // CHECK:         tl.gemm {{.+}} transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) :
  // CHECK:         tl.gemm {{.+}} plan(<wgmma, warps_m = 1, warps_n = 1>) {tl.delayed} :
  gpu.func @delayed(%A: !A {tl.align = 16 : i64}, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    tl.pipelined %i = %c0 to %n stages(2) {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %s to %p tile(64, 64) : !acc to !p
      tl.copy %A[%c0, %ii] to %v tile(64, 64) : !A to !tile
      tl.gemm %p, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) : !p, !tile, !acc
    }
    gpu.return
  }

  // Nothing is computed between gemms that only add up.
  // CHECK-LABEL: gpu.func @independent(
  // CHECK-NOT:     delayed
  gpu.func @independent(%A: !A {tl.align = 16 : i64}, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc : !p
    %o = tl.alloc : !acc
    tl.pipelined %i = %c0 to %n stages(2) {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) : !A to !tile
      tl.copy %A[%c0, %ii] to %v tile(64, 64) : !A to !tile
      tl.gemm %q, %k, %s plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.gemm %q, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // Each iteration chooses the buffer's part, so that a later one finds another.
  // CHECK-LABEL: gpu.func @part_of_a_buffer(
  // CHECK-NOT:     delayed
  gpu.func @part_of_a_buffer(%A: !A {tl.align = 16 : i64}, %q: !tile, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %k = tl.alloc layout(#swizzled) : !tile
    %v = tl.alloc layout(#swizzled) : !tile
    %s = tl.alloc : !acc
    %p = tl.alloc layout(#swizzled) : memref<2x64x64xf16, #gpu.address_space<workgroup>>
    %o = tl.alloc : !acc
    tl.pipelined %i = %c0 to %n stages(2) {
      %ii = arith.muli %i, %c64 : index
      tl.copy %A[%ii, %c0] to %k tile(64, 64) : !A to !tile
      tl.fill %s, %zero : !acc
      tl.gemm %q, %k, %s transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      %half = arith.remui %i, %c2 : index
      %part = tl.slot %p[%half] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to !tile
      tl.copy %s to %part tile(64, 64) : !acc to !tile
      tl.copy %A[%c0, %ii] to %v tile(64, 64) : !A to !tile
      tl.gemm %part, %v, %o plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }
}
