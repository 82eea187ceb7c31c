// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-insert-sync))' | FileCheck %s

!s = memref<128xf32, #gpu.address_space<workgroup>>
!f = memref<128xf32, #tl.fragment>
!A = memref<128xf32>
!cell = memref<1xi32, #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<3x64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels {
  // What is copied in front of a loop is waited for there, and fenced, and not
  // in each iteration.
  // CHECK-LABEL: gpu.func @copied_before_a_loop
  // CHECK:         tl.copy {{.*}} async
  // CHECK-NEXT:    tl.commit_copies
  // CHECK-NEXT:    tl.wait_copies 0
  // CHECK-NEXT:    tl.fence_async
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    scf.for
  // CHECK-NEXT:      tl.gemm
  // CHECK-NEXT:    }
  gpu.func @copied_before_a_loop(%A: memref<64x64xf16>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.copy %A to %a tile(64, 64) async : memref<64x64xf16> to !tile
    scf.for %i = %c0 to %n step %c1 {
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }

  // A loop that writes there itself waits for its own writes.
  // CHECK-LABEL: gpu.func @copied_in_a_loop
  // CHECK:         tl.copy {{.*}} async
  // CHECK-NEXT:    scf.for
  // CHECK:           tl.wait_copies 0
  // CHECK:           tl.gemm
  // CHECK:           tl.copy {{.*}} async
  // CHECK:         gpu.return
  gpu.func @copied_in_a_loop(%A: memref<64x64xf16>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.copy %A to %a tile(64, 64) async : memref<64x64xf16> to !tile
    scf.for %i = %c0 to %n step %c1 {
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      tl.copy %A to %a tile(64, 64) async : memref<64x64xf16> to !tile
    }
    gpu.return
  }

  // Write, then read.
  // CHECK-LABEL: gpu.func @read_after_write
  // CHECK:         tl.fill
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    gpu.return
  gpu.func @read_after_write(%A: !A, %v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    tl.fill %s, %v : !s
    tl.copy %s to %A tile(128) : !s to !A
    gpu.return
  }

  // Read, then write.
  // CHECK-LABEL: gpu.func @write_after_read
  // CHECK:         tl.copy
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.fill
  gpu.func @write_after_read(%A: !A, %v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    tl.copy %s to %A tile(128) : !s to !A
    tl.fill %s, %v : !s
    gpu.return
  }

  // Write, then write.
  // CHECK-LABEL: gpu.func @write_after_write
  // CHECK:         tl.fill
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  gpu.func @write_after_write(%A: !A, %v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    tl.fill %s, %v : !s
    tl.copy %A to %s tile(128) : !A to !s
    gpu.return
  }

  // Reads do not disturb each other, nor do other buffers and other memory.
  // CHECK-LABEL: gpu.func @no_conflict
  // CHECK-NOT:     gpu.barrier
  // CHECK:         gpu.return
  gpu.func @no_conflict(%A: !A, %B: !A, %v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    %t = tl.alloc offset(512) : !s
    %f = tl.alloc : !f
    tl.copy %s to %A tile(128) : !s to !A
    tl.copy %s to %f tile(128) : !s to !f
    tl.copy %f to %B tile(128) : !f to !A
    tl.fill %t, %v : !s
    gpu.return
  }

  // Tensors at addresses may be any tensor: the argument, each other, and by
  // another index themselves.
  // CHECK-LABEL: gpu.func @at_addresses
  // CHECK:         tl.store
  // CHECK:         gpu.barrier
  // CHECK:         tl.store
  // CHECK:         gpu.barrier
  // CHECK:         tl.load
  // CHECK:         tl.store
  // CHECK:         gpu.return
  gpu.func @at_addresses(%A: !A, %p: i64, %q: i64, %v: f32) kernel {
    %B = tl.tensor_at %p align(16) : !A
    %C = tl.tensor_at %q align(16) : !A
    %f = tl.alloc : !f
    tl.parallel (%i) in (128) {
      tl.store %v, %A[%i] : !A
    }
    tl.parallel (%i) in (128) {
      tl.store %v, %B[%i] : !A
    }
    tl.parallel (%i) in (128) {
      %x = tl.load %C[%i] : !A
      tl.store %x, %f[%i] : !f
    }
    gpu.return
  }

  // In each iteration the tensor may begin elsewhere.
  // CHECK-LABEL: gpu.func @at_addresses_in_a_loop
  // CHECK:         scf.for
  // CHECK:           tl.tensor_at
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.parallel
  gpu.func @at_addresses_in_a_loop(%p: i64, %n: index, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %n step %c1 {
      %step = arith.index_cast %k : index to i64
      %q = arith.addi %p, %step : i64
      %B = tl.tensor_at %q align(16) : !A
      tl.parallel (%i) in (128) {
        tl.store %v, %B[%i] : !A
      }
    }
    gpu.return
  }

  // One barrier serves all conflicts before it, one that is there too.
  // CHECK-LABEL: gpu.func @one_barrier
  // CHECK:         tl.fill
  // CHECK-NEXT:    tl.fill
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.fill
  gpu.func @one_barrier(%A: !A, %B: !A, %v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    %t = tl.alloc offset(512) : !s
    tl.fill %s, %v : !s
    tl.fill %t, %v : !s
    tl.copy %s to %A tile(128) : !s to !A
    tl.copy %t to %B tile(128) : !s to !A
    gpu.barrier
    tl.fill %s, %v : !s
    gpu.return
  }

  // Two buffers may share bytes.
  // CHECK-LABEL: gpu.func @aliases
  // CHECK:         tl.copy
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.fill
  gpu.func @aliases(%A: !A, %v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    %t = tl.alloc offset(256) : !s
    tl.copy %s to %A tile(128) : !s to !A
    tl.fill %t, %v : !s
    gpu.return
  }

  // What a loop reads at its end it may write at its start. Before the loop
  // nothing is pending, but the barrier serves all iterations.
  // CHECK-LABEL: gpu.func @around_a_loop
  // CHECK:         scf.for
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.fill
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:    }
  gpu.func @around_a_loop(%A: !A, %v: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc offset(0) : !s
    scf.for %i = %c0 to %n step %c1 {
      tl.fill %s, %v : !s
      tl.copy %s to %A tile(128) : !s to !A
    }
    gpu.return
  }

  // What is written before a loop is read in it, and what it reads is written
  // after it.
  // CHECK-LABEL: gpu.func @into_and_out_of_a_loop
  // CHECK:         tl.fill
  // CHECK-NEXT:    scf.for
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.fill
  gpu.func @into_and_out_of_a_loop(%A: !A, %v: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc offset(0) : !s
    tl.fill %s, %v : !s
    scf.for %i = %c0 to %n step %c1 {
      tl.copy %s to %A tile(128) : !s to !A
    }
    tl.fill %s, %v : !s
    gpu.return
  }

  // The barrier for what comes round the loop orders also what another had been
  // put in for, before the second read.
  // CHECK-LABEL: gpu.func @one_for_two_reasons
  // CHECK:         tl.fill
  // CHECK-NEXT:    scf.for
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.fill
  // CHECK-NEXT:    }
  gpu.func @one_for_two_reasons(%A: !A, %B: !A, %v: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc offset(0) : !s
    %t = tl.alloc offset(512) : !s
    tl.fill %s, %v : !s
    scf.for %i = %c0 to %n step %c1 {
      tl.copy %t to %A tile(128) : !s to !A
      tl.copy %s to %B tile(128) : !s to !A
      gpu.barrier
      tl.fill %t, %v : !s
    }
    gpu.return
  }

  // What only accesses before a loop want stands before it.
  // CHECK-LABEL: gpu.func @before_a_loop
  // CHECK:         tl.fill
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    scf.for
  // CHECK-NOT:       gpu.barrier
  // CHECK:         gpu.return
  gpu.func @before_a_loop(%v: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc offset(0) : !s
    %f = tl.alloc : !f
    tl.fill %s, %v : !s
    scf.for %i = %c0 to %n step %c1 {
      tl.copy %s to %f tile(128) : !s to !f
    }
    gpu.return
  }

  // The two parts of a `scf.while` follow each other, and the first one the
  // second. All threads write the same value here, so that each may read back
  // what it wrote.
  // CHECK-LABEL: gpu.func @while
  // CHECK:         scf.while
  // CHECK-NEXT:      tl.load
  // CHECK:         } do {
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.store
  // CHECK:         gpu.return
  gpu.func @while(%n: i32) kernel {
    %c0 = arith.constant 0 : index
    %s = tl.alloc offset(0) : !cell
    scf.while : () -> () {
      %x = tl.load %s[%c0] : !cell
      %c = arith.cmpi slt, %x, %n : i32
      scf.condition(%c)
    } do {
      tl.store %n, %s[%c0] : !cell
      scf.yield
    }
    gpu.return
  }

  // A barrier in one branch does not serve those who take the other; branches
  // do not conflict with each other.
  // CHECK-LABEL: gpu.func @branches
  // CHECK:         tl.fill
  // CHECK:         scf.if
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  // CHECK:         scf.if
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.fill
  // CHECK-NEXT:    } else {
  // CHECK-NEXT:      tl.copy
  // CHECK-NEXT:    }
  gpu.func @branches(%A: !A, %B: !A, %D: !A, %v: f32, %c: i1) kernel {
    %s = tl.alloc offset(0) : !s
    tl.fill %s, %v : !s
    scf.if %c {
      tl.copy %s to %A tile(128) : !s to !A
    }
    tl.copy %s to %B tile(128) : !s to !A
    scf.if %c {
      tl.fill %s, %v : !s
    } else {
      tl.copy %s to %D tile(128) : !s to !A
    }
    gpu.return
  }

  // A parallel loop is one step: its iterations do not depend on each other.
  // CHECK-LABEL: gpu.func @parallel
  // CHECK:         tl.fill
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.parallel
  // CHECK-NOT:       gpu.barrier
  // CHECK:         gpu.return
  gpu.func @parallel(%v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    tl.fill %s, %v : !s
    tl.parallel (%i) in (128) {
      %x = tl.load %s[%i] : !s
      tl.store %x, %s[%i] : !s
    }
    gpu.return
  }

  // Reductions use their workspace by turns.
  // CHECK-LABEL: gpu.func @workspace
  // CHECK:         tl.reduce sum
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.reduce max
  gpu.func @workspace() kernel {
    %s = tl.alloc offset(0) : memref<4x64xf32, #gpu.address_space<workgroup>>
    %f = tl.alloc : !acc
    %r = tl.alloc : memref<64xf32, #tl.fragment>
    %q = tl.alloc : memref<64xf32, #tl.fragment>
    tl.reduce sum %f to %r dim(1) workspace(%s : memref<4x64xf32, #gpu.address_space<workgroup>>) : !acc to memref<64xf32, #tl.fragment>
    tl.reduce max %f to %q dim(1) workspace(%s : memref<4x64xf32, #gpu.address_space<workgroup>>) : !acc to memref<64xf32, #tl.fragment>
    gpu.return
  }

  // Slots of a ring at different distances from one value are different ones;
  // the ring and a buffer in its place share bytes.
  // CHECK-LABEL: gpu.func @ring
  // CHECK:         scf.for
  // CHECK:           gpu.barrier
  // CHECK-NEXT:      tl.parallel
  // CHECK-NOT:       gpu.barrier
  // CHECK:           tl.copy {{.*}} tile(64, 64)
  // CHECK-NOT:       gpu.barrier
  // CHECK:         }
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.fill
  gpu.func @ring(%A: memref<64x64xf16>, %B: memref<64x64xf16>, %v: f16, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc offset(0) : !ring
    %out = tl.alloc offset(0) : !tile
    scf.for %k = %c0 to %n step %c1 iter_args(%slot = %c0, %next = %c1) -> (index, index) {
      %read = tl.slot %ring[%slot] : !ring to !tile
      tl.parallel (%i, %j) in (64, 64) {
        %x = tl.load %read[%i, %j] : !tile
        tl.store %x, %B[%j, %i] : memref<64x64xf16>
      }
      %written = tl.slot %ring[%next] : !ring to !tile
      tl.copy %A to %written tile(64, 64) : memref<64x64xf16> to !tile
      %slot1 = tl.rotate %slot by 1 of 3
      %next1 = tl.rotate %next by 1 of 3
      scf.yield %slot1, %next1 : index, index
    }
    tl.fill %out, %v : !tile
    gpu.return
  }

  // A slot of a slot is a part of the slot, whatever its own number; of another
  // slot it is none.
  // CHECK-LABEL: gpu.func @slot_of_a_slot
  // CHECK:         tl.fill
  // CHECK-NEXT:    tl.fill
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  gpu.func @slot_of_a_slot(%A: memref<2x64x64xf16>, %v: f16) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc offset(0) : memref<2x2x64x64xf16, #gpu.address_space<workgroup>>
    %s0 = tl.slot %ring[%c0] : memref<2x2x64x64xf16, #gpu.address_space<workgroup>> to memref<2x64x64xf16, #gpu.address_space<workgroup>>
    %s1 = tl.slot %ring[%c1] : memref<2x2x64x64xf16, #gpu.address_space<workgroup>> to memref<2x64x64xf16, #gpu.address_space<workgroup>>
    %s10 = tl.slot %s1[%c0] : memref<2x64x64xf16, #gpu.address_space<workgroup>> to !tile
    tl.fill %s0, %v : memref<2x64x64xf16, #gpu.address_space<workgroup>>
    tl.fill %s10, %v : !tile
    tl.copy %s1 to %A tile(2, 64, 64) : memref<2x64x64xf16, #gpu.address_space<workgroup>> to memref<2x64x64xf16>
    gpu.return
  }

  // Where ordinary stores are read through the async proxy, by `wgmma` or by
  // the bulk copy engine, each thread that stored fences them.
  // CHECK-LABEL: gpu.func @fences
  // CHECK:         tl.fill
  // CHECK-NEXT:    tl.fence_async
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.gemm
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.fill
  // CHECK-NEXT:    tl.fence_async
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  gpu.func @fences(%A: memref<64x64xf16>, %v: f16) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.fill %a, %v : !tile
    tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.fill %a, %v : !tile
    tl.copy %a to %A tile(64, 64) bulk : !tile to memref<64x64xf16>
    gpu.return
  }

  // `mma` reads as ordinary instructions do.
  // CHECK-LABEL: gpu.func @no_fence
  // CHECK:         tl.fill
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.gemm
  gpu.func @no_fence(%v: f16) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.fill %a, %v : !tile
    tl.gemm %a, %a, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !tile, !tile, !acc
    gpu.return
  }

  // A fence that is owed since before a barrier goes before that barrier.
  // CHECK-LABEL: gpu.func @fence_before_a_barrier
  // CHECK:         tl.fill
  // CHECK-NEXT:    tl.fence_async
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    tl.gemm
  gpu.func @fence_before_a_barrier(%A: memref<64x64xf16>, %v: f16) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.fill %a, %v : !tile
    gpu.barrier
    tl.copy %a to %A tile(64, 64) : !tile to memref<64x64xf16>
    tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }

  // What a gemm under way reads is written only after a wait, and a barrier
  // because the warps do not wait for each other: the one before the wait does
  // not serve.
  // CHECK-LABEL: gpu.func @operands_of_a_gemm
  // CHECK:         tl.gemm
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.wait_gemm 0
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  gpu.func @operands_of_a_gemm(%v: f16) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.gemm %a, %a, %acc async plan(<wgmma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.barrier
    tl.wait_gemm 0 (%acc : !acc)
    tl.copy %acc to %a tile(64, 64) : !acc to !tile
    gpu.return
  }

  // A gemm is waited for where its product is used first; gemms that add to it
  // are no such use.
  // CHECK-LABEL: gpu.func @product_of_a_gemm
  // CHECK:         tl.gemm
  // CHECK-NEXT:    tl.gemm
  // CHECK-NEXT:    tl.wait_gemm 0 (%{{.+}} : memref<64x64xf32, #tl.fragment>)
  // CHECK-NEXT:    tl.copy
  gpu.func @product_of_a_gemm(%A: memref<64x64xf32>) kernel {
    %a = tl.alloc offset(0) : !tile
    %acc = tl.alloc : !acc
    tl.gemm %a, %a, %acc async plan(<wgmma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    tl.gemm %a, %a, %acc async plan(<wgmma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    tl.copy %acc to %A tile(64, 64) : !acc to memref<64x64xf32>
    gpu.return
  }

  // A thread that reads back what it wrote itself needs no barrier: the same
  // layout, and the same element of the tile at each iteration.
  // CHECK-LABEL: gpu.func @own_elements
  // CHECK:         tl.parallel
  // CHECK-NOT:     gpu.barrier
  // CHECK:         tl.parallel
  // CHECK:         gpu.barrier
  // CHECK:         tl.parallel
  // CHECK:         gpu.barrier
  // CHECK:         tl.parallel
  gpu.func @own_elements(%v: f32, %B: !A) kernel {
    %s = tl.alloc offset(0) : !s
    tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [128] : [1], value = [] : []>) {
      tl.store %v, %s[%i] : !s
    }
    tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [128] : [1], value = [] : []>) {
      %x = tl.load %s[%i] : !s
      %y = arith.addf %x, %v : f32
      tl.store %y, %s[%i] : !s
    }
    // Another layout.
    tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [64] : [2], value = [2] : [1]>) {
      %x = tl.load %s[%i] : !s
      tl.store %x, %s[%i] : !s
    }
    // Other elements.
    tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [64] : [2], value = [2] : [1]>) {
      %c127 = arith.constant 127 : index
      %j = arith.subi %c127, %i : index
      %x = tl.load %s[%j] : !s
      tl.store %x, %B[%i] : !A
    }
    gpu.return
  }

  // Threads that hold copies of an element may not all write it.
  // CHECK-LABEL: gpu.func @copies_of_elements
  // CHECK:         tl.parallel
  // CHECK:         gpu.barrier
  // CHECK:         tl.parallel
  gpu.func @copies_of_elements(%v: f32, %B: !A) kernel {
    %s = tl.alloc offset(0) : !s
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [64, 2] : [1, 0], value = [] : []>) {
      tl.store %v, %s[%i] : !s
    }
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [64, 2] : [1, 0], value = [] : []>) {
      %x = tl.load %s[%i] : !s
      tl.store %x, %B[%i] : !A
    }
    gpu.return
  }

  // A lane that stores a fragment of 16 bits by `stmatrix` names the address of
  // what others hold, also in a part of a tile. Each element of 32 bits is stored
  // by the thread that holds it.
  // CHECK-LABEL: gpu.func @parts_of_tiles
  // CHECK:         tl.copy
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    tl.copy
  // CHECK-NOT:     gpu.barrier
  // CHECK:         tl.copy
  gpu.func @parts_of_tiles() kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %f = tl.alloc layout(#tl.fragment_layout<shape = [64, 16], thread = [4, 8, 4] : [2, 16, 256], value = [2, 2, 2] : [1, 128, 8]>) : memref<64x16xf32, #tl.fragment>
    %half = tl.alloc offset(0) : memref<64x32xf16, #gpu.address_space<workgroup>>
    %full = tl.alloc offset(4096) : memref<64x32xf32, #gpu.address_space<workgroup>>
    tl.copy %f to %half[%c0, %c16] tile(64, 16) : memref<64x16xf32, #tl.fragment> to memref<64x32xf16, #gpu.address_space<workgroup>>
    tl.copy %half[%c0, %c16] to %f tile(64, 16) : memref<64x32xf16, #gpu.address_space<workgroup>> to memref<64x16xf32, #tl.fragment>
    tl.copy %f to %full[%c0, %c16] tile(64, 16) : memref<64x16xf32, #tl.fragment> to memref<64x32xf32, #gpu.address_space<workgroup>>
    tl.copy %full[%c0, %c16] to %f tile(64, 16) : memref<64x32xf32, #gpu.address_space<workgroup>> to memref<64x16xf32, #tl.fragment>
    gpu.return
  }

  // Device memory too: a tensor that is written and read at other elements.
  // CHECK-LABEL: gpu.func @device_memory
  // CHECK:         tl.parallel
  // CHECK:         gpu.barrier
  // CHECK:         tl.parallel
  // CHECK:         gpu.return
  gpu.func @device_memory(%A: !A, %B: !A, %v: f32) kernel {
    tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [128] : [1], value = [] : []>) {
      tl.store %v, %A[%i] : !A
    }
    tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [128] : [1], value = [] : []>) {
      %c127 = arith.constant 127 : index
      %j = arith.subi %c127, %i : index
      %x = tl.load %A[%j] : !A
      tl.store %x, %B[%i] : !A
    }
    gpu.return
  }

  // All threads add to one element: between the read and the write, and between
  // the iterations, but not to read back what was written.
  // CHECK-LABEL: gpu.func @one_element
  // CHECK:         scf.for
  // CHECK-NEXT:      tl.load
  // CHECK-NEXT:      arith.addf
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.store
  // CHECK-NEXT:    }
  gpu.func @one_element(%A: !A, %v: f32, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %n step %c1 {
      %x = tl.load %A[%c0] : !A
      %y = arith.addf %x, %v : f32
      tl.store %y, %A[%c0] : !A
    }
    gpu.return
  }

  // Iterations that write different rows of a tensor need no order.
  // CHECK-LABEL: gpu.func @rows
  // CHECK-NOT:     gpu.barrier
  // CHECK:         gpu.return
  gpu.func @rows(%A: memref<?x?xf32>, %v: f32, %m: index, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %f = tl.alloc : !acc
    scf.for %k = %c0 to %n step %c1 {
      %r = arith.muli %k, %c64 : index
      %s = arith.addi %r, %m : index
      tl.copy %f to %A[%s, %c0] tile(64, 64) : !acc to memref<?x?xf32>
    }
    gpu.return
  }

  // Rows that overlap do.
  // CHECK-LABEL: gpu.func @overlapping_rows
  // CHECK:         gpu.barrier
  gpu.func @overlapping_rows(%A: memref<?x?xf32>, %m: index, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c63 = arith.constant 63 : index
    %f = tl.alloc : !acc
    scf.for %k = %c0 to %n step %c1 {
      %r = arith.muli %k, %c63 : index
      tl.copy %f to %A[%r, %c0] tile(64, 64) : !acc to memref<?x?xf32>
    }
    gpu.return
  }

  // Bulk loads read device memory through the async proxy, too; bulk stores are
  // waited for until they have written.
  // CHECK-LABEL: gpu.func @bulk_copies_in_device_memory
  // CHECK:         tl.store
  // CHECK:         tl.fence_async device
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy {{.*}} async bulk
  // CHECK:         tl.copy {{.*}} bulk
  // CHECK-NEXT:    tl.wait_stores 0{{$}}
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.load
  gpu.func @bulk_copies_in_device_memory(%A: memref<64x64xf16>, %B: memref<64x64xf16>, %D: memref<1xf16>, %v: f16) kernel {
    %c0 = arith.constant 0 : index
    %p = arith.constant 0 : i32
    %a = tl.alloc offset(0) : !tile
    %full = tl.alloc_barriers arrivals(1) offset(8192) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.store %v, %A[%c0, %c0] : memref<64x64xf16>
    tl.copy %A to %a tile(64, 64) async bulk barrier(%full[%c0] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<64x64xf16> to !tile
    tl.wait_barrier %full[%c0] parity(%p) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.copy %a to %B tile(64, 64) bulk : !tile to memref<64x64xf16>
    %x = tl.load %B[%c0, %c0] : memref<64x64xf16>
    tl.store %x, %D[%c0] : memref<1xf16>
    gpu.return
  }

  // A store under way reads its tile until it is waited for.
  // CHECK-LABEL: gpu.func @stores_under_way
  // CHECK:         tl.copy {{.*}} async bulk
  // CHECK-NEXT:    tl.wait_stores 0 read
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.fill
  gpu.func @stores_under_way(%A: memref<64x64xf16>, %v: f16) kernel {
    %a = tl.alloc offset(0) : !tile
    tl.copy %a to %A tile(64, 64) async bulk : !tile to memref<64x64xf16>
    tl.fill %a, %v : !tile
    gpu.return
  }

  // Loops of atomic operations are statements: each sees what was done before.
  // CHECK-LABEL: gpu.func @atomic_after_atomic
  // CHECK:         tl.fill
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.parallel
  // CHECK:         gpu.barrier
  // CHECK-NEXT:    tl.parallel
  // CHECK:         gpu.barrier
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    gpu.return
  gpu.func @atomic_after_atomic(%A: !A, %v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    tl.fill %s, %v : !s
    tl.parallel (%i) in (128) {
      %0 = tl.atomic add %v, %s[%i] : !s
    }
    tl.parallel (%i) in (128) {
      %0 = tl.atomic max %v, %s[%i] : !s
    }
    tl.copy %s to %A tile(128) : !s to !A
    gpu.return
  }

  // In which order integers are added up nobody sees; but who asks for what was
  // there before does, and so does another kind of change.
  // CHECK-LABEL: gpu.func @atomic_sums
  // CHECK:           tl.atomic add
  // CHECK-NOT:       gpu.barrier
  // CHECK:           tl.atomic add
  // CHECK:         gpu.barrier
  // CHECK-NEXT:    tl.parallel
  // CHECK-NEXT:      tl.atomic max
  // CHECK:         gpu.barrier
  // CHECK-NEXT:    tl.parallel
  // CHECK-NEXT:      tl.atomic max
  gpu.func @atomic_sums(%x: memref<64xi32>, %v: i32) kernel {
    %s = tl.alloc offset(0) : memref<64xi32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (64) {
      %at = arith.remui %i, %i : index
      %0 = tl.atomic add %v, %s[%at] : memref<64xi32, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i) in (64) {
      %0 = tl.atomic add %v, %s[%i] : memref<64xi32, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i) in (64) {
      %0 = tl.atomic max %v, %s[%i] : memref<64xi32, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i) in (64) {
      %0 = tl.atomic max %v, %s[%i] : memref<64xi32, #gpu.address_space<workgroup>>
      tl.store %0, %x[%i] : memref<64xi32>
    }
    gpu.return
  }

  // A sum of 64 bits carries into what others add to by 32, and other blocks see
  // what is done to a tensor as it is done.
  // CHECK-LABEL: gpu.func @atomic_sums_that_are_seen
  // CHECK:           tl.atomic add
  // CHECK:         gpu.barrier
  // CHECK-NEXT:    tl.parallel
  // CHECK-NEXT:      tl.atomic add
  // CHECK:           tl.atomic or
  // CHECK:         gpu.barrier
  // CHECK-NEXT:    tl.parallel
  // CHECK:           tl.atomic or
  // CHECK:         gpu.return
  gpu.func @atomic_sums_that_are_seen(%x: memref<64xi32>, %v: i32, %w: i64) kernel {
    %s = tl.alloc offset(0) : memref<64xi32, #gpu.address_space<workgroup>>
    %l = tl.alloc offset(0) : memref<32xi64, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (64) {
      %0 = tl.atomic add %v, %s[%i] : memref<64xi32, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i) in (32) {
      %0 = tl.atomic add %w, %l[%i] : memref<32xi64, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i) in (64) {
      %at = arith.remui %i, %i : index
      %0 = tl.atomic or %v, %x[%at] : memref<64xi32>
    }
    tl.parallel (%i) in (64) {
      %0 = tl.atomic or %v, %x[%i] : memref<64xi32>
    }
    gpu.return
  }

  // One with an order comes after all that was done to any tensor, and before all
  // that is; one without concerns its own tensor alone.
  // CHECK-LABEL: gpu.func @atomic_with_an_order
  // CHECK:         tl.parallel (%{{.+}}) in (128)
  // CHECK:         tl.parallel (%{{.+}}) in (1)
  // CHECK-NEXT:      tl.atomic add
  // CHECK-NOT:     order
  // CHECK:         gpu.barrier
  // CHECK-NEXT:    tl.parallel (%{{.+}}) in (1)
  // CHECK-NEXT:      tl.atomic add {{.*}} order(acq_rel)
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.parallel (%{{.+}}) in (128)
  gpu.func @atomic_with_an_order(%A: !A, %B: !A, %F: !A, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    tl.parallel (%i) in (128) {
      tl.store %v, %A[%i] : !A
    }
    tl.parallel (%i) in (1) {
      %0 = tl.atomic add %v, %F[%c0] : !A
    }
    tl.parallel (%i) in (1) {
      %0 = tl.atomic add %v, %F[%c0] order(acq_rel) : !A
    }
    tl.parallel (%i) in (128) {
      %0 = tl.load %B[%i] : !A
    }
    gpu.return
  }
  // The cluster meets before the first block reaches into another one, and behind
  // the last one. The program has no barrier of its own.
  // CHECK-LABEL: gpu.func @reached
  // CHECK:         tl.fill
  // CHECK:         tl.cluster_barrier
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    tl.cluster_barrier
  // CHECK-NEXT:    gpu.return
  gpu.func @reached(%v: f32) kernel attributes {tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc offset(0) : !s
    %t = tl.alloc offset(512) : !s
    %there = tl.map_shared_rank %t[%c1] : !s
    tl.fill %s, %v : !s
    tl.copy %s to %there tile(128) : !s to !s
    gpu.return
  }

  // Where it meets anyway, nothing is added.
  // CHECK-LABEL: gpu.func @reached_between_meetings
  // CHECK:         tl.cluster_arrive
  // CHECK-NEXT:    tl.cluster_wait
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    tl.cluster_barrier
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    gpu.return
  gpu.func @reached_between_meetings(%A: !A) kernel attributes {tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc offset(0) : !s
    %t = tl.alloc offset(512) : !s
    %there = tl.map_shared_rank %t[%c1] : !s
    tl.cluster_arrive
    tl.cluster_wait
    tl.copy %s to %there tile(128) : !s to !s
    tl.cluster_barrier
    tl.copy %t to %A tile(128) : !s to !A
    gpu.return
  }

  // A block that has arrived and not waited cannot meet others: the first meeting
  // comes before that, also if it arrived in a branch.
  // CHECK-LABEL: gpu.func @reached_between_arrival_and_wait
  // CHECK:         tl.map_shared_rank
  // CHECK-NEXT:    tl.cluster_barrier
  // CHECK-NEXT:    scf.if
  // CHECK:           tl.cluster_arrive
  // CHECK:           tl.cluster_arrive
  // CHECK-NOT:     tl.cluster_barrier
  // CHECK:         tl.copy
  // CHECK-NEXT:    tl.cluster_wait
  // CHECK-NEXT:    tl.cluster_barrier
  // CHECK-NEXT:    gpu.return
  gpu.func @reached_between_arrival_and_wait(%n: i1) kernel attributes {tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc offset(0) : !s
    %t = tl.alloc offset(512) : !s
    %there = tl.map_shared_rank %t[%c1] : !s
    scf.if %n {
      tl.cluster_arrive
    } else {
      tl.cluster_arrive
    }
    tl.copy %s to %there tile(128) : !s to !s
    tl.cluster_wait
    gpu.return
  }

  // A store by the copy engine has read the tile before others may write to it,
  // and what others will give to the engine is fenced by who has written it.
  // CHECK-LABEL: gpu.func @handed_to_others
  // CHECK:         tl.copy {{.*}} async bulk
  // CHECK-NEXT:    tl.wait_stores 0 read
  // CHECK-NEXT:    tl.cluster_barrier
  // CHECK-NEXT:    tl.copy %{{.+}} to %{{.+}} tile(64, 64)
  // CHECK-NEXT:    tl.fence_async device
  // CHECK-NEXT:    tl.cluster_barrier
  // CHECK-NEXT:    tl.copy {{.*}} async bulk
  gpu.func @handed_to_others(%B: memref<4096x4096xf16>, %C: memref<4096x4096xf16>) kernel attributes {tl.cluster = array<i64: 2, 1, 1>} {
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : !tile
    %t = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(8192) : !tile
    %there = tl.map_shared_rank %t[%c1] : !tile
    tl.copy %t to %B tile(64, 64) async bulk : !tile to memref<4096x4096xf16>
    tl.cluster_barrier
    tl.copy %s to %there tile(64, 64) : !tile to !tile
    tl.cluster_barrier
    tl.copy %t to %C tile(64, 64) async bulk : !tile to memref<4096x4096xf16>
    tl.wait_stores 0 read
    gpu.return
  }
}
