// RUN: tl-opt %s --tl-speculate-choices | FileCheck %s
// RUN: tl-opt %s --tl-speculate-choices | FileCheck %s --check-prefix=NOMARK
// NOMARK-NOT: tl.total

// A tensor that the kernel only reads and copies from is read on both sides, and
// an inner choice is then an op of the outer one.
// CHECK-LABEL: gpu.func @read_only
// CHECK:         tl.parallel (%[[I:.+]]) in (32)
// CHECK-NOT:       scf.if
// CHECK:           %[[A:.+]] = tl.load %arg0[%[[I]]]
// CHECK:           %[[B:.+]] = tl.load %arg0[%{{.+}}]
// CHECK:           %[[INNER:.+]] = arith.select %arg4, %[[B]], %[[A]]
// CHECK:           %[[OUTER:.+]] = arith.select %arg3, %[[INNER]], %{{.+}}
// CHECK:           tl.store %[[OUTER]], %arg1[%[[I]]]
gpu.module @m {
  gpu.func @read_only(%A: memref<64xf32>, %C: memref<64xf32>, %S: memref<32xf32, #gpu.address_space<workgroup>>, %outer: i1, %inner: i1) kernel {
    %c0 = arith.constant 0 : index
    %extent = memref.dim %A, %c0 : memref<64xf32>
    tl.copy %A[%c0] to %S[%c0] tile(32) : memref<64xf32> to memref<32xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (32) {
      %0 = scf.if %outer -> f32 {
        %1 = tl.load %A[%i] : memref<64xf32>
        %2 = arith.addi %i, %extent : index
        %3 = scf.if %inner -> f32 {
          %4 = tl.load %A[%2] : memref<64xf32>
          scf.yield %4 : f32
        } else {
          scf.yield %1 : f32
        } {tl.total}
        scf.yield %3 : f32
      } else {
        %zero = arith.constant 0.0 : f32
        scf.yield %zero : f32
      } {tl.total}
      tl.store %0, %C[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// A tensor that is written, wherever it is in the kernel, is read only where the
// number is needed: it may be another block that writes there.
// CHECK-LABEL: gpu.func @written
// CHECK-COUNT-2: scf.if
// CHECK-NOT:     arith.select
gpu.module @written {
  gpu.func @written(%A: memref<64xf32>, %B: memref<64xi32>, %chosen: i1) kernel {
    tl.parallel (%i) in (32) {
      %zero = arith.constant 0.0 : f32
      %0 = scf.if %chosen -> f32 {
        %1 = tl.load %A[%i] : memref<64xf32>
        scf.yield %1 : f32
      } else {
        scf.yield %zero : f32
      } {tl.total}
      tl.store %0, %A[%i] : memref<64xf32>
      %none = arith.constant 0 : i32
      %2 = scf.if %chosen -> i32 {
        %3 = tl.load %B[%i] : memref<64xi32>
        scf.yield %3 : i32
      } else {
        scf.yield %none : i32
      } {tl.total}
      %4 = tl.atomic add %2, %B[%i] : memref<64xi32>
    }
    gpu.return
  }
}

// Copied to is written, too.
// CHECK-LABEL: gpu.func @copied_to
// CHECK:         scf.if
gpu.module @copied_to {
  gpu.func @copied_to(%A: memref<64xf32>, %S: memref<32xf32, #gpu.address_space<workgroup>>, %chosen: i1) kernel {
    %c0 = arith.constant 0 : index
    tl.copy %S[%c0] to %A[%c0] tile(32) : memref<32xf32, #gpu.address_space<workgroup>> to memref<64xf32>
    tl.parallel (%i) in (32) {
      %zero = arith.constant 0.0 : f32
      %0 = scf.if %chosen -> f32 {
        %1 = tl.load %A[%i] : memref<64xf32>
        scf.yield %1 : f32
      } else {
        scf.yield %zero : f32
      } {tl.total}
      tl.store %0, %S[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}

// `and` and `or` are what they are of numbers that are there.
// CHECK-LABEL: gpu.func @conditions
// CHECK:         %[[X:.+]] = tl.load %arg0
// CHECK:         arith.andi %arg2, %[[X]]
// CHECK:         %[[Y:.+]] = tl.load %arg0
// CHECK:         arith.ori %arg2, %[[Y]]
gpu.module @conditions {
  gpu.func @conditions(%A: memref<64xi1>, %B: memref<64xi1>, %chosen: i1) kernel {
    tl.parallel (%i) in (32) {
      %false = arith.constant false
      %0 = scf.if %chosen -> i1 {
        %1 = tl.load %A[%i] : memref<64xi1>
        scf.yield %1 : i1
      } else {
        scf.yield %false : i1
      } {tl.total}
      %true = arith.constant true
      %2 = scf.if %chosen -> i1 {
        scf.yield %true : i1
      } else {
        %3 = tl.load %A[%i] : memref<64xi1>
        scf.yield %3 : i1
      } {tl.total}
      %4 = arith.xori %0, %2 : i1
      tl.store %4, %B[%i] : memref<64xi1>
    }
    gpu.return
  }
}

// What is not marked stays: its division may be there because of the condition.
// So does what a check has been added to, a read of shared memory, and one of
// private memory that is not known to be inside.
// CHECK-LABEL: gpu.func @kept
// CHECK:         scf.if
// CHECK:           arith.divsi
// CHECK:         scf.if
// CHECK:           tl.store
// CHECK:         scf.if
// CHECK:         scf.if
// CHECK-NOT:     scf.if
// CHECK:         arith.select
gpu.module @kept {
  gpu.func @kept(%A: memref<64xi32>, %C: memref<64xi32>, %S: memref<32xi32, #gpu.address_space<workgroup>>, %x: i32, %chosen: i1) kernel {
    %zero = arith.constant 0 : i32
    %V = tl.alloc : memref<2xi32, #gpu.address_space<private>>
    tl.parallel (%i) in (32) {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %0 = scf.if %chosen -> i32 {
        %1 = tl.load %A[%i] : memref<64xi32>
        %2 = arith.divsi %1, %x : i32
        scf.yield %2 : i32
      } else {
        scf.yield %zero : i32
      }
      tl.store %0, %C[%i] : memref<64xi32>
      %3 = scf.if %chosen -> i32 {
        tl.store %x, %C[%c1] : memref<64xi32>
        scf.yield %x : i32
      } else {
        scf.yield %zero : i32
      } {tl.total}
      tl.store %3, %C[%i] : memref<64xi32>
      %4 = scf.if %chosen -> i32 {
        %5 = tl.load %S[%i] : memref<32xi32, #gpu.address_space<workgroup>>
        scf.yield %5 : i32
      } else {
        scf.yield %zero : i32
      } {tl.total}
      tl.store %4, %C[%i] : memref<64xi32>
      %6 = scf.if %chosen -> i32 {
        %7 = tl.load %V[%c2] : memref<2xi32, #gpu.address_space<private>>
        scf.yield %7 : i32
      } else {
        scf.yield %zero : i32
      } {tl.total}
      tl.store %6, %C[%i] : memref<64xi32>
      %8 = scf.if %chosen -> i32 {
        %9 = tl.load %V[%c1] : memref<2xi32, #gpu.address_space<private>>
        scf.yield %9 : i32
      } else {
        scf.yield %zero : i32
      } {tl.total}
      tl.store %8, %C[%i] : memref<64xi32>
    }
    gpu.return
  }
}

// A tensor at an address may be the memory of an argument.
// CHECK-LABEL: gpu.func @beside_a_tensor_at_an_address
// CHECK:         scf.if
// CHECK-NEXT:      tl.load %arg0
gpu.module @addresses {
  gpu.func @beside_a_tensor_at_an_address(%A: memref<64xf32>, %address: i64, %c: i1, %v: f32) kernel {
    %B = tl.tensor_at %address align(4) : memref<64xf32>
    tl.parallel (%i) in (32) {
      %0 = scf.if %c -> f32 {
        %1 = tl.load %A[%i] : memref<64xf32>
        scf.yield %1 : f32
      } else {
        scf.yield %v : f32
      } {tl.total}
      tl.store %0, %B[%i] : memref<64xf32>
    }
    gpu.return
  }
}
