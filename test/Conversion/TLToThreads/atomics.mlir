// Atomic operations: one instruction for each iteration, or a loop around one that
// compares, where there is none.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' --split-input-file | FileCheck %s

!A = memref<?xf32>
#whole = #tl.fragment_layout<shape = [64], thread = [32] : [1], value = [2] : [32]>

gpu.module @atomics attributes {tl.target = #tl.target<chip = "sm_80">} {
  // A lane after the other, and out of bounds not at all.
  // CHECK-LABEL: gpu.func @lanes(
  // CHECK:         %[[IN:.+]] = arith.cmpi ult
  // CHECK-NEXT:    scf.if %[[IN]] {
  // CHECK:           tl.atom add %{{.+}}, %{{.+}} : <1>, f32
  // CHECK-NEXT:    }
  // CHECK:         scf.if
  // CHECK:           tl.atom add
  // CHECK-NOT:     tl.atom
  // CHECK:         gpu.return
  gpu.func @lanes(%A: !A, %x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i) in (64) layout(#whole) {
      %0 = tl.atomic add %x, %A[%i] : !A
    }
    gpu.return
  }

  // What was there is asked for: zero outside of the tensor. A condition of an
  // iteration is part of its guard.
  // CHECK-LABEL: gpu.func @results(
  // CHECK:         %[[OLD:.+]] = scf.if %{{.+}} -> (f32) {
  // CHECK:           %[[X:.+]] = tl.atom add %{{.+}}, %{{.+}} order(acquire) scope(system) : <1>, f32
  // CHECK-NEXT:      scf.yield %[[X]]
  // CHECK-NEXT:    } else {
  // CHECK:           scf.yield %{{.+}} : f32
  // CHECK:         vector.insert %[[OLD]], %{{.+}} [0]
  gpu.func @results(%A: !A, %B: !A, %x: f32, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i) in (64) layout(#whole) {
      %less = arith.cmpi slt, %i, %n : index
      scf.if %less {
        %old = tl.atomic add %x, %A[%i] order(acquire) scope(system) : !A
        tl.store %old, %B[%i] : !A
      }
    }
    gpu.return
  }

  // Of the threads that have copies of an iteration one does it.
  // CHECK-LABEL: gpu.func @copies(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi ult, %{{.+}}, %c4
  // CHECK-NEXT:    scf.if %[[FIRST]] {
  // CHECK:           tl.atom or
  gpu.func @copies(%n: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 4>) offset(0) : memref<4xi32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (4) layout(#tl.fragment_layout<shape = [4], thread = [4, 8] : [1, 0], value = [] : []>) {
      %0 = tl.atomic or %n, %s[%i] : memref<4xi32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // No instruction finds the greater of two floats.
  // CHECK-LABEL: gpu.func @greatest(
  // CHECK:         %[[FIRST:.+]] = tl.atom load %[[P:.+]] : <1>, i32
  // CHECK:         scf.while (%[[FOUND:.+]] = %[[FIRST]]) : (i32) -> i32 {
  // CHECK-NEXT:      %[[OLD:.+]] = arith.bitcast %[[FOUND]] : i32 to f32
  // CHECK-NEXT:      %[[MAX:.+]] = arith.maximumf %[[OLD]], %{{.+}} : f32
  // CHECK-NEXT:      %[[BITS:.+]] = arith.bitcast %[[MAX]] : f32 to i32
  // CHECK-NEXT:      %[[SEEN:.+]] = tl.atom compare_exchange %[[P]], %[[BITS]] expected(%[[FOUND]]) order(release) : <1>, i32
  // CHECK-NEXT:      %[[AGAIN:.+]] = arith.cmpi ne, %[[SEEN]], %[[FOUND]]
  // CHECK-NEXT:      scf.condition(%[[AGAIN]]) %[[SEEN]]
  gpu.func @greatest(%A: memref<64xf32>, %x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i) in (64) layout(#whole) {
      %0 = tl.atomic max %x, %A[%i] order(release) : memref<64xf32>
    }
    gpu.return
  }

  // Sums of bf16 are an instruction from sm_90 on.
  // CHECK-LABEL: gpu.func @sum_of_bf16(
  // CHECK:         tl.atom load %{{.+}} : <1>, i16
  // CHECK:         arith.addf %{{.+}}, %{{.+}} : bf16
  // CHECK:         tl.atom compare_exchange {{.*}} : <1>, i16
  gpu.func @sum_of_bf16(%A: memref<64xbf16>, %x: bf16) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i) in (64) layout(#whole) {
      %0 = tl.atomic add %x, %A[%i] : memref<64xbf16>
    }
    gpu.return
  }

  // A body that runs one iteration after another.
  // CHECK-LABEL: gpu.func @elements(
  // CHECK:         scf.for
  // CHECK:           scf.while
  // CHECK:             tl.atom compare_exchange %{{.+}}, %{{.+}} expected(%{{.+}}) : <1>, i32
  gpu.func @elements(%A: memref<64xi32>, %n: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : i32
    tl.parallel (%i) in (64) layout(#whole) {
      scf.while : () -> () {
        %old = tl.atomic compare_exchange %n, %A[%i] expected(%c0) : memref<64xi32>
        %go = arith.cmpi ne, %old, %c0 : i32
        scf.condition(%go)
      } do {
        scf.yield
      }
    }
    gpu.return
  }
}

