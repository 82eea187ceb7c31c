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
