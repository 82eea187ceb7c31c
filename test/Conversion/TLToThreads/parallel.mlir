// Parallel loops: a thread runs its iterations together, one in each lane of a
// vector.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @parallel attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // A fragment with the loop's layout is read and written as the vector it is.
  // CHECK-LABEL: gpu.func @equal_layouts(
  // CHECK:         %[[X:.+]] = memref.load %[[SLOT:.+]][] : memref<vector<4xf32>>
  // CHECK-NEXT:    %[[Y:.+]] = arith.addf %[[X]], %[[X]] : vector<4xf32>
  // CHECK-NOT:     vector.shuffle
  // CHECK:         memref.store %[[Y]], %[[SLOT]][]
  gpu.func @equal_layouts() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [8, 16], thread = [4, 8] : [4, 16], value = [4] : [1]>) : memref<8x16xf32, #tl.fragment>
    tl.parallel (%i, %j) in (8, 16) layout(#tl.fragment_layout<shape = [8, 16], thread = [4, 8] : [4, 16], value = [4] : [1]>) {
      %v = tl.load %x[%i, %j] : memref<8x16xf32, #tl.fragment>
      %w = arith.addf %v, %v : f32
      tl.store %w, %x[%i, %j] : memref<8x16xf32, #tl.fragment>
    }
    gpu.return
  }

  // A fragment of fewer dimensions is repeated to the lanes of its rows.
  // CHECK-LABEL: gpu.func @projected(
  // CHECK:         %[[X:.+]] = memref.load %{{.+}}[] : memref<vector<4xf32>>
  // CHECK:         %[[ROWS:.+]] = memref.load %{{.+}}[] : memref<vector<2xf32>>
  // CHECK:         %[[EACH:.+]] = vector.shuffle %[[ROWS]], %[[ROWS]] [0, 0, 1, 1]
  // CHECK:         arith.mulf %[[X]], %[[EACH]] : vector<4xf32>
  gpu.func @projected() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) : memref<16x8xf32, #tl.fragment>
    %rows = tl.alloc layout(#tl.fragment_layout<shape = [16], thread = [4, 8] : [0, 1], value = [2] : [8]>) : memref<16xf32, #tl.fragment>
    tl.parallel (%i, %j) in (16, 8) layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) {
      %v = tl.load %x[%i, %j] : memref<16x8xf32, #tl.fragment>
      %r = tl.load %rows[%i] : memref<16xf32, #tl.fragment>
      %w = arith.mulf %v, %r : f32
      tl.store %w, %x[%i, %j] : memref<16x8xf32, #tl.fragment>
    }
    gpu.return
  }

  // Both sides of an `scf.if` run under masks: a store to memory is guarded lane by
  // lane, one to a fragment selects between new and old.
  // CHECK-LABEL: gpu.func @masks(
  // CHECK:         %[[BELOW:.+]] = arith.cmpi ult, %{{.+}}, %{{.+}} : vector<2xindex>
  // CHECK:         %[[BIT:.+]] = vector.extract %[[BELOW]][0]
  // CHECK:         %[[GUARD:.+]] = arith.andi %[[BIT]], %{{.+}} : i1
  // CHECK:         scf.if %[[GUARD]] {
  // CHECK:           llvm.store {{.+}} : f32, !llvm.ptr<1>
  // CHECK:         vector.extract %[[BELOW]][1]
  // CHECK:           llvm.store {{.+}} : f32, !llvm.ptr<1>
  // CHECK:         %[[ONES:.+]] = arith.constant dense<true>
  // CHECK:         %[[OTHERWISE:.+]] = arith.xori %[[BELOW]], %[[ONES]]
  // CHECK:         %[[ZERO:.+]] = vector.broadcast %{{.+}} : f32 to vector<2xf32>
  // CHECK:         %[[OLD:.+]] = memref.load %[[SLOT:.+]][]
  // CHECK:         %[[NEW:.+]] = arith.select %[[OTHERWISE]], %[[ZERO]], %[[OLD]]
  // CHECK:         memref.store %[[NEW]], %[[SLOT]][]
  gpu.func @masks(%A: memref<64xf32> {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) : memref<64xf32, #tl.fragment>
    %zero = arith.constant 0.0 : f32
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) {
      %below = arith.cmpi ult, %i, %n : index
      scf.if %below {
        %v = tl.load %x[%i] : memref<64xf32, #tl.fragment>
        tl.store %v, %A[%i] : memref<64xf32>
      } else {
        tl.store %zero, %x[%i] : memref<64xf32, #tl.fragment>
      }
    }
    gpu.return
  }

  // Lanes in the padding of the layout, past 40 here, run no iteration.
  // CHECK-LABEL: gpu.func @padding(
  // CHECK:         %[[C40:.+]] = arith.constant 40 : index
  // CHECK:         %[[FIRST:.+]] = arith.cmpi ult, %thread_id_x, %[[C40]]
  // CHECK:         %[[SECOND:.+]] = arith.cmpi ult, %{{.+}}, %{{.+}}
  // CHECK:         %[[GUARD0:.+]] = arith.andi %[[FIRST]], %{{.+}}
  // CHECK:         scf.if %[[GUARD0]]
  // CHECK:         %[[GUARD1:.+]] = arith.andi %[[SECOND]], %{{.+}}
  // CHECK:         scf.if %[[GUARD1]]
  gpu.func @padding(%A: memref<?xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    tl.parallel (%i) in (40) layout(#tl.fragment_layout<shape = [64], thread = [32] : [1], value = [2] : [32]>) {
      tl.store %zero, %A[%i] : memref<?xf32>
    }
    gpu.return
  }

  // A loop without fragments that has more lanes than registers is cut into rounds of
  // four vectors: 64 vectors are 16 rounds.
  // CHECK-LABEL: gpu.func @rounds(
  // CHECK:         %[[ROUNDS:.+]] = arith.constant 16 : index
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %[[ROUNDS]] step
  // CHECK-COUNT-4:   llvm.store {{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-NOT:       llvm.store
  // CHECK:         gpu.return
  gpu.func @rounds(%A: memref<8192xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    tl.parallel (%i) in (8192) layout(#tl.fragment_layout<shape = [8192], thread = [32] : [4], value = [4, 64] : [1, 128]>) {
      tl.store %zero, %A[%i] : memref<8192xf32>
    }
    gpu.return
  }
}
