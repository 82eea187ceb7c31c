// Fragments whose elements an op does not find in its own threads go through shared memory.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-gemms,tl-infer-layouts,tl-stage-fragments,tl-add-workspaces,tl-verify-layouts))' --split-input-file | FileCheck %s

!tile = memref<64x64xf32, #tl.fragment>
!row = memref<64xf32, #tl.fragment>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @loops attributes {tl.target = #tl.target<chip = "sm_80">} {
  // A vector that a loop over tiles reads by rows: it lies as the loop does, with
  // copies, so that nothing moves.
  // CHECK-LABEL: gpu.func @vector_by_rows
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [64], thread = [16, 8] : [0, 1], value = [8] : [8]>) : memref<64xf32
  // CHECK-NOT:     workgroup
  // CHECK:         tl.parallel {{.*}} in (64, 64) layout(#tl.fragment_layout<shape = [64, 64], thread = [16, 8] : [4, 64], value = [4, 8] : [1, 512]>)
  gpu.func @vector_by_rows(%M: memref<64xf32>, %X: memref<64x64xf32>, %Y: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %m = tl.alloc : !row
    tl.copy %M to %m tile(64) : memref<64xf32> to !row
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %X[%i, %j] : memref<64x64xf32>
      %y = tl.load %m[%i] : !row
      %z = arith.mulf %x, %y : f32
      tl.store %z, %Y[%i, %j] : memref<64x64xf32>
    }
    gpu.return
  }

  // The result of a reduction in a loop of another width: rows stay with their
  // threads, and the copies share the columns, 4 elements each.
  // CHECK-LABEL: gpu.func @result_in_another_loop
  // CHECK:         tl.alloc layout(#tl.fragment_layout<shape = [64], thread = [16, 8] : [0, 1], value = [8] : [8]>) : memref<64xf32
  // CHECK-NOT:     workgroup
  // CHECK:         tl.parallel {{.*}} in (64, 32) layout(#tl.fragment_layout<shape = [64, 32], thread = [8, 2, 8] : [4, 0, 32], value = [4, 8] : [1, 256]>)
  gpu.func @result_in_another_loop(%Z: memref<64x32xf32>, %Y: memref<64x32xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.alloc : !tile
    %m = tl.alloc : !row
    tl.reduce max %x to %m dim(1) : !tile to !row
    tl.parallel (%i, %j) in (64, 32) {
      %z = tl.load %Z[%i, %j] : memref<64x32xf32>
      %y = tl.load %m[%i] : !row
      %d = arith.subf %z, %y : f32
      tl.store %d, %Y[%i, %j] : memref<64x32xf32>
    }
    gpu.return
  }

  // A loop that reads a fragment and its transpose, and writes it: both through the
  // tile, which is copied back.
  // CHECK-LABEL: gpu.func @transposed
  // CHECK:         %[[T:.+]] = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) : memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         %[[F:.+]] = tl.alloc {{.*}} : memref<64x64xf32, #tl.fragment>
  // CHECK:         tl.copy %[[F]] to %[[T]] tile(64, 64)
  // CHECK:         tl.parallel (%[[I:.+]], %[[J:.+]]) in
  // CHECK:           tl.load %[[T]][%[[I]], %[[J]]]
  // CHECK:           tl.load %[[T]][%[[J]], %[[I]]]
  // CHECK:           tl.store %{{.+}}, %[[T]][%[[I]], %[[J]]]
  // CHECK:         tl.copy %[[T]] to %[[F]] tile(64, 64)
  gpu.func @transposed() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : !tile
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %f[%i, %j] : !tile
      %y = tl.load %f[%j, %i] : !tile
      %z = arith.addf %x, %y : f32
      tl.store %z, %f[%i, %j] : !tile
    }
    gpu.return
  }

  // Shifted and computed indices read the tile; a fragment that is only read is not
  // copied back.
  // CHECK-LABEL: gpu.func @any_index
  // CHECK:         tl.copy %{{.+}} to %[[T:.+]] tile(64, 64) : memref<64x64xf32, #tl.fragment> to memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.parallel
  // CHECK:           tl.load %[[T]]
  // CHECK:           tl.load %[[T]]
  // CHECK-NOT:     tl.copy
  // CHECK:         gpu.return
  gpu.func @any_index(%I: memref<64xi32>, %Y: memref<64x63xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c1 = arith.constant 1 : index
    %f = tl.alloc : !tile
    tl.parallel (%i, %j) in (64, 63) {
      %k = arith.addi %j, %c1 : index
      %x = tl.load %f[%i, %k] : !tile
      %n = tl.load %I[%j] : memref<64xi32>
      %m = arith.index_cast %n : i32 to index
      %y = tl.load %f[%i, %m] : !tile
      %z = arith.addf %x, %y : f32
      tl.store %z, %Y[%i, %j] : memref<64x63xf32>
    }
    gpu.return
  }

  // Sixteen rows further down are values of the same threads, as an accumulator lies;
  // a row further down is another thread's.
  // CHECK-LABEL: gpu.func @rows_beside
  // CHECK:         tl.parallel (%[[I:.+]], %[[J:.+]]) in (64, 64) layout(#[[L:.+]])
  // CHECK:           %[[K:.+]] = arith.addi %[[I]], %{{.+}}
  // CHECK:           tl.load %{{.+}}[%[[K]], %[[J]]] : memref<64x64xf32, #tl.fragment>
  // CHECK:         tl.copy %{{.+}} to %[[T:.+]] tile(64, 64) : memref<64x64xf32, #tl.fragment> to memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.parallel
  // CHECK:           tl.load %[[T]]
  gpu.func @rows_beside(%Y: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %a = tl.alloc : memref<64x16xf16, #gpu.address_space<workgroup>>
    %f = tl.alloc : !tile
    tl.gemm %a, %a, %f transpose_b plan(<mma, warps_m = 1, warps_n = 1>) : memref<64x16xf16, #gpu.address_space<workgroup>>, memref<64x16xf16, #gpu.address_space<workgroup>>, !tile
    tl.parallel (%i, %j) in (64, 64) {
      %k = arith.addi %i, %c16 : index
      %x = tl.load %f[%k, %j] : !tile
      tl.store %x, %Y[%i, %j] : memref<64x64xf32>
    }
    tl.parallel (%i, %j) in (64, 64) {
      %k = arith.addi %i, %c1 : index
      %x = tl.load %f[%k, %j] : !tile
      tl.store %x, %Y[%i, %j] : memref<64x64xf32>
    }
    gpu.return
  }

  // A loop that writes all of a fragment has no need of what it held; one that
  // writes a part of it does.
  // CHECK-LABEL: gpu.func @written
  // CHECK:         tl.copy %[[F:.+]] to %[[G:.+]] tile(64, 64) : memref<64x64xf32, #tl.fragment> to memref<64x64xf32, #tl.fragment>
  // CHECK-NEXT:    tl.parallel
  // CHECK:           tl.store %{{.+}}, %[[T:.+]][%{{.+}}, %{{.+}}] : memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %[[T]] to %[[G]] tile(64, 64)
  // CHECK-NEXT:    tl.copy %[[G]] to %[[U:.+]] tile(64, 64)
  // CHECK-NEXT:    tl.parallel
  // CHECK:           tl.store %{{.+}}, %[[U]]
  // CHECK:         tl.copy %[[U]] to %[[G]] tile(64, 64)
  gpu.func @written(%v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : !tile
    %g = tl.alloc : !tile
    tl.copy %f to %g tile(64, 64) : !tile to !tile
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %f[%i, %j] : !tile
      tl.store %x, %g[%j, %i] : !tile
    }
    tl.parallel (%i, %j) in (64, 32) {
      tl.store %v, %g[%i, %j] : !tile
    }
    gpu.return
  }

  // Iterations that write one element agree on a value in shared memory, so that all
  // copies get the same.
  // CHECK-LABEL: gpu.func @racing_writes
  // CHECK:         tl.parallel
  // CHECK:           tl.store %{{.+}}, %[[T:.+]][%{{.+}}] : memref<64xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %[[T]] to %{{.+}} tile(64)
  gpu.func @racing_writes(%A: memref<64x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %m = tl.alloc : !row
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %A[%i, %j] : memref<64x64xf32>
      tl.store %x, %m[%i] : !row
    }
    gpu.return
  }

  // A loop that all threads run, and that writes one element of a fragment, which
  // goes through a tile. The loop reads that tile, too, so that the fragment of one
  // element, which could stay in registers, goes through another (R4).
  // CHECK-LABEL: gpu.func @asked_again
  // CHECK:         tl.parallel
  // CHECK-NOT:     #tl.fragment>
  // CHECK:           tl.store %{{.+}}, %[[S:.+]][%{{.+}}] : memref<1xf32, #gpu.address_space<workgroup>>
  // CHECK-NOT:     #tl.fragment>
  // CHECK:           tl.store %{{.+}}, %[[T:.+]][%{{.+}}] : memref<64xf32, #gpu.address_space<workgroup>>
  // CHECK-DAG:     tl.copy %[[S]] to %{{.+}} tile(1)
  // CHECK-DAG:     tl.copy %[[T]] to %{{.+}} tile(64)
  gpu.func @asked_again(%A: memref<64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : !row
    %s = tl.alloc : memref<1xf32, #tl.fragment>
    tl.copy %A to %f tile(64) : memref<64xf32> to !row
    tl.reduce min %f to %s dim(0) : !row to memref<1xf32, #tl.fragment>
    tl.parallel (%i) in (1) {
      %x = tl.load %s[%i] : memref<1xf32, #tl.fragment>
      %y = tl.load %f[%i] : !row
      %z = arith.addf %x, %y : f32
      tl.store %z, %s[%i] : memref<1xf32, #tl.fragment>
      tl.store %x, %f[%i] : !row
    }
    gpu.return
  }

  // A fragment of one element, held by all threads, is read where it is.
  // CHECK-LABEL: gpu.func @one_element
  // CHECK-NOT:     workgroup
  // CHECK:         gpu.return
  gpu.func @one_element(%A: memref<1xf32>, %Y: memref<64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc : memref<1xf32, #tl.fragment>
    tl.copy %A to %s tile(1) : memref<1xf32> to memref<1xf32, #tl.fragment>
    tl.parallel (%i) in (64) {
      %x = tl.load %s[%c0] : memref<1xf32, #tl.fragment>
      tl.store %x, %Y[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

!tile = memref<64x64xf32, #tl.fragment>
!row = memref<64xf32, #tl.fragment>
!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!odd = memref<64x24xf16, #gpu.address_space<workgroup>>

gpu.module @ops attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // A part of a fragment is copied from the tile, or into it between two copies of
  // the whole.
  // CHECK-LABEL: gpu.func @parts
  // CHECK:         tl.copy %[[F:.+]] to %[[T:.+]] tile(64, 64) : memref<64x64xf32, #tl.fragment>
  // CHECK-NEXT:    tl.copy %[[T]][%{{.+}}, %{{.+}}] to %arg0 tile(32, 64)
  // CHECK-NEXT:    tl.copy %[[F]] to %[[U:.+]] tile(64, 64)
  // CHECK-NEXT:    tl.copy %arg0 to %[[U]][%{{.+}}, %{{.+}}] tile(32, 64)
  // CHECK-NEXT:    tl.copy %[[U]] to %[[F]] tile(64, 64)
  gpu.func @parts(%A: memref<32x64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %f = tl.alloc : !tile
    tl.copy %f[%c32, %c0] to %A tile(32, 64) : !tile to memref<32x64xf32>
    tl.copy %A to %f[%c32, %c0] tile(32, 64) : memref<32x64xf32> to !tile
    gpu.return
  }

  // One accumulator of two instructions: the second one gets a fragment of its own.
  // K of 24 elements is no whole number of wgmma's steps, so that threads multiply;
  // they take the accumulator as it lies.
  // CHECK-LABEL: gpu.func @two_instructions
  // CHECK:         tl.gemm {{.*}}, %[[ACC:.+]] plan(<wgmma
  // CHECK-NEXT:    tl.copy %[[ACC]] to %[[T:.+]] tile(64, 64)
  // CHECK-NEXT:    tl.copy %[[T]] to %[[OWN:.+]] tile(64, 64)
  // CHECK-NEXT:    tl.gemm %{{.+}}, %{{.+}}, %[[OWN]] plan(<mma
  // CHECK-NEXT:    tl.copy %[[OWN]] to %[[U:.+]] tile(64, 64)
  // CHECK-NEXT:    tl.copy %[[U]] to %[[ACC]] tile(64, 64)
  // CHECK-NEXT:    tl.gemm %{{.+}}, %{{.+}}, %[[ACC]] transpose_b plan(<fma
  // CHECK-NEXT:    gpu.return
  gpu.func @two_instructions() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc : !s
    %odd = tl.alloc : !odd
    %acc = tl.alloc : !tile
    tl.gemm %s, %s, %acc : !s, !s, !tile
    tl.gemm %s, %s, %acc plan(<mma, warps_m = 2, warps_n = 2>) : !s, !s, !tile
    tl.gemm %odd, %odd, %acc transpose_b : !odd, !odd, !tile
    gpu.return
  }

  // A vector lies along the rows and the columns of one tile in turn.
  // CHECK-LABEL: gpu.func @rows_and_columns
  // CHECK:         tl.reduce sum %{{.+}} to %[[R:.+]] dim(1)
  // CHECK-NEXT:    tl.copy %[[R]] to %[[T:.+]] tile(64)
  // CHECK-NEXT:    tl.copy %[[T]] to %[[OWN:.+]] tile(64)
  // CHECK-NEXT:    tl.reduce sum %{{.+}} to %[[OWN]] dim(0) accumulate
  // CHECK-NEXT:    tl.copy %[[OWN]] to %[[U:.+]] tile(64)
  // CHECK-NEXT:    tl.copy %[[U]] to %[[R]] tile(64)
  gpu.func @rows_and_columns() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : !tile
    %r = tl.alloc : !row
    tl.reduce sum %f to %r dim(1) : !tile to !row
    tl.reduce sum %f to %r dim(0) accumulate : !tile to !row
    gpu.return
  }

  // Warps have rows between each other's: a scan down the columns goes over a second
  // fragment. Along the rows it goes over the first.
  // CHECK-LABEL: gpu.func @scans
  // CHECK:         tl.scan sum %[[X:.+]] to %[[X]] dim(1)
  // CHECK-NEXT:    tl.copy %[[X]] to %[[T:.+]] tile(64, 64)
  // CHECK-NEXT:    tl.copy %[[T]] to %[[OWN:.+]] tile(64, 64)
  // CHECK-NEXT:    tl.scan sum %[[OWN]] to %[[OWN]] dim(0)
  // CHECK-NEXT:    tl.copy %[[OWN]] to %[[U:.+]] tile(64, 64)
  // CHECK-NEXT:    tl.copy %[[U]] to %[[X]] tile(64, 64)
  gpu.func @scans() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [64, 64], thread = [16, 8] : [4, 64], value = [4, 8] : [1, 512]>) : !tile
    tl.scan sum %x to %x dim(1) : !tile
    tl.scan sum %x to %x dim(0) : !tile
    gpu.return
  }

  // A fragment that a serial loop only reads is copied in front of it, and of all
  // such loops around it; in the loop that writes it, behind the write.
  // CHECK-LABEL: gpu.func @only_read
  // CHECK:         tl.copy %[[F:.+]] to %[[T:.+]] tile(64, 64)
  // CHECK-NEXT:    tl.pipelined
  // CHECK-NEXT:      scf.for
  // CHECK-NEXT:        tl.parallel
  // CHECK:               tl.load %[[T]]
  // CHECK:         scf.for
  // CHECK-NEXT:      tl.fill %[[F]]
  // CHECK-NEXT:      tl.copy %[[F]] to %[[U:.+]] tile(64, 64)
  // CHECK-NEXT:      scf.for
  // CHECK-NEXT:        tl.parallel
  // CHECK:               tl.load %[[U]]
  gpu.func @only_read(%A: memref<64xf32>, %n: index, %zero: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = tl.alloc : !tile
    tl.pipelined %j = %c0 to %n stages(2) {
      scf.for %k = %c0 to %n step %c1 {
        tl.parallel (%i) in (64) {
          %x = tl.load %f[%k, %i] : !tile
          tl.store %x, %A[%i] : memref<64xf32>
        }
      }
    }
    scf.for %j = %c0 to %n step %c1 {
      tl.fill %f, %zero : !tile
      scf.for %k = %c0 to %n step %c1 {
        tl.parallel (%i) in (64) {
          %x = tl.load %f[%k, %i] : !tile
          tl.store %x, %A[%i] : memref<64xf32>
        }
      }
    }
    gpu.return
  }

  // Not where the tiles of the kernel do not fit beside each other: its life would be
  // longer. Nor out of a branch, which may not be taken.
  // CHECK-LABEL: gpu.func @no_room
  // CHECK:         scf.for
  // CHECK-NEXT:      tl.copy %{{.+}} to %{{.+}} tile(64, 64)
  // CHECK-NEXT:      tl.parallel
  gpu.func @no_room(%A: memref<64xf32>, %n: index, %zero: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = tl.alloc : !tile
    %large = tl.alloc : memref<56320xf32, #gpu.address_space<workgroup>>
    scf.for %k = %c0 to %n step %c1 {
      tl.parallel (%i) in (64) {
        %x = tl.load %f[%k, %i] : !tile
        tl.store %x, %A[%i] : memref<64xf32>
      }
    }
    gpu.return
  }
  // CHECK-LABEL: gpu.func @in_a_branch
  // CHECK:         scf.for
  // CHECK-NEXT:      scf.if
  // CHECK-NEXT:        tl.copy %{{.+}} to %{{.+}} tile(64, 64)
  // CHECK-NEXT:        tl.parallel
  gpu.func @in_a_branch(%A: memref<64xf32>, %n: index, %c: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = tl.alloc : !tile
    scf.for %k = %c0 to %n step %c1 {
      scf.if %c {
        tl.parallel (%i) in (64) {
          %x = tl.load %f[%k, %i] : !tile
          tl.store %x, %A[%i] : memref<64xf32>
        }
      }
    }
    gpu.return
  }

  // A tile of one dimension is reduced to one element, with or without a dimension.
  // CHECK-LABEL: gpu.func @one_dimension
  // CHECK-DAG:     tl.alloc layout(#tl.fragment_layout<shape = [1], thread = [128] : [0], value = [] : []>) : memref<1xf32
  // CHECK-DAG:     tl.alloc layout(#tl.fragment_layout<shape = [], thread = [128] : [0], value = [] : []>) : memref<f32
  // CHECK:         tl.reduce max {{.*}} workspace
  // CHECK-NEXT:    tl.reduce sum {{.*}} workspace
  gpu.func @one_dimension() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : memref<256xf32, #tl.fragment>
    %one = tl.alloc : memref<1xf32, #tl.fragment>
    %none = tl.alloc : memref<f32, #tl.fragment>
    tl.reduce max %f to %one dim(0) : memref<256xf32, #tl.fragment> to memref<1xf32, #tl.fragment>
    tl.reduce sum %f to %none dim(0) : memref<256xf32, #tl.fragment> to memref<f32, #tl.fragment>
    gpu.return
  }
}
