// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-insert-sync))' | FileCheck %s

!s = memref<128xf32, #gpu.address_space<workgroup>>
!f = memref<128xf32, #tl.fragment>
!A = memref<128xf32>
!cell = memref<1xi32, #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<3x64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels {
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

  // One barrier serves all conflicts before it, one that is there too.
  // CHECK-LABEL: gpu.func @one_barrier
  // CHECK:         tl.fill
  // CHECK-NEXT:    tl.fill
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.fill
  gpu.func @one_barrier(%A: !A, %v: f32) kernel {
    %s = tl.alloc offset(0) : !s
    %t = tl.alloc offset(512) : !s
    tl.fill %s, %v : !s
    tl.fill %t, %v : !s
    tl.copy %s to %A tile(128) : !s to !A
    tl.copy %t to %A tile(128) : !s to !A
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

  // The two parts of a `scf.while` follow each other, and the first one the
  // second.
  // CHECK-LABEL: gpu.func @while
  // CHECK:         scf.while
  // CHECK-NEXT:      gpu.barrier
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
  gpu.func @branches(%A: !A, %v: f32, %c: i1) kernel {
    %s = tl.alloc offset(0) : !s
    tl.fill %s, %v : !s
    scf.if %c {
      tl.copy %s to %A tile(128) : !s to !A
    }
    tl.copy %s to %A tile(128) : !s to !A
    scf.if %c {
      tl.fill %s, %v : !s
    } else {
      tl.copy %s to %A tile(128) : !s to !A
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

  // Slots of one ring are kept apart by their pipeline; the ring and a buffer
  // in its place are not.
  // CHECK-LABEL: gpu.func @ring
  // CHECK:         tl.copy
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    gpu.barrier
  // CHECK-NEXT:    tl.fill
  gpu.func @ring(%A: memref<64x64xf16>, %v: f16) kernel {
    %c0 = arith.constant 0 : index
    %ring = tl.alloc ring offset(0) : !ring
    %out = tl.alloc offset(0) : !tile
    %slot = tl.slot %ring[%c0] : !ring to !tile
    tl.copy %A to %slot tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %slot to %A tile(64, 64) : !tile to memref<64x64xf16>
    tl.fill %out, %v : !tile
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
}
