// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tl-promote-variables))' | FileCheck %s

// A variable that is assigned in branches is what they yield.
// CHECK-LABEL: gpu.func @branches
// CHECK:         tl.parallel
// CHECK-NOT:       tl.alloc
// CHECK:           %[[R:.+]] = scf.if %{{.+}} -> (f32) {
// CHECK-NEXT:        scf.yield %[[X:.+]] : f32
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[Y:.+]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      tl.store %[[R]]
gpu.module @branches {
  gpu.func @branches(%B: memref<64xf32>, %c: i1, %x: f32, %y: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    tl.parallel (%i) in (64) {
      %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
      scf.if %c {
        tl.store %x, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      } else {
        tl.store %y, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      }
      %z = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      tl.store %z, %B[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// A loop carries it, and one that is declared in the loop is a value in it.
// CHECK-LABEL: gpu.func @loop
// CHECK:         tl.parallel
// CHECK-NOT:       tl.alloc
// CHECK:           %[[S:.+]] = scf.for %{{.+}} iter_args(%[[V:.+]] = %[[ZERO:.+]]) -> (f32) {
// CHECK-NEXT:        %[[X:.+]] = tl.load
// CHECK-NEXT:        %[[Y:.+]] = arith.addf %[[V]], %[[X]]
// CHECK-NEXT:        scf.yield %[[Y]]
// CHECK:           tl.store %[[S]]
gpu.module @loop {
  gpu.func @loop(%A: memref<64xf32>, %B: memref<64xf32>, %n: index, %zero: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tl.parallel (%i) in (64) {
      %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
      tl.store %zero, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      scf.for %k = %c0 to %n step %c1 {
        %w = tl.alloc : memref<1xf32, #gpu.address_space<private>>
        %x = tl.load %A[%k] : memref<64xf32>
        tl.store %x, %w[%c0] : memref<1xf32, #gpu.address_space<private>>
        %o = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
        %y = tl.load %w[%c0] : memref<1xf32, #gpu.address_space<private>>
        %s = arith.addf %o, %y : f32
        tl.store %s, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      }
      %z = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      tl.store %z, %B[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// An array is promoted by element if its indices are known, and else stays.
// CHECK-LABEL: gpu.func @arrays
// CHECK:         tl.parallel
// CHECK:           %[[W:.+]] = tl.alloc : memref<2xf32, #gpu.address_space<private>>
// CHECK-NEXT:      tl.store %{{.+}}, %[[W]]
// CHECK-NEXT:      %[[V:.+]] = tl.load %[[W]]
// CHECK-NEXT:      arith.addf %[[X:.+]], %[[Y:.+]] : f32
gpu.module @arrays {
  gpu.func @arrays(%B: memref<64xf32>, %x: f32, %y: f32, %j: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tl.parallel (%i) in (64) {
      %v = tl.alloc : memref<2xf32, #gpu.address_space<private>>
      tl.store %x, %v[%c0] : memref<2xf32, #gpu.address_space<private>>
      tl.store %y, %v[%c1] : memref<2xf32, #gpu.address_space<private>>
      %w = tl.alloc : memref<2xf32, #gpu.address_space<private>>
      tl.store %x, %w[%j] : memref<2xf32, #gpu.address_space<private>>
      %q = tl.load %w[%j] : memref<2xf32, #gpu.address_space<private>>
      %a = tl.load %v[%c0] : memref<2xf32, #gpu.address_space<private>>
      %b = tl.load %v[%c1] : memref<2xf32, #gpu.address_space<private>>
      %s = arith.addf %a, %b : f32
      %r = arith.addf %s, %q : f32
      tl.store %r, %B[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// Variables of the block: a loop of numbers carries one, and a loop of tiles and
// the iterations in it see its value.
// CHECK-LABEL: gpu.func @bound
// CHECK-NOT:     tl.alloc : memref<1xi32
// CHECK:         %[[E:.+]] = scf.for %{{.+}} iter_args(%[[V:.+]] = %[[ZERO:.+]]) -> (i32) {
// CHECK-NEXT:      %[[X:.+]] = tl.load
// CHECK-NEXT:      %[[Y:.+]] = arith.maxsi %[[V]], %[[X]]
// CHECK-NEXT:      scf.yield %[[Y]]
// CHECK:         tl.pipelined
// CHECK-NEXT:      %[[I:.+]] = arith.index_cast %[[E]]
// CHECK-NEXT:      tl.copy %{{.+}}[%[[I]]]
// CHECK-NEXT:      tl.parallel (%[[P:.+]]) in (64) {
// CHECK-NEXT:        arith.index_cast %[[E]]
gpu.module @bound {
  gpu.func @bound(%A: memref<64xi32>, %B: memref<64xi32>, %n: index, %zero: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc : memref<64xi32, #gpu.address_space<workgroup>>
    %v = tl.alloc : memref<1xi32, #gpu.address_space<private>>
    tl.store %zero, %v[%c0] : memref<1xi32, #gpu.address_space<private>>
    scf.for %k = %c0 to %n step %c1 {
      %x = tl.load %A[%k] : memref<64xi32>
      %o = tl.load %v[%c0] : memref<1xi32, #gpu.address_space<private>>
      %y = arith.maxsi %o, %x : i32
      tl.store %y, %v[%c0] : memref<1xi32, #gpu.address_space<private>>
    }
    tl.pipelined %k = %c0 to %n stages(2) {
      %e = tl.load %v[%c0] : memref<1xi32, #gpu.address_space<private>>
      %i = arith.index_cast %e : i32 to index
      tl.copy %A[%i] to %s tile(64) : memref<64xi32> to memref<64xi32, #gpu.address_space<workgroup>>
      tl.parallel (%p) in (64) {
        %f = tl.load %v[%c0] : memref<1xi32, #gpu.address_space<private>>
        %j = arith.index_cast %f : i32 to index
        %q = arith.addi %p, %j : index
        %w = tl.load %s[%p] : memref<64xi32, #gpu.address_space<workgroup>>
        tl.store %w, %B[%q] : memref<64xi32>
      }
    }
    gpu.return
  }
}

// -----

// One that is assigned beside operations on tiles stays in memory, and so does
// what is read at an index that is not known.
// CHECK-LABEL: gpu.func @beside_tiles
// CHECK:         tl.alloc : memref<1xi32, #gpu.address_space<private>>
// CHECK:         tl.alloc : memref<4xi32, #gpu.address_space<private>>
// CHECK:         scf.for
// CHECK-NEXT:      tl.load
gpu.module @beside_tiles {
  gpu.func @beside_tiles(%A: memref<64xi32>, %n: index, %zero: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = tl.alloc : memref<64xi32, #gpu.address_space<workgroup>>
    %v = tl.alloc : memref<1xi32, #gpu.address_space<private>>
    %w = tl.alloc : memref<4xi32, #gpu.address_space<private>>
    tl.store %zero, %v[%c0] : memref<1xi32, #gpu.address_space<private>>
    scf.for %k = %c0 to %n step %c1 {
      %o = tl.load %v[%c0] : memref<1xi32, #gpu.address_space<private>>
      %i = arith.index_cast %o : i32 to index
      tl.copy %A[%i] to %s tile(64) : memref<64xi32> to memref<64xi32, #gpu.address_space<workgroup>>
      %y = tl.load %w[%k] : memref<4xi32, #gpu.address_space<private>>
      tl.store %y, %v[%c0] : memref<1xi32, #gpu.address_space<private>>
    }
    gpu.return
  }
}
