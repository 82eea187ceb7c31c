// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tl-privatize-variables))' | FileCheck %s

// An iteration that assigns a variable before it reads it has one of its own.
// CHECK-LABEL: gpu.func @assigned_first
// CHECK:         tl.parallel (%[[I:.+]]) in (64) {
// CHECK-NEXT:      %[[OWN:.+]] = tl.alloc : memref<1xf32, #gpu.address_space<private>>
// CHECK-NEXT:      %[[X:.+]] = tl.load %{{.+}}[%[[I]]]
// CHECK-NEXT:      tl.store %[[X]], %[[OWN]]
// CHECK-NEXT:      %[[Y:.+]] = tl.load %[[OWN]]
// CHECK-NEXT:      tl.store %[[Y]]
gpu.module @assigned_first {
  gpu.func @assigned_first(%A: memref<64xf32>, %B: memref<64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<64xf32>
      tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      %y = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      tl.store %y, %B[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// One that may read it first begins with the value from before the loop, which
// the outer variable keeps.
// CHECK-LABEL: gpu.func @assigned_perhaps
// CHECK:         %[[V:.+]] = tl.alloc : memref<1xf32, #gpu.address_space<private>>
// CHECK:         %[[OLD:.+]] = tl.load %[[V]]
// CHECK-NEXT:    tl.parallel
// CHECK-NEXT:      %[[OWN:.+]] = tl.alloc
// CHECK-NEXT:      tl.store %[[OLD]], %[[OWN]]
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        tl.store %{{.+}}, %[[OWN]]
// CHECK-NEXT:      }
// CHECK-NEXT:      tl.load %[[OWN]]
gpu.module @assigned_perhaps {
  gpu.func @assigned_perhaps(%B: memref<64xf32>, %c: i1, %x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    tl.parallel (%i) in (64) {
      scf.if %c {
        tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      }
      %y = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      tl.store %y, %B[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// An array of which an element is assigned may be read in others.
// CHECK-LABEL: gpu.func @array
// CHECK:         %[[V:.+]] = tl.alloc : memref<4xf32, #gpu.address_space<private>>
// CHECK:         tl.parallel
// CHECK-NEXT:      %[[OWN:.+]] = tl.alloc
// CHECK-NEXT:      tl.copy %[[V]] to %[[OWN]] tile(4)
gpu.module @array {
  gpu.func @array(%B: memref<64xf32>, %x: f32, %j: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = tl.alloc : memref<4xf32, #gpu.address_space<private>>
    tl.parallel (%i) in (64) {
      tl.store %x, %v[%c0] : memref<4xf32, #gpu.address_space<private>>
      %y = tl.load %v[%j] : memref<4xf32, #gpu.address_space<private>>
      tl.store %y, %B[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// A variable that is only read stays where it is, and so does one of the body.
// CHECK-LABEL: gpu.func @left_alone
// CHECK:         %[[V:.+]] = tl.alloc
// CHECK:         tl.parallel
// CHECK-NEXT:      tl.load %[[V]]
// CHECK-NEXT:      tl.alloc
// CHECK-NOT:       tl.alloc
gpu.module @left_alone {
  gpu.func @left_alone(%B: memref<64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    tl.parallel (%i) in (64) {
      %y = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      %w = tl.alloc : memref<1xf32, #gpu.address_space<private>>
      tl.store %y, %w[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    gpu.return
  }
}
