// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-promote-fragments))' | FileCheck %s

!slot = memref<vector<4xf32>>

gpu.module @kernels {
  // A load is the value stored last.
  // CHECK-LABEL: gpu.func @straight(
  // CHECK-SAME:      %[[V:[^:]+]]: vector<4xf32>
  // CHECK-NOT:     memref
  // CHECK:         arith.addf %[[V]], %[[V]]
  // CHECK-NOT:     memref
  // CHECK:         gpu.return
  gpu.func @straight(%v: vector<4xf32>) kernel {
    %slot = memref.alloca() : !slot
    memref.store %v, %slot[] : !slot
    %x = memref.load %slot[] : !slot
    %y = arith.addf %x, %x : vector<4xf32>
    memref.store %y, %slot[] : !slot
    gpu.return
  }

  // What was never stored reads as zero.
  // CHECK-LABEL: gpu.func @read_before_written(
  // CHECK:         %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : vector<4xf32>
  // CHECK:         arith.negf %[[ZERO]]
  gpu.func @read_before_written() kernel {
    %slot = memref.alloca() : !slot
    %x = memref.load %slot[] : !slot
    %y = arith.negf %x : vector<4xf32>
    gpu.return
  }

  // A loop carries the slots that it writes, behind its own values, and those
  // alone.
  // CHECK-LABEL: gpu.func @loop(
  // CHECK-SAME:      %[[V:[^:]+]]: vector<4xf32>, %[[W:[^:]+]]: vector<4xf32>,
  // CHECK:         %[[R:.+]]:2 = scf.for {{.*}} iter_args(%[[OWN:.+]] = %{{.+}}, %[[X:.+]] = %[[V]])
  // CHECK:           %[[Y:.+]] = arith.addf %[[X]], %[[W]]
  // CHECK:           scf.yield %[[OWN]], %[[Y]] : i32, vector<4xf32>
  // CHECK:         arith.negf %[[R]]#1
  gpu.func @loop(%v: vector<4xf32>, %w: vector<4xf32>, %n: index, %init: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %slot = memref.alloca() : !slot
    %read_only = memref.alloca() : !slot
    memref.store %v, %slot[] : !slot
    memref.store %w, %read_only[] : !slot
    %own = scf.for %i = %c0 to %n step %c1 iter_args(%o = %init) -> i32 {
      %x = memref.load %slot[] : !slot
      %z = memref.load %read_only[] : !slot
      %y = arith.addf %x, %z : vector<4xf32>
      memref.store %y, %slot[] : !slot
      scf.yield %o : i32
    }
    %r = memref.load %slot[] : !slot
    %s = arith.negf %r : vector<4xf32>
    gpu.return
  }

  // A slot that only one branch writes keeps its value in the other.
  // CHECK-LABEL: gpu.func @branch(
  // CHECK-SAME:      %[[V:[^:]+]]: vector<4xf32>, %[[W:[^:]+]]: vector<4xf32>,
  // CHECK:         %[[R:.+]] = scf.if
  // CHECK-NEXT:      scf.yield %[[W]]
  // CHECK-NEXT:    } else {
  // CHECK-NEXT:      scf.yield %[[V]]
  // CHECK:         arith.negf %[[R]]
  gpu.func @branch(%v: vector<4xf32>, %w: vector<4xf32>, %c: i1) kernel {
    %slot = memref.alloca() : !slot
    memref.store %v, %slot[] : !slot
    scf.if %c {
      memref.store %w, %slot[] : !slot
    }
    %x = memref.load %slot[] : !slot
    %y = arith.negf %x : vector<4xf32>
    gpu.return
  }

  // Branches that write different slots yield both, behind their own values; a
  // slot that nothing wrote before is zero in the branch that does not.
  // CHECK-LABEL: gpu.func @two_slots(
  // CHECK-SAME:      %[[V:[^:]+]]: vector<4xf32>,
  // CHECK:         %[[ZERO_A:.+]] = arith.constant dense<0.000000e+00>
  // CHECK:         %[[ZERO_B:.+]] = arith.constant dense<0.000000e+00>
  // CHECK:         %[[R:.+]]:3 = scf.if
  // CHECK:           scf.yield %{{.+}}, %[[V]], %[[ZERO_B]]
  // CHECK:           scf.yield %{{.+}}, %[[ZERO_A]], %[[V]]
  // CHECK:         arith.addf %[[R]]#1, %[[R]]#2
  gpu.func @two_slots(%v: vector<4xf32>, %c: i1, %i: i32) kernel {
    %a = memref.alloca() : !slot
    %b = memref.alloca() : !slot
    %own = scf.if %c -> i32 {
      memref.store %v, %a[] : !slot
      scf.yield %i : i32
    } else {
      memref.store %v, %b[] : !slot
      scf.yield %i : i32
    }
    %x = memref.load %a[] : !slot
    %y = memref.load %b[] : !slot
    %z = arith.addf %x, %y : vector<4xf32>
    gpu.return
  }

  // Through a branch in a loop in a loop.
  // CHECK-LABEL: gpu.func @nested(
  // CHECK-SAME:      %[[V:[^:]+]]: vector<4xf32>,
  // CHECK:         %[[OUTER:.+]] = scf.for {{.*}} iter_args(%[[X:.+]] = %[[V]])
  // CHECK:           %[[INNER:.+]] = scf.for {{.*}} iter_args(%[[Y:.+]] = %[[X]])
  // CHECK:             %[[R:.+]] = scf.if
  // CHECK:               %[[NEG:.+]] = arith.negf %[[Y]]
  // CHECK:               scf.yield %[[NEG]]
  // CHECK:             } else {
  // CHECK:               scf.yield %[[Y]]
  // CHECK:             scf.yield %[[R]]
  // CHECK:           scf.yield %[[INNER]]
  // CHECK:         arith.negf %[[OUTER]]
  gpu.func @nested(%v: vector<4xf32>, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %slot = memref.alloca() : !slot
    memref.store %v, %slot[] : !slot
    scf.for %i = %c0 to %n step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        scf.if %c {
          %x = memref.load %slot[] : !slot
          %y = arith.negf %x : vector<4xf32>
          memref.store %y, %slot[] : !slot
        }
      }
    }
    %r = memref.load %slot[] : !slot
    %s = arith.negf %r : vector<4xf32>
    gpu.return
  }

  // A `scf.while` passes slots to its condition, on to its body or out, and
  // back, behind its own values.
  // CHECK-LABEL: gpu.func @while(
  // CHECK-SAME:      %[[V:[^:]+]]: vector<4xf32>, %[[C:[^:]+]]: i1
  // CHECK:         %[[R:.+]]:2 = scf.while (%[[OWN:.+]] = %{{.+}}, %[[X:.+]] = %[[V]])
  // CHECK:           %[[TWICE:.+]] = arith.addf %[[X]], %[[X]]
  // CHECK:           scf.condition(%[[C]]) %[[OWN]], %[[TWICE]]
  // CHECK:         ^bb0(%[[I:.+]]: i32, %[[Y:.+]]: vector<4xf32>):
  // CHECK:           %[[NEG:.+]] = arith.negf %[[Y]]
  // CHECK:           scf.yield %[[I]], %[[NEG]]
  // CHECK:         arith.negf %[[R]]#1
  gpu.func @while(%v: vector<4xf32>, %c: i1, %init: i32) kernel {
    %slot = memref.alloca() : !slot
    memref.store %v, %slot[] : !slot
    %own = scf.while (%i = %init) : (i32) -> i32 {
      %x = memref.load %slot[] : !slot
      %y = arith.addf %x, %x : vector<4xf32>
      memref.store %y, %slot[] : !slot
      scf.condition(%c) %i : i32
    } do {
    ^bb0(%i: i32):
      %x = memref.load %slot[] : !slot
      %y = arith.negf %x : vector<4xf32>
      memref.store %y, %slot[] : !slot
      scf.yield %i : i32
    }
    %r = memref.load %slot[] : !slot
    %s = arith.negf %r : vector<4xf32>
    gpu.return
  }

  // Memory that is no slot stays: a private array, and one whose address is
  // taken.
  // CHECK-LABEL: gpu.func @not_a_slot(
  // CHECK:         memref.alloca() : memref<4xf32>
  // CHECK:         memref.alloca() : memref<vector<4xf32>>
  // CHECK:         memref.store
  // CHECK:         memref.store
  gpu.func @not_a_slot(%v: vector<4xf32>, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %array = memref.alloca() : memref<4xf32>
    %slot = memref.alloca() : !slot
    memref.store %x, %array[%c0] : memref<4xf32>
    memref.store %v, %slot[] : !slot
    %view = memref.cast %slot : !slot to memref<vector<4xf32>, strided<[], offset: ?>>
    gpu.return
  }
}