// -----

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: gpu.func @sum_of_bf16_on_hopper(
  // CHECK-NOT:     scf.while
  // CHECK:         tl.atom add %{{.+}}, %{{.+}} : <1>, bf16
  gpu.func @sum_of_bf16_on_hopper(%A: memref<64xbf16>, %x: bf16) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [32] : [1], value = [2] : [32]>) {
      %0 = tl.atomic add %x, %A[%i] : memref<64xbf16>
    }
    gpu.return
  }
}

// -----

!R = memref<16x64xf32>
!H = memref<16x64xbf16>
#pairs = #tl.fragment_layout<shape = [16, 64], thread = [4, 8] : [2, 64], value = [2, 8, 2] : [1, 8, 512]>

// Sums of neighbours are one instruction from 9.0 on: of lanes that are neighbours,
// if a condition does not tell them apart, and of several sums of one iteration.
gpu.module @neighbours attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: gpu.func @vectors(
  // CHECK-COUNT-8: tl.atom add %{{.+}}, %{{.+}} : <1>, vector<2xf32>
  // CHECK-NOT:     tl.atom
  // CHECK:         gpu.return
  gpu.func @vectors(%R: !R {tl.align = 16 : i64}, %n: index, %x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i, %j) in (16, 64) layout(#pairs) {
      %less = arith.cmpi slt, %i, %n : index
      scf.if %less {
        %0 = tl.atomic add %x, %R[%i, %j] : !R
      }
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @halves(
  // CHECK:         tl.atom add %{{.+}}, %{{.+}} : <1>, vector<8xbf16>
  // CHECK-NOT:     tl.atom {{.+}} bf16
  // CHECK:         gpu.return
  gpu.func @halves(%H: !H {tl.align = 16 : i64}, %x: bf16) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i, %j) in (16, 64) layout(#tl.fragment_layout<shape = [16, 64], thread = [8, 4] : [8, 64], value = [8, 4] : [1, 256]>) {
      %0 = tl.atomic add %x, %H[%i, %j] : !H
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @of_one_iteration(
  // CHECK:         vector.from_elements
  // CHECK:         tl.atom add %{{.+}}, %{{.+}} : <1>, vector<4xf32>
  // CHECK-NOT:     tl.atom
  // CHECK:         gpu.return
  gpu.func @of_one_iteration(%R: !R {tl.align = 16 : i64}, %V: memref<32x4xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) {
      %j0 = arith.muli %i, %c4 : index
      %j1 = arith.addi %j0, %c1 : index
      %j2 = arith.addi %j0, %c2 : index
      %j3 = arith.addi %j0, %c3 : index
      %x0 = tl.load %V[%i, %c0] : memref<32x4xf32>
      %0 = tl.atomic add %x0, %R[%c1, %j0] : !R
      %x1 = tl.load %V[%i, %c1] : memref<32x4xf32>
      %1 = tl.atomic add %x1, %R[%c1, %j1] : !R
      %x2 = tl.load %V[%i, %c2] : memref<32x4xf32>
      %2 = tl.atomic add %x2, %R[%c1, %j2] : !R
      %x3 = tl.load %V[%i, %c3] : memref<32x4xf32>
      %3 = tl.atomic add %x3, %R[%c1, %j3] : !R
    }
    gpu.return
  }

  // One by one are those that a condition tells apart, whose results are asked
  // for, that have an order, or that something between them could see.
  // CHECK-LABEL: gpu.func @one_by_one(
  // CHECK-NOT:     tl.atom {{.+}} vector
  // CHECK:         gpu.return
  gpu.func @one_by_one(%R: !R {tl.align = 16 : i64}, %S: !R {tl.align = 16 : i64}, %n: index, %x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c1 = arith.constant 1 : index
    tl.parallel (%i, %j) in (16, 64) layout(#pairs) {
      %less = arith.cmpi slt, %j, %n : index
      scf.if %less {
        %0 = tl.atomic add %x, %R[%i, %j] : !R
      }
      %1 = tl.atomic add %x, %R[%i, %j] order(release) : !R
      %2 = tl.atomic add %x, %R[%i, %j] : !R
      tl.store %2, %S[%i, %j] : !R
    }
    tl.parallel (%i) in (16) layout(#tl.fragment_layout<shape = [16], thread = [16, 2] : [1, 0], value = [] : []>) {
      %0 = tl.atomic add %x, %R[%i, %n] : !R
      %y = tl.load %R[%i, %n] : !R
      %k = arith.addi %n, %c1 : index
      %1 = tl.atomic add %y, %R[%i, %k] : !R
    }
    gpu.return
  }
}

// -----

// There is no such instruction before.
gpu.module @before attributes {tl.target = #tl.target<chip = "sm_80">} {
  // CHECK-LABEL: gpu.func @before(
  // CHECK:         tl.atom add %{{.+}}, %{{.+}} : <1>, f32
  // CHECK-NOT:     tl.atom {{.+}} vector
  // CHECK:         gpu.return
  gpu.func @before(%R: memref<16x64xf32> {tl.align = 16 : i64}, %x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i, %j) in (16, 64) layout(#tl.fragment_layout<shape = [16, 64], thread = [4, 8] : [2, 64], value = [2, 8, 2] : [1, 8, 512]>) {
      %0 = tl.atomic add %x, %R[%i, %j] : memref<16x64xf32>
    }
    gpu.return
  }
}
