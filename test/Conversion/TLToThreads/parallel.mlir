// Parallel loops: a thread runs its iterations together, one in each lane of a
// vector.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @parallel attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Behind a guard that lets 15 steps of 16 pass, the next step's elements are
  // inside of the tensor: nothing asks again.
  // CHECK-LABEL: gpu.func @next_step_behind_a_guard(
  // CHECK:         arith.cmpi ugt
  // CHECK-NEXT:    scf.if
  // CHECK-NOT:     scf.if
  // CHECK:         llvm.load
  // CHECK-NOT:     scf.if
  // CHECK:         llvm.store
  gpu.func @next_step_behind_a_guard(%A: memref<1024xf32>, %B: memref<1024xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c16 step %c1 {
      %left = arith.subi %c16, %k : index
      %more = arith.cmpi ugt, %left, %c1 : index
      scf.if %more {
        %next = arith.addi %k, %c1 : index
        %first = arith.muli %next, %c64 : index
        tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [64] : [1], value = [] : []>) {
          %at = arith.addi %first, %i : index
          %x = tl.load %A[%at] : memref<1024xf32>
          tl.store %x, %B[%at] : memref<1024xf32>
        }
      }
    }
    gpu.return
  }

  // One that lets all of them pass says nothing of the last step's.
  // CHECK-LABEL: gpu.func @next_step_behind_no_guard(
  // CHECK:         arith.cmpi ugt
  // CHECK-NEXT:    scf.if
  // CHECK:         scf.if
  // CHECK:           llvm.load
  // CHECK:         scf.if
  // CHECK:           llvm.store
  gpu.func @next_step_behind_no_guard(%A: memref<1024xf32>, %B: memref<1024xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c16 step %c1 {
      %left = arith.subi %c16, %k : index
      %more = arith.cmpi ugt, %left, %c0 : index
      scf.if %more {
        %next = arith.addi %k, %c1 : index
        %first = arith.muli %next, %c64 : index
        tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [64] : [1], value = [] : []>) {
          %at = arith.addi %first, %i : index
          %x = tl.load %A[%at] : memref<1024xf32>
          tl.store %x, %B[%at] : memref<1024xf32>
        }
      }
    }
    gpu.return
  }

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
  // CHECK:         %[[R0:.+]] = vector.extract %[[ROWS]][0]
  // CHECK:         %[[R1:.+]] = vector.extract %[[ROWS]][1]
  // CHECK:         %[[EACH:.+]] = vector.from_elements %[[R0]], %[[R0]], %[[R1]], %[[R1]]
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
  gpu.func @masks(%A: memref<60xf32> {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) : memref<64xf32, #tl.fragment>
    %zero = arith.constant 0.0 : f32
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) {
      %below = arith.cmpi ult, %i, %n : index
      scf.if %below {
        %v = tl.load %x[%i] : memref<64xf32, #tl.fragment>
        tl.store %v, %A[%i] : memref<60xf32>
      } else {
        tl.store %zero, %x[%i] : memref<64xf32, #tl.fragment>
      }
    }
    gpu.return
  }

  // What guards a row or a column is compared once, for all elements in it.
  // CHECK-LABEL: gpu.func @bounds(
  // CHECK:         %[[ROW:.+]] = arith.cmpi ult
  // CHECK:         %[[COLUMN:.+]] = arith.cmpi ult
  // CHECK:         %[[FIRST:.+]] = arith.andi %[[ROW]], %[[COLUMN]]
  // CHECK:         scf.if %[[FIRST]]
  // CHECK:         %[[NEXT:.+]] = arith.cmpi ult
  // CHECK:         %[[SECOND:.+]] = arith.andi %[[ROW]], %[[NEXT]]
  // CHECK:         scf.if %[[SECOND]]
  // CHECK:         %[[BELOW:.+]] = arith.cmpi ult
  // CHECK-NOT:     arith.cmpi
  // CHECK:         %[[THIRD:.+]] = arith.andi %[[BELOW]], %[[COLUMN]]
  // CHECK:         scf.if %[[THIRD]]
  // CHECK-NOT:     arith.cmpi
  // CHECK:         %[[FOURTH:.+]] = arith.andi %[[BELOW]], %[[NEXT]]
  // CHECK:         scf.if %[[FOURTH]]
  gpu.func @bounds(%A: memref<?x?xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) : memref<16x8xf32, #tl.fragment>
    tl.parallel (%i, %j) in (16, 8) layout(#tl.fragment_layout<shape = [16, 8], thread = [4, 8] : [2, 8], value = [2, 2] : [1, 64]>) {
      %v = tl.load %A[%i, %j] : memref<?x?xf32>
      tl.store %v, %x[%i, %j] : memref<16x8xf32, #tl.fragment>
    }
    gpu.return
  }

  // Four lanes read two bytes, in one access, and all four read one scale.
  // CHECK-LABEL: gpu.func @quotients(
  // CHECK:         %[[BYTES:.+]] = llvm.load %{{.+}} {alignment = 2 : i64} : !llvm.ptr<3> -> vector<2xi8>
  // CHECK:         vector.shuffle %[[BYTES]], %[[BYTES]] [0, 0, 1, 1]
  // CHECK:         %[[SCALE:.+]] = llvm.load %{{.+}} {alignment = 1 : i64} : !llvm.ptr<3> -> i8
  // CHECK:         vector.broadcast %[[SCALE]] : i8 to vector<4xi8>
  // CHECK:         llvm.store %{{.+}} : vector<4xi8>, !llvm.ptr<3>
  gpu.func @quotients() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %two = arith.constant 2 : index
    %sixteen = arith.constant 16 : index
    %w = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) offset(0) : memref<64xi8, #gpu.address_space<workgroup>>
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 8>) offset(64) : memref<8xi8, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 128>) offset(128) : memref<128xi8, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [32] : [4], value = [4] : [1]>) {
      %half = arith.divui %i, %two : index
      %v = tl.load %w[%half] : memref<64xi8, #gpu.address_space<workgroup>>
      %group = arith.divui %i, %sixteen : index
      %scale = tl.load %s[%group] : memref<8xi8, #gpu.address_space<workgroup>>
      %p = arith.muli %v, %scale : i8
      tl.store %p, %b[%i] : memref<128xi8, #gpu.address_space<workgroup>>
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

  // A loop that does not go through fragments is cut into rounds of eight vectors: 64
  // vectors are 8 rounds.
  // CHECK-LABEL: gpu.func @rounds(
  // CHECK:         %[[ROUNDS:.+]] = arith.constant 8 : index
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %[[ROUNDS]] step
  // CHECK-COUNT-8:   llvm.store {{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-NOT:       llvm.store
  // CHECK:         gpu.return
  gpu.func @rounds(%A: memref<8192xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    tl.parallel (%i) in (8192) layout(#tl.fragment_layout<shape = [8192], thread = [32] : [4], value = [4, 64] : [1, 128]>) {
      tl.store %zero, %A[%i] : memref<8192xf32>
    }
    gpu.return
  }

  // So is one that reads the same registers in every round: %one does not move with
  // the loop, and the thread's two rows are in each round.
  // CHECK-LABEL: gpu.func @rounds_with_registers(
  // CHECK:         %[[ROUNDS:.+]] = arith.constant 16 : index
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %[[ROUNDS]] step
  // CHECK:           %[[ONE:.+]] = memref.load %{{.+}}[] : memref<vector<3xf32>>
  // CHECK:           vector.extract %[[ONE]][1]
  // CHECK:           %[[ROWS:.+]] = memref.load %{{.+}}[] : memref<vector<2xf32>>
  // CHECK:           vector.extract %[[ROWS]][0]
  // CHECK:           vector.extract %[[ROWS]][1]
  // CHECK-COUNT-8:   llvm.store {{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-NOT:       llvm.store
  // CHECK:         gpu.return
  gpu.func @rounds_with_registers(%A: memref<2x8192xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %at = arith.constant 1 : index
    %one = tl.alloc layout(#tl.fragment_layout<shape = [3], thread = [32] : [0], value = [3] : [1]>) : memref<3xf32, #tl.fragment>
    %rows = tl.alloc layout(#tl.fragment_layout<shape = [2], thread = [32] : [0], value = [2] : [1]>) : memref<2xf32, #tl.fragment>
    tl.parallel (%i, %j) in (2, 8192) layout(#tl.fragment_layout<shape = [2, 8192], thread = [32] : [4], value = [4, 2, 64] : [1, 8192, 128]>) {
      %x = tl.load %one[%at] : memref<3xf32, #tl.fragment>
      %y = tl.load %rows[%i] : memref<2xf32, #tl.fragment>
      %z = arith.addf %x, %y : f32
      tl.store %z, %A[%i, %j] : memref<2x8192xf32>
    }
    gpu.return
  }

  // One that goes through a fragment is written out.
  // CHECK-LABEL: gpu.func @through_registers(
  // CHECK-NOT:     scf.for
  // CHECK-COUNT-8: llvm.store {{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  // CHECK:         gpu.return
  gpu.func @through_registers(%A: memref<1024xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [1024], thread = [32] : [4], value = [4, 8] : [1, 128]>) : memref<1024xf32, #tl.fragment>
    tl.parallel (%i) in (1024) layout(#tl.fragment_layout<shape = [1024], thread = [32] : [4], value = [4, 8] : [1, 128]>) {
      %v = tl.load %x[%i] : memref<1024xf32, #tl.fragment>
      tl.store %v, %A[%i] : memref<1024xf32>
    }
    gpu.return
  }

  // A division that stands behind a condition divides by one elsewhere: the quotient is
  // not needed there, but a division by zero would let the condition be forgotten.
  // CHECK-LABEL: gpu.func @guarded_division(
  // CHECK:         %[[MASK:.+]] = arith.cmpi ne, %[[D:.+]], %{{.+}} : vector<2xi32>
  // CHECK:         %[[ONES:.+]] = arith.constant dense<1> : vector<2xi32>
  // CHECK:         %[[SAFE:.+]] = arith.select %[[MASK]], %[[D]], %[[ONES]]
  // CHECK:         arith.divui %{{.+}}, %[[SAFE]] : vector<2xi32>
  gpu.func @guarded_division(%A: memref<64xi32>, %D: memref<64xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0 : i32
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) {
      %a = tl.load %A[%i] : memref<64xi32>
      %d = tl.load %D[%i] : memref<64xi32>
      %divides = arith.cmpi ne, %d, %zero : i32
      scf.if %divides {
        %q = arith.divui %a, %d : i32
        tl.store %q, %A[%i] : memref<64xi32>
      }
    }
    gpu.return
  }

  // What depends on the row alone is computed once for each row of the thread, not for
  // each of its elements.
  // CHECK-LABEL: gpu.func @once_a_row(
  // CHECK-COUNT-2: math.rsqrt %{{.+}} : f32
  // CHECK-NOT:     math.rsqrt
  // CHECK:         arith.mulf %{{.+}}, %{{.+}} : vector<8xf32>
  gpu.func @once_a_row() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [16, 16], thread = [4, 8] : [2, 16], value = [2, 2, 2] : [1, 8, 128]>) : memref<16x16xf32, #tl.fragment>
    %rows = tl.alloc layout(#tl.fragment_layout<shape = [16], thread = [4, 8] : [0, 1], value = [2] : [8]>) : memref<16xf32, #tl.fragment>
    tl.parallel (%i, %j) in (16, 16) layout(#tl.fragment_layout<shape = [16, 16], thread = [4, 8] : [2, 16], value = [2, 2, 2] : [1, 8, 128]>) {
      %v = tl.load %x[%i, %j] : memref<16x16xf32, #tl.fragment>
      %r = tl.load %rows[%i] : memref<16xf32, #tl.fragment>
      %s = math.rsqrt %r : f32
      %w = arith.mulf %v, %s : f32
      tl.store %w, %x[%i, %j] : memref<16x16xf32, #tl.fragment>
    }
    gpu.return
  }

  // A condition of the row holds for whole vectors: each has one guard.
  // CHECK-LABEL: gpu.func @guarded_rows(
  // CHECK:         scf.if
  // CHECK:           llvm.load {{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK:         scf.if
  // CHECK:           llvm.store {{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-NOT:     llvm.store
  gpu.func @guarded_rows(%A: memref<8x16xf32> {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i, %j) in (8, 16) layout(#tl.fragment_layout<shape = [8, 16], thread = [4, 8] : [4, 16], value = [4] : [1]>) {
      %below = arith.cmpi ult, %i, %n : index
      scf.if %below {
        %v = tl.load %A[%i, %j] : memref<8x16xf32>
        %w = arith.addf %v, %v : f32
        tl.store %w, %A[%i, %j] : memref<8x16xf32>
      }
    }
    gpu.return
  }

  // Rows of which only some are copied, and zeros in the place of others: a copy
  // whose slice ends where only the running kernel knows.
  // CHECK-LABEL: gpu.func @cut_rows(
  // CHECK:         scf.if
  // CHECK:           llvm.load {{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
  // CHECK:         scf.if
  // CHECK:           llvm.store {{.+}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<3>
  // CHECK:         scf.if
  // CHECK:           llvm.store {{.+}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<3>
  // CHECK-NOT:     llvm.store
  gpu.func @cut_rows(%A: memref<8x32xf16> {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f16
    %S = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<8x32xf16, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (8, 32) layout(#tl.fragment_layout<shape = [8, 32], thread = [4, 8] : [8, 32], value = [8] : [1]>) attributes {tl.copied, tl.cut} {
      %below = arith.cmpi slt, %i, %n : index
      scf.if %below {
        %v = tl.load %A[%i, %j] : memref<8x32xf16>
        tl.store %v, %S[%i, %j] : memref<8x32xf16, #gpu.address_space<workgroup>>
      } else {
        tl.store %zero, %S[%i, %j] : memref<8x32xf16, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }

  // One of the column does not; nor does what such a condition guards stand for neighbours:
  // each lane loads the number of its row for itself.
  // CHECK-LABEL: gpu.func @guarded_columns(
  // CHECK-COUNT-4: llvm.load %{{.+}} -> i32
  // CHECK-COUNT-4: llvm.store %{{.+}} : f32, !llvm.ptr<1>
  gpu.func @guarded_columns(%A: memref<8x16xf32> {tl.align = 16 : i64}, %ids: memref<8xi32>, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    tl.parallel (%i, %j) in (8, 16) layout(#tl.fragment_layout<shape = [8, 16], thread = [4, 8] : [4, 16], value = [4] : [1]>) {
      %below = arith.cmpi ult, %j, %n : index
      scf.if %below {
        %id = tl.load %ids[%i] : memref<8xi32>
        %row = arith.index_cast %id : i32 to index
        tl.store %zero, %A[%row, %j] : memref<8x16xf32>
      }
    }
    gpu.return
  }

  // The row that a table names is loaded once for all of a row's elements, which are
  // neighbours in memory then: two rows of eight elements in four accesses.
  // CHECK-LABEL: gpu.func @gather(
  // CHECK-COUNT-2: llvm.load %{{.+}} -> i32
  // CHECK-NOT:     -> i32
  // CHECK-COUNT-4: llvm.load {{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NOT:     llvm.load
  gpu.func @gather(%A: memref<100x64xf32> {tl.align = 16 : i64}, %ids: memref<16xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<16x32xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (16, 32) layout(#tl.fragment_layout<shape = [16, 32], thread = [4, 8] : [4, 32], value = [4, 2, 2] : [1, 16, 256]>) {
      %id = tl.load %ids[%i] : memref<16xi32>
      %row = arith.index_cast %id : i32 to index
      %v = tl.load %A[%row, %j] : memref<100x64xf32>
      tl.store %v, %s[%i, %j] : memref<16x32xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // A row's number that the loop may change is read by each iteration.
  // CHECK-LABEL: gpu.func @changed_table(
  // CHECK-COUNT-4: llvm.load %{{.+}} -> i32
  gpu.func @changed_table(%ids: memref<8xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i, %j) in (8, 16) layout(#tl.fragment_layout<shape = [8, 16], thread = [4, 8] : [4, 16], value = [4] : [1]>) {
      %id = tl.load %ids[%i] : memref<8xi32>
      %row = arith.index_cast %id : i32 to index
      tl.store %id, %ids[%row] : memref<8xi32>
    }
    gpu.return
  }

  // One of the threads that run copies of an iteration does it, if it reads what it writes.
  // CHECK-LABEL: gpu.func @once(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi ult, %thread_id_x, %{{.+}}
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK:           llvm.load
  // CHECK:           llvm.store {{.+}} : f32, !llvm.ptr<3>
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.return
  gpu.func @once() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<32xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) {
      %v = tl.load %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      %w = arith.addf %v, %v : f32
      tl.store %w, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // Warps that would only move what others move do not; in a loop they do.
  // CHECK-LABEL: gpu.func @moved_once(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi ult, %thread_id_x, %{{.+}}
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK:           llvm.load {{.+}} : !llvm.ptr<1>
  // CHECK:           llvm.store {{.+}} : f32, !llvm.ptr<3>
  // CHECK-NEXT:    }
  // CHECK:         scf.for
  // CHECK-NOT:       scf.if
  // CHECK:         gpu.return
  gpu.func @moved_once(%A: memref<32x64xf32>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<32xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) {
      %v = tl.load %A[%i, %c0] : memref<32x64xf32>
      tl.store %v, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    }
    scf.for %k = %c0 to %n step %c1 {
      tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) {
        %v = tl.load %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
        tl.store %v, %A[%i, %c1] : memref<32x64xf32>
      }
    }
    gpu.return
  }

  // All of them do, if they need the result for a fragment: none reads before the first has
  // written, and it does not write before all have read.
  // CHECK-LABEL: gpu.func @in_step(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi ult, %thread_id_x, %{{.+}}
  // CHECK:         gpu.barrier
  // CHECK:         %[[OLD:.+]] = llvm.load
  // CHECK:         gpu.barrier
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK:           llvm.store {{.+}} : f32, !llvm.ptr<3>
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.barrier
  // CHECK:         llvm.load
  // CHECK:         memref.store
  gpu.func @in_step() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<32xf32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) : memref<32xf32, #tl.fragment>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) {
      %v = tl.load %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      %w = arith.addf %v, %v : f32
      tl.store %w, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      %u = tl.load %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      tl.store %u, %x[%i] : memref<32xf32, #tl.fragment>
    }
    gpu.return
  }

  // What an iteration changes to one value and then to another is written by one of them too: the
  // others could bring the first value back.
  // CHECK-LABEL: gpu.func @changed_twice(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi ult, %thread_id_x, %{{.+}}
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK:           llvm.store {{.+}} : f32, !llvm.ptr<3>
  // CHECK:           llvm.store {{.+}} : f32, !llvm.ptr<3>
  gpu.func @changed_twice(%a: f32, %b: f32, %where: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<32xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) {
      tl.store %a, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      scf.if %where {
        tl.store %b, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }

  // With a fragment all run, and none waits: nothing is read back.
  // CHECK-LABEL: gpu.func @changed_twice_and_a_fragment(
  // CHECK-NOT:     gpu.barrier
  // CHECK:         %[[FIRST:.+]] = arith.cmpi ult, %thread_id_x, %{{.+}}
  // CHECK-COUNT-2: scf.if %[[FIRST]] {
  // CHECK-NOT:     gpu.barrier
  // CHECK:         memref.store
  // CHECK-NOT:     gpu.barrier
  // CHECK:         gpu.return
  gpu.func @changed_twice_and_a_fragment(%a: f32, %b: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<32xf32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) : memref<32xf32, #tl.fragment>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) {
      tl.store %a, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      tl.store %b, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      tl.store %a, %x[%i] : memref<32xf32, #tl.fragment>
    }
    gpu.return
  }

  // One after another too: a loop may come to an element again.
  // CHECK-LABEL: gpu.func @changed_in_a_loop(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi ult, %thread_id_x, %{{.+}}
  // CHECK:         scf.for
  // CHECK:           scf.if %[[FIRST]] {
  // CHECK:             llvm.store {{.+}} : f32, !llvm.ptr<3>
  gpu.func @changed_in_a_loop(%a: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<32xf32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) : memref<32xf32, #tl.fragment>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32, 4] : [1, 0], value = [] : []>) {
      tl.store %a, %x[%i] : memref<32xf32, #tl.fragment>
      scf.for %k = %c0 to %i step %c1 {
        %n = arith.index_cast %k : index to i32
        %v = arith.sitofp %n : i32 to f32
        tl.store %v, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }

  // A condition that is the same for all iterations of the thread is a branch.
  // CHECK-LABEL: gpu.func @joint_branch(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi eq, %block_id_x, %{{.+}} : index
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK-NOT:       scf.if
  // CHECK:           llvm.store {{.+}} : vector<2xf32>
  gpu.func @joint_branch(%A: memref<64xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) offset(0) : memref<64xf32, #gpu.address_space<workgroup>>
    %b = gpu.block_id x
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) {
      %first = arith.cmpi eq, %b, %c0 : index
      scf.if %first {
        tl.store %zero, %s[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }

  // So is a loop whose trips are; a variable of the body is a vector with a lane for each
  // iteration.
  // CHECK-LABEL: gpu.func @joint_loop(
  // CHECK:         %[[SUM:.+]] = memref.alloca() : memref<vector<2xf32>>
  // CHECK:         memref.store %{{.+}}, %[[SUM]][]
  // CHECK:         scf.for %[[K:.+]] =
  // CHECK:           %[[OLD:.+]] = memref.load %[[SUM]][]
  // CHECK:           %[[NEW:.+]] = arith.addf %[[OLD]], %{{.+}} : vector<2xf32>
  // CHECK:           memref.store %[[NEW]], %[[SUM]][]
  gpu.func @joint_loop(%A: memref<64x8xf32>, %B: memref<64xf32>, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) {
      %sum = tl.alloc : memref<1xf32, #gpu.address_space<private>>
      tl.store %zero, %sum[%c0] : memref<1xf32, #gpu.address_space<private>>
      scf.for %k = %c0 to %n step %c1 {
        %v = tl.load %A[%i, %k] : memref<64x8xf32>
        %old = tl.load %sum[%c0] : memref<1xf32, #gpu.address_space<private>>
        %new = arith.addf %old, %v : f32
        tl.store %new, %sum[%c0] : memref<1xf32, #gpu.address_space<private>>
      }
      %total = tl.load %sum[%c0] : memref<1xf32, #gpu.address_space<private>>
      tl.store %total, %B[%i] : memref<64xf32>
    }
    gpu.return
  }

  // Where trips differ, iterations run one after another.
  // CHECK-LABEL: gpu.func @own_trips(
  // CHECK:         %[[LANES:.+]] = arith.constant 2 : index
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %[[LANES]]
  // CHECK:           %[[N:.+]] = arith.index_cast %{{.+}} : i32 to index
  // CHECK:           scf.for %{{.+}} = %{{.+}} to %[[N]]
  // CHECK-NOT:       vector
  // CHECK:         gpu.return
  gpu.func @own_trips(%N: memref<64xi32>, %A: memref<64xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) {
      %count = tl.load %N[%i] : memref<64xi32>
      %n = arith.index_cast %count : i32 to index
      scf.for %k = %c0 to %n step %c1 {
        %v = tl.load %A[%i] : memref<64xf32>
        %w = arith.addf %v, %v : f32
        tl.store %w, %A[%i] : memref<64xf32>
      }
    }
    gpu.return
  }

  // All of a long row is one thread's: rounds are of a few vectors here too, however
  // long the run of neighbours is.
  // CHECK-LABEL: gpu.func @one_thread(
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %c32{{.*}} step
  // CHECK-COUNT-8:   llvm.load {{.+}} -> vector<4xf32>
  // CHECK-NOT:       llvm.load
  // CHECK:         gpu.return
  gpu.func @one_thread(%A: memref<1024xf32> {tl.align = 16 : i64}, %B: memref<1024xf32> {tl.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    tl.parallel (%i) in (1024) layout(#tl.fragment_layout<shape = [1024], thread = [] : [], value = [1024] : [1]>) {
      %v = tl.load %A[%i] : memref<1024xf32>
      tl.store %v, %B[%i] : memref<1024xf32>
    }
    gpu.return
  }

  // Rounds of a long body have fewer vectors, and one at least.
  // CHECK-LABEL: gpu.func @long_body(
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %c128{{.*}} step
  // CHECK-COUNT-2:   llvm.load {{.+}} -> vector<4xf32>
  // CHECK-NOT:       llvm.load
  // CHECK-COUNT-5:   math.exp %{{.+}} : vector<8xf32>
  // CHECK:         gpu.return
  gpu.func @long_body(%A: memref<1024xf32> {tl.align = 16 : i64}, %B: memref<1024xf32> {tl.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    tl.parallel (%i) in (1024) layout(#tl.fragment_layout<shape = [1024], thread = [] : [], value = [1024] : [1]>) {
      %v0 = tl.load %A[%i] : memref<1024xf32>
      %v1 = math.exp %v0 : f32
      %v2 = math.exp %v1 : f32
      %v3 = math.exp %v2 : f32
      %v4 = math.exp %v3 : f32
      %v5 = math.exp %v4 : f32
      tl.store %v5, %B[%i] : memref<1024xf32>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @longer_body(
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %c256{{.*}} step
  // CHECK:           llvm.load {{.+}} -> vector<4xf32>
  // CHECK-NOT:       llvm.load
  // CHECK-COUNT-20:  math.exp %{{.+}} : vector<4xf32>
  // CHECK:         gpu.return
  gpu.func @longer_body(%A: memref<1024xf32> {tl.align = 16 : i64}, %B: memref<1024xf32> {tl.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    tl.parallel (%i) in (1024) layout(#tl.fragment_layout<shape = [1024], thread = [] : [], value = [1024] : [1]>) {
      %v0 = tl.load %A[%i] : memref<1024xf32>
      %v1 = math.exp %v0 : f32
      %v2 = math.exp %v1 : f32
      %v3 = math.exp %v2 : f32
      %v4 = math.exp %v3 : f32
      %v5 = math.exp %v4 : f32
      %v6 = math.exp %v5 : f32
      %v7 = math.exp %v6 : f32
      %v8 = math.exp %v7 : f32
      %v9 = math.exp %v8 : f32
      %v10 = math.exp %v9 : f32
      %v11 = math.exp %v10 : f32
      %v12 = math.exp %v11 : f32
      %v13 = math.exp %v12 : f32
      %v14 = math.exp %v13 : f32
      %v15 = math.exp %v14 : f32
      %v16 = math.exp %v15 : f32
      %v17 = math.exp %v16 : f32
      %v18 = math.exp %v17 : f32
      %v19 = math.exp %v18 : f32
      %v20 = math.exp %v19 : f32
      tl.store %v20, %B[%i] : memref<1024xf32>
    }
    gpu.return
  }

  // A fragment lies in the thread's memory meanwhile, in the order of its registers: element
  // (i, j) of this one is register j * 2 + i of the thread.
  // CHECK-LABEL: gpu.func @fragment_by_elements(
  // CHECK:         %[[MEMORY:.+]] = llvm.alloca %{{.+}} x f32
  // CHECK-COUNT-4: llvm.store {{.+}} : f32, !llvm.ptr
  // CHECK:         scf.for %[[LANE:.+]] =
  // CHECK:           %[[ADDRESS:.+]] = llvm.getelementptr %[[MEMORY]]
  // CHECK:           llvm.load
  // CHECK:         }
  // CHECK-COUNT-4: llvm.load {{.+}} -> f32
  // CHECK:         %[[ALL:.+]] = vector.from_elements
  // CHECK:         memref.store %[[ALL]]
  gpu.func @fragment_by_elements() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = tl.alloc layout(#tl.fragment_layout<shape = [2, 64], thread = [32] : [1], value = [2, 2] : [64, 32]>) : memref<2x64xf32, #tl.fragment>
    tl.parallel (%i, %j) in (2, 64) layout(#tl.fragment_layout<shape = [2, 64], thread = [32] : [1], value = [2, 2] : [32, 64]>) {
      scf.for %k = %c0 to %j step %c1 {
        %v = tl.load %x[%i, %j] : memref<2x64xf32, #tl.fragment>
        %w = arith.addf %v, %v : f32
        tl.store %w, %x[%i, %j] : memref<2x64xf32, #tl.fragment>
      }
    }
    gpu.return
  }

  // Lanes that share an element of a fragment leave the last one's value.
  // CHECK-LABEL: gpu.func @shared_register(
  // CHECK:         memref.load %[[SLOT:.+]][] : memref<vector<1xf32>>
  // CHECK:         %[[LAST:.+]] = vector.extract %{{.+}}[3]
  // CHECK:         %[[ALL:.+]] = vector.from_elements %[[LAST]] : vector<1xf32>
  // CHECK:         memref.store %[[ALL]], %[[SLOT]][]
  gpu.func @shared_register(%A: memref<32x4xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %m = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) : memref<32xf32, #tl.fragment>
    tl.parallel (%i, %j) in (32, 4) layout(#tl.fragment_layout<shape = [32, 4], thread = [32] : [4], value = [4] : [1]>) {
      %v = tl.load %A[%i, %j] : memref<32x4xf32>
      tl.store %v, %m[%i] : memref<32xf32, #tl.fragment>
    }
    gpu.return
  }

  // A thread with long rows of its own goes through them in rounds, of whole
  // vectors also where what a round may hold does not divide a row.
  // CHECK-LABEL: gpu.func @long_rows(
  // CHECK:         scf.for
  // CHECK-COUNT-2:   llvm.load %{{.+}} : !llvm.ptr<3> -> vector<4xf32>
  // CHECK-COUNT-2:   llvm.store %{{.+}} : vector<4xf32>, !llvm.ptr<3>
  // CHECK:         gpu.return
  gpu.func @long_rows() kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 40>) offset(0) : memref<33x40xf32, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 40>) offset(8192) : memref<33x40xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (33, 40) layout(#tl.fragment_layout<shape = [33, 40], thread = [] : [], value = [40, 33] : [1, 40]>) {
      %x = tl.load %a[%i, %j] : memref<33x40xf32, #gpu.address_space<workgroup>>
      tl.store %x, %b[%i, %j] : memref<33x40xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // Of a thread's 2048 iterations a loop does one at a time: with functions they are too
  // many to write out, although the fragment is small.
  // CHECK-LABEL: gpu.func @much_work(
  // CHECK:         %[[MEMORY:.+]] = llvm.alloca %{{.+}} x f32
  // CHECK:         scf.for
  // CHECK:           %[[ROW:.+]] = llvm.getelementptr %[[MEMORY]]
  // CHECK:           llvm.load %[[ROW]]
  // CHECK:           math.exp %{{.+}} : f32
  // CHECK:           llvm.store {{.+}} : f32, !llvm.ptr<1>
  // CHECK-NOT:     vector.extract
  // CHECK:         gpu.return
  gpu.func @much_work(%A: memref<64x1024xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %rows = tl.alloc layout(#tl.fragment_layout<shape = [64], thread = [32] : [1], value = [2] : [32]>) : memref<64xf32, #tl.fragment>
    tl.parallel (%i, %j) in (64, 1024) layout(#tl.fragment_layout<shape = [64, 1024], thread = [32] : [1024], value = [1024, 2] : [1, 32768]>) {
      %v = tl.load %A[%i, %j] : memref<64x1024xf32>
      %r = tl.load %rows[%i] : memref<64xf32, #tl.fragment>
      %d = arith.subf %v, %r : f32
      %e = math.exp %d : f32
      tl.store %e, %A[%i, %j] : memref<64x1024xf32>
    }
    gpu.return
  }

  // A condition that cuts at whole vectors leaves accesses as wide as they are; one
  // that cuts within cuts them down.
  // CHECK-LABEL: gpu.func @guarded_vectors(
  // CHECK:         llvm.load %{{.+}} -> vector<4xf32>
  // CHECK-NOT:     llvm.load %{{.+}} -> f32
  // CHECK:         gpu.barrier
  // CHECK:         llvm.load %{{.+}} -> vector<2xf32>
  // CHECK-NOT:     llvm.load %{{.+}} -> vector<4xf32>
  // CHECK:         gpu.barrier
  // CHECK:         llvm.load %{{.+}} -> f32
  // CHECK-NOT:     llvm.load %{{.+}} -> vector
  gpu.func @guarded_vectors(%A: memref<8x64xf32> {tl.align = 16 : i64}, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %c24 = arith.constant 24 : index
    %c26 = arith.constant 26 : index
    %f = tl.alloc layout(#tl.fragment_layout<shape = [8, 64], thread = [16, 8] : [4, 64], value = [4] : [1]>) : memref<8x64xf32, #tl.fragment>
    tl.parallel (%i, %j) in (8, 64) layout(#tl.fragment_layout<shape = [8, 64], thread = [16, 8] : [4, 64], value = [4] : [1]>) {
      %row = arith.cmpi slt, %i, %n : index
      %column = arith.cmpi slt, %j, %c24 : index
      %both = arith.andi %row, %column : i1
      scf.if %both {
        %v = tl.load %A[%i, %j] : memref<8x64xf32>
        tl.store %v, %f[%i, %j] : memref<8x64xf32, #tl.fragment>
      }
    }
    gpu.barrier
    tl.parallel (%i, %j) in (8, 64) layout(#tl.fragment_layout<shape = [8, 64], thread = [16, 8] : [4, 64], value = [4] : [1]>) {
      %column = arith.cmpi uge, %j, %c26 : index
      scf.if %column {
        %v = tl.load %A[%i, %j] : memref<8x64xf32>
        tl.store %v, %f[%i, %j] : memref<8x64xf32, #tl.fragment>
      }
    }
    gpu.barrier
    tl.parallel (%i, %j) in (8, 64) layout(#tl.fragment_layout<shape = [8, 64], thread = [16, 8] : [4, 64], value = [4] : [1]>) {
      %column = arith.cmpi sle, %j, %c24 : index
      scf.if %column {
        %v = tl.load %A[%i, %j] : memref<8x64xf32>
        tl.store %v, %f[%i, %j] : memref<8x64xf32, #tl.fragment>
      }
    }
    gpu.return
  }

  // So does the end of a tensor whose rows are known to be whole vectors, though
  // only a launch knows how many.
  // CHECK-LABEL: gpu.func @guarded_by_the_extent(
  // CHECK:         llvm.load %{{.+}} -> vector<4xf32>
  // CHECK-NOT:     llvm.load
  // CHECK:         gpu.return
  gpu.func @guarded_by_the_extent(%A: memref<?xf32> {tl.align = 16 : i64, tl.row_align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %n = memref.dim %A, %c0 : memref<?xf32>
    %f = tl.alloc layout(#tl.fragment_layout<shape = [128], thread = [32] : [4], value = [4] : [1]>) : memref<128xf32, #tl.fragment>
    tl.parallel (%i) in (128) layout(#tl.fragment_layout<shape = [128], thread = [32] : [4], value = [4] : [1]>) {
      %is_inside = arith.cmpi slt, %i, %n : index
      scf.if %is_inside {
        %v = tl.load %A[%i] : memref<?xf32>
        tl.store %v, %f[%i] : memref<128xf32, #tl.fragment>
      }
    }
    gpu.return
  }

  // An extent is asked for in a loop by a number that stands there too.
  // CHECK-LABEL: gpu.func @extent_in_loop(
  // CHECK-SAME:    %[[N:[^ ]+]]: i64 {tl.param = #tl.param<dim, 0, index = 1>}
  // CHECK:         %[[EXTENT:.+]] = arith.index_cast %[[N]] : i64 to index
  // CHECK:         %[[VALUE:.+]] = arith.index_cast %[[EXTENT]] : index to i32
  // CHECK:         vector.broadcast %[[VALUE]]
  // CHECK:         gpu.return
  gpu.func @extent_in_loop(%A: memref<4x?xf32>, %B: memref<32xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) {
      %c1 = arith.constant 1 : index
      %n = memref.dim %A, %c1 : memref<4x?xf32>
      %v = arith.index_cast %n : index to i32
      tl.store %v, %B[%i] : memref<32xi32>
    }
    gpu.return
  }
}
