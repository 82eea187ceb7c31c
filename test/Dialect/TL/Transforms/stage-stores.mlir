// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-stage-stores))' --split-input-file | FileCheck %s

!a = memref<64x32xf16, #gpu.address_space<workgroup>>
!b = memref<32x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // An accumulator goes through shared memory, in the type and to the place of
  // its destination. The buffer is allocated at the kernel's start.
  // CHECK-LABEL: gpu.func @accumulator(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<?x?xf16>, %[[I:[^:]+]]: index
  // CHECK-NEXT:    %[[S:.+]] = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.copy %[[ACC]] to %[[S]] tile(64, 64) :
  // CHECK-NEXT:    tl.copy %[[S]] to %[[C]][%[[I]], %[[I]]] tile(64, 64) :
  gpu.func @accumulator(%C: memref<?x?xf16>, %i: index) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.copy %acc to %C[%i, %i] tile(64, 64) : !acc to memref<?x?xf16>
    gpu.return
  }

  // So does a fragment of another type that an accumulator is copied to.
  // CHECK-LABEL: gpu.func @converted(
  // CHECK:         tl.copy %{{.+}} to %[[OUT:[^ ]+]] tile(64, 64) : {{.+}} to memref<64x64xf16, #tl.fragment>
  // CHECK-NEXT:    tl.copy %[[OUT]] to %[[S:[^ ]+]] tile(64, 64) : {{.+}} to memref<64x64xf16, #gpu.address_space<workgroup>>
  // CHECK-NEXT:    tl.copy %[[S]] to
  gpu.func @converted(%C: memref<?x?xf16>, %i: index) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    %out = tl.alloc : memref<64x64xf16, #tl.fragment>
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.copy %acc to %out tile(64, 64) : !acc to memref<64x64xf16, #tl.fragment>
    tl.copy %out to %C[%i, %i] tile(64, 64) : memref<64x64xf16, #tl.fragment> to memref<?x?xf16>
    gpu.return
  }

  // And one that is computed of it element by element; not one of which an
  // element comes from another place.
  // CHECK-LABEL: gpu.func @computed(
  // CHECK:         tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK-LABEL: gpu.func @transposed(
  // CHECK-NOT:     tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         gpu.return
  gpu.func @computed(%C: memref<?x?xf32>, %i: index) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    %out = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.parallel (%r, %c) in (64, 64) {
      %x = tl.load %acc[%r, %c] : !acc
      %twice = arith.addf %x, %x : f32
      tl.store %twice, %out[%r, %c] : !acc
    }
    tl.copy %out to %C[%i, %i] tile(64, 64) : !acc to memref<?x?xf32>
    gpu.return
  }
  gpu.func @transposed(%C: memref<?x?xf32>, %i: index) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    %out = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.parallel (%r, %c) in (64, 64) {
      %x = tl.load %acc[%r, %c] : !acc
      tl.store %x, %out[%c, %r] : !acc
    }
    tl.copy %out to %C[%i, %i] tile(64, 64) : !acc to memref<?x?xf32>
    gpu.return
  }

  // The destination may have more dimensions than the tile.
  // CHECK-LABEL: gpu.func @batch(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<8x?x?xf32>, %[[I:[^:]+]]: index
  // CHECK:         %[[S:.+]] = tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %[[S]] to %[[C]][%[[I]], %[[I]], %[[I]]] tile(64, 64) :
  gpu.func @batch(%C: memref<8x?x?xf32>, %i: index) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.copy %acc to %C[%i, %i, %i] tile(64, 64) : !acc to memref<8x?x?xf32>
    gpu.return
  }

  // A tile that a block's shared memory does not hold is stored directly.
  // CHECK-LABEL: gpu.func @too_large(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<?x?xf32>, %[[I:[^:]+]]: index
  // CHECK-NOT:     memref<256x256xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %{{.+}} to %[[C]][%[[I]], %[[I]]] tile(256, 256) :
  gpu.func @too_large(%C: memref<?x?xf32>, %i: index) kernel {
    %a = tl.alloc : memref<256x32xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<32x256xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<256x256xf32, #tl.fragment>
    tl.gemm %a, %b, %acc : memref<256x32xf16, #gpu.address_space<workgroup>>, memref<32x256xf16, #gpu.address_space<workgroup>>, memref<256x256xf32, #tl.fragment>
    tl.copy %acc to %C[%i, %i] tile(256, 256) : memref<256x256xf32, #tl.fragment> to memref<?x?xf32>
    gpu.return
  }

  // In a loop over tiles the ring of an inner loop may be filled for the next
  // tile meanwhile: 4 slots of (128 + 256) * 64 elements and the tile are more
  // than the chip's 232,448 bytes. Three slots leave room.
  // CHECK-LABEL: gpu.func @beside_a_ring(
  // CHECK-NOT:     memref<128x256xbf16, #gpu.address_space<workgroup>>
  // CHECK-LABEL: gpu.func @beside_a_shorter_ring(
  // CHECK-NEXT:    tl.alloc : memref<128x256xbf16, #gpu.address_space<workgroup>>
  gpu.func @beside_a_ring(%A: memref<?x?xbf16>, %B: memref<?x?xbf16>, %C: memref<?x?xbf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc : memref<128x64xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<64x256xbf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x256xf32, #tl.fragment>
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %n stages(4) {
        tl.copy %A[%i, %k] to %a tile(128, 64) : memref<?x?xbf16> to memref<128x64xbf16, #gpu.address_space<workgroup>>
        tl.copy %B[%k, %i] to %b tile(64, 256) : memref<?x?xbf16> to memref<64x256xbf16, #gpu.address_space<workgroup>>
        tl.gemm %a, %b, %acc : memref<128x64xbf16, #gpu.address_space<workgroup>>, memref<64x256xbf16, #gpu.address_space<workgroup>>, memref<128x256xf32, #tl.fragment>
      }
      tl.copy %acc to %C[%i, %i] tile(128, 256) : memref<128x256xf32, #tl.fragment> to memref<?x?xbf16>
    }
    gpu.return
  }
  gpu.func @beside_a_shorter_ring(%A: memref<?x?xbf16>, %B: memref<?x?xbf16>, %C: memref<?x?xbf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc : memref<128x64xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<64x256xbf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x256xf32, #tl.fragment>
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %n stages(3) {
        tl.copy %A[%i, %k] to %a tile(128, 64) : memref<?x?xbf16> to memref<128x64xbf16, #gpu.address_space<workgroup>>
        tl.copy %B[%k, %i] to %b tile(64, 256) : memref<?x?xbf16> to memref<64x256xbf16, #gpu.address_space<workgroup>>
        tl.gemm %a, %b, %acc : memref<128x64xbf16, #gpu.address_space<workgroup>>, memref<64x256xbf16, #gpu.address_space<workgroup>>, memref<128x256xf32, #tl.fragment>
      }
      tl.copy %acc to %C[%i, %i] tile(128, 256) : memref<128x256xf32, #tl.fragment> to memref<?x?xbf16>
    }
    gpu.return
  }

  // Loops over one tile in other numbers of stages have the larger number of slots
  // in common: four slots leave room for the tile, six would not.
  // CHECK-LABEL: gpu.func @beside_a_common_ring(
  // CHECK-NEXT:    tl.alloc : memref<128x128xf32, #gpu.address_space<workgroup>>
  gpu.func @beside_a_common_ring(%A: memref<?x?xbf16>, %C: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc : memref<128x128xbf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %n stages(4) {
        tl.copy %A[%i, %k] to %a tile(128, 128) : memref<?x?xbf16> to memref<128x128xbf16, #gpu.address_space<workgroup>>
        tl.gemm %a, %a, %acc : memref<128x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.pipelined %k = %c0 to %n stages(2) {
        tl.copy %A[%i, %k] to %a tile(128, 128) : memref<?x?xbf16> to memref<128x128xbf16, #gpu.address_space<workgroup>>
        tl.gemm %a, %a, %acc : memref<128x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.copy %acc to %C[%i, %i] tile(128, 128) : memref<128x128xf32, #tl.fragment> to memref<?x?xf32>
    }
    gpu.return
  }

  // Loops that fill other tiles beside it have rings of their own: `%a` has three
  // slots for each loop, `%b` and `%c` have three.
  // CHECK-LABEL: gpu.func @beside_rings_of_other_tiles(
  // CHECK-NOT:     memref<128x128xf32, #gpu.address_space<workgroup>>
  // CHECK:         gpu.return
  gpu.func @beside_rings_of_other_tiles(%A: memref<?x?xbf16>, %C: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc : memref<128x64xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<64x128xbf16, #gpu.address_space<workgroup>>
    %c = tl.alloc : memref<64x128xbf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %n stages(3) {
        tl.copy %A[%i, %k] to %a tile(128, 64) : memref<?x?xbf16> to memref<128x64xbf16, #gpu.address_space<workgroup>>
        tl.copy %A[%k, %i] to %b tile(64, 128) : memref<?x?xbf16> to memref<64x128xbf16, #gpu.address_space<workgroup>>
        tl.gemm %a, %b, %acc : memref<128x64xbf16, #gpu.address_space<workgroup>>, memref<64x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.pipelined %k = %c0 to %n stages(3) {
        tl.copy %A[%i, %k] to %a tile(128, 64) : memref<?x?xbf16> to memref<128x64xbf16, #gpu.address_space<workgroup>>
        tl.copy %A[%k, %i] to %c tile(64, 128) : memref<?x?xbf16> to memref<64x128xbf16, #gpu.address_space<workgroup>>
        tl.gemm %a, %c, %acc : memref<128x64xbf16, #gpu.address_space<workgroup>>, memref<64x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.copy %acc to %C[%i, %i] tile(128, 128) : memref<128x128xf32, #tl.fragment> to memref<?x?xf32>
    }
    gpu.return
  }

  // And loops of which the bulk copy engine can fill one alone: the rows of `%U`
  // begin anywhere.
  // CHECK-LABEL: gpu.func @beside_rings_of_other_engines(
  // CHECK-NOT:     memref<128x128xf32, #gpu.address_space<workgroup>>
  // CHECK-LABEL: gpu.func @beside_a_ring_of_two_tensors(
  // CHECK-NEXT:    tl.alloc : memref<128x128xf32, #gpu.address_space<workgroup>>
  gpu.func @beside_rings_of_other_engines(%A: memref<512x512xbf16> {tl.align = 16 : i64}, %U: memref<512x511xbf16> {tl.align = 16 : i64}, %C: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc : memref<128x128xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<128x128xbf16, #tl.fragment>
    %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %n stages(3) {
        tl.copy %A[%c0, %c0] to %a tile(128, 128) : memref<512x512xbf16> to memref<128x128xbf16, #gpu.address_space<workgroup>>
        tl.gemm %b, %a, %acc : memref<128x128xbf16, #tl.fragment>, memref<128x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.pipelined %k = %c0 to %n stages(3) {
        tl.copy %U[%c0, %c0] to %a tile(128, 128) : memref<512x511xbf16> to memref<128x128xbf16, #gpu.address_space<workgroup>>
        tl.gemm %b, %a, %acc : memref<128x128xbf16, #tl.fragment>, memref<128x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.copy %acc to %C[%i, %i] tile(128, 128) : memref<128x128xf32, #tl.fragment> to memref<?x?xf32>
    }
    gpu.return
  }
  gpu.func @beside_a_ring_of_two_tensors(%A: memref<512x512xbf16> {tl.align = 16 : i64}, %U: memref<512x512xbf16> {tl.align = 16 : i64}, %C: memref<?x?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc : memref<128x128xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<128x128xbf16, #tl.fragment>
    %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
    scf.for %i = %c0 to %n step %c1 {
      tl.pipelined %k = %c0 to %n stages(3) {
        tl.copy %A[%c0, %c0] to %a tile(128, 128) : memref<512x512xbf16> to memref<128x128xbf16, #gpu.address_space<workgroup>>
        tl.gemm %b, %a, %acc : memref<128x128xbf16, #tl.fragment>, memref<128x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.pipelined %k = %c0 to %n stages(3) {
        tl.copy %U[%c0, %c0] to %a tile(128, 128) : memref<512x512xbf16> to memref<128x128xbf16, #gpu.address_space<workgroup>>
        tl.gemm %b, %a, %acc : memref<128x128xbf16, #tl.fragment>, memref<128x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.copy %acc to %C[%i, %i] tile(128, 128) : memref<128x128xf32, #tl.fragment> to memref<?x?xf32>
    }
    gpu.return
  }

  // What else is done with a tile of a ring is done beside the ring: five slots
  // of 32,768 bytes, and the tile that is stored in each round, leave no room.
  // CHECK-LABEL: gpu.func @beside_a_ring_and_its_tile(
  // CHECK-NOT:     memref<128x128xf32, #gpu.address_space<workgroup>>
  // CHECK:         gpu.return
  gpu.func @beside_a_ring_and_its_tile(%A: memref<?x?xbf16>, %C: memref<?x?xf32>, %D: memref<?x?xbf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc : memref<128x128xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<128x128xbf16, #tl.fragment>
    %acc = tl.alloc : memref<128x128xf32, #tl.fragment>
    scf.for %i = %c0 to %n step %c1 {
      tl.copy %A[%i, %c0] to %a tile(128, 128) : memref<?x?xbf16> to memref<128x128xbf16, #gpu.address_space<workgroup>>
      tl.copy %a to %D[%i, %c0] tile(128, 128) : memref<128x128xbf16, #gpu.address_space<workgroup>> to memref<?x?xbf16>
      tl.pipelined %k = %c0 to %n stages(5) {
        tl.copy %A[%i, %k] to %a tile(128, 128) : memref<?x?xbf16> to memref<128x128xbf16, #gpu.address_space<workgroup>>
        tl.gemm %b, %a, %acc : memref<128x128xbf16, #tl.fragment>, memref<128x128xbf16, #gpu.address_space<workgroup>>, memref<128x128xf32, #tl.fragment>
      }
      tl.copy %acc to %C[%i, %i] tile(128, 128) : memref<128x128xf32, #tl.fragment> to memref<?x?xf32>
    }
    gpu.return
  }

  // Behind all that a ring is used for, the tile takes its place.
  // CHECK-LABEL: gpu.func @behind_a_ring(
  // CHECK-NEXT:    tl.alloc : memref<128x256xbf16, #gpu.address_space<workgroup>>
  gpu.func @behind_a_ring(%A: memref<?x?xbf16>, %B: memref<?x?xbf16>, %C: memref<?x?xbf16>, %n: index, %i: index, %guard: i1) kernel {
    %c0 = arith.constant 0 : index
    %a = tl.alloc : memref<128x64xbf16, #gpu.address_space<workgroup>>
    %b = tl.alloc : memref<64x256xbf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<128x256xf32, #tl.fragment>
    scf.if %guard {
      tl.pipelined %k = %c0 to %n stages(4) {
        tl.copy %A[%i, %k] to %a tile(128, 64) : memref<?x?xbf16> to memref<128x64xbf16, #gpu.address_space<workgroup>>
        tl.copy %B[%k, %i] to %b tile(64, 256) : memref<?x?xbf16> to memref<64x256xbf16, #gpu.address_space<workgroup>>
        tl.gemm %a, %b, %acc : memref<128x64xbf16, #gpu.address_space<workgroup>>, memref<64x256xbf16, #gpu.address_space<workgroup>>, memref<128x256xf32, #tl.fragment>
      }
      tl.copy %acc to %C[%i, %i] tile(128, 256) : memref<128x256xf32, #tl.fragment> to memref<?x?xbf16>
    }
    gpu.return
  }

  // A fragment that no gemm accumulates into is stored directly.
  // CHECK-LABEL: gpu.func @other_fragment(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<64x64xf16>
  // CHECK-NEXT:    %[[F:.+]] = tl.alloc
  // CHECK-NEXT:    tl.copy %[[F]] to %[[C]]
  gpu.func @other_fragment(%C: memref<64x64xf16>) kernel {
    %f = tl.alloc : !acc
    tl.copy %f to %C tile(64, 64) : !acc to memref<64x64xf16>
    gpu.return
  }

  // Rows of 24 elements of two bytes are no whole 32-byte sectors.
  // CHECK-LABEL: gpu.func @short_rows(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<64x24xf16>
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.copy %[[ACC]] to %[[C]]
  gpu.func @short_rows(%C: memref<64x24xf16>) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : memref<32x24xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<64x24xf32, #tl.fragment>
    tl.gemm %a, %b, %acc : !a, memref<32x24xf16, #gpu.address_space<workgroup>>, memref<64x24xf32, #tl.fragment>
    tl.copy %acc to %C tile(64, 24) : memref<64x24xf32, #tl.fragment> to memref<64x24xf16>
    gpu.return
  }

  // A copy to shared memory is there already.
  // CHECK-LABEL: gpu.func @to_shared
  // CHECK:         %[[S:.+]] = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.copy %[[ACC]] to %[[S]]
  // CHECK-NEXT:    gpu.return
  gpu.func @to_shared() kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    %s = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.copy %acc to %s tile(64, 64) : !acc to memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // A tensor without dimensions has no rows.
  // CHECK-LABEL: gpu.func @no_rows
  // CHECK:         tl.copy
  // CHECK-NEXT:    tl.copy
  // CHECK-NEXT:    gpu.return
  gpu.func @no_rows(%A: memref<f32>) kernel {
    %s = tl.alloc : memref<f32, #gpu.address_space<workgroup>>
    tl.copy %A to %s tile() : memref<f32> to memref<f32, #gpu.address_space<workgroup>>
    tl.copy %s to %A tile() : memref<f32, #gpu.address_space<workgroup>> to memref<f32>
    gpu.return
  }

  // An accumulator that is added to device memory goes the same way.
  // CHECK-LABEL: gpu.func @added(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<64x64xf32>
  // CHECK-NEXT:    %[[S:.+]] = tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.copy %[[ACC]] to %[[S]] tile(64, 64) :
  // CHECK-NEXT:    tl.parallel (%[[I:.+]], %[[J:.+]]) in (64, 64)
  // CHECK-NEXT:      %[[X:.+]] = tl.load %[[S]][%[[I]], %[[J]]]
  // CHECK-NEXT:      tl.atomic add %[[X]], %[[C]][%[[I]], %[[J]]]
  gpu.func @added(%C: memref<64x64xf32>) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %acc[%i, %j] : !acc
      %old = tl.atomic add %x, %C[%i, %j] : memref<64x64xf32>
    }
    gpu.return
  }

  // Not where a multiprocessor has many rounds of such blocks: they hide each other's sums. Those in a loop wait for the
  // one before.
  // CHECK-LABEL: gpu.func @added_beside_others(
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.parallel
  // CHECK-NEXT:      tl.load %[[ACC]]
  // CHECK:         scf.for
  // CHECK-NEXT:      tl.gemm %{{.+}}, %{{.+}}, %[[ACC]] :
  // CHECK-NEXT:      tl.copy %[[ACC]]
  gpu.func @added_beside_others(%C: memref<64x64xf32>, %n: index) kernel attributes {tl.grid_limit = array<i64: 128, 64, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %acc[%i, %j] : !acc
      %old = tl.atomic add %x, %C[%i, %j] : memref<64x64xf32>
    }
    scf.for %k = %c0 to %n step %c1 {
      tl.gemm %a, %b, %acc : !a, !b, !acc
      tl.parallel (%i, %j) in (64, 64) {
        %x = tl.load %acc[%i, %j] : !acc
        %old = tl.atomic add %x, %C[%i, %j] : memref<64x64xf32>
      }
    }
    gpu.return
  }

  // Where the tile begins may be computed in the loop.
  // CHECK-LABEL: gpu.func @added_somewhere(
  // CHECK-NEXT:    %[[S:.+]] = tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK:         %[[ROW:.+]] = arith.muli
  // CHECK-NEXT:    tl.copy %[[ACC]] to %[[S]] tile(64, 64) :
  // CHECK-NEXT:    tl.parallel (%[[I:.+]], %[[J:.+]]) in (64, 64)
  // CHECK-NEXT:      %[[AT:.+]] = arith.addi %[[ROW]], %[[I]]
  // CHECK-NEXT:      %[[X:.+]] = tl.load %[[S]][%[[I]], %[[J]]]
  // CHECK-NEXT:      tl.atomic add %[[X]], %{{.+}}[%[[AT]], %[[J]]]
  gpu.func @added_somewhere(%C: memref<640x64xf32>) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.parallel (%i, %j) in (64, 64) {
      %block = gpu.block_id x
      %c64 = arith.constant 64 : index
      %row = arith.muli %block, %c64 : index
      %at = arith.addi %row, %i : index
      %x = tl.load %acc[%i, %j] : !acc
      %old = tl.atomic add %x, %C[%at, %j] : memref<640x64xf32>
    }
    gpu.return
  }

  // Where something else is done with its elements on the way, threads add.
  // CHECK-LABEL: gpu.func @scaled(
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.parallel
  // CHECK-NEXT:      tl.load %[[ACC]]
  gpu.func @scaled(%C: memref<64x64xf32>, %y: f32) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %acc[%i, %j] : !acc
      %z = arith.mulf %x, %y : f32
      %old = tl.atomic add %z, %C[%i, %j] : memref<64x64xf32>
    }
    gpu.return
  }
}

// -----

!a = memref<64x32xf16, #gpu.address_space<workgroup>>
!b = memref<32x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // There is no engine that adds.
  // CHECK-LABEL: gpu.func @added_by_threads(
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.parallel
  // CHECK-NEXT:      tl.load %[[ACC]]
  gpu.func @added_by_threads(%C: memref<64x64xf32>) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.parallel (%i, %j) in (64, 64) {
      %x = tl.load %acc[%i, %j] : !acc
      %old = tl.atomic add %x, %C[%i, %j] : memref<64x64xf32>
    }
    gpu.return
  }
}
