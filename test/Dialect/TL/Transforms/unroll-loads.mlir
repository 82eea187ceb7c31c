// A loop that loads from device memory and computes is to have loads of several
// steps under way.

// RUN: tl-opt %s --tl-unroll-loads | FileCheck %s

// CHECK-DAG: #[[EIGHT:.+]] = #llvm.loop_unroll<count = 8 : i32>
// CHECK-DAG: #[[EIGHT_STEPS:.+]] = #llvm.loop_annotation<unroll = #[[EIGHT]]>
// CHECK-DAG: #[[THREE:.+]] = #llvm.loop_unroll<count = 3 : i32>
// CHECK-DAG: #[[THREE_STEPS:.+]] = #llvm.loop_annotation<unroll = #[[THREE]]>
#rolled = #llvm.loop_annotation<unroll = <disable = true>>

// CHECK-LABEL: gpu.func @sums
gpu.module @sums {
  gpu.func @sums(%A: !llvm.ptr<1>, %S: !llvm.ptr<3>, %n: index, %out: !llvm.ptr<1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : vector<8xf32>

    // CHECK: scf.for
    // CHECK: {llvm.loop_annotation = #[[EIGHT_STEPS]]}
    %few = scf.for %k = %c0 to %c16 step %c1 iter_args(%sum = %zero) -> f32 {
      %x = llvm.load %A : !llvm.ptr<1> -> f32
      %y = arith.addf %sum, %x : f32
      scf.yield %y : f32
    }
    // Four steps would be 128 bytes, and nine are no multiple.
    // CHECK: scf.for
    // CHECK: {llvm.loop_annotation = #[[THREE_STEPS]]}
    %many = scf.for %k = %c0 to %c9 step %c1 iter_args(%sum = %none) -> vector<8xf32> {
      %x = llvm.load %A : !llvm.ptr<1> -> vector<8xf32>
      %y = arith.addf %sum, %x : vector<8xf32>
      scf.yield %y : vector<8xf32>
    }
    // A number of steps that nobody knows; loads of shared memory; what others
    // see; one that is marked.
    // CHECK-NOT: #[[EIGHT_STEPS]]}
    // CHECK-NOT: #[[THREE_STEPS]]}
    %unknown = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> f32 {
      %x = llvm.load %A : !llvm.ptr<1> -> f32
      %y = arith.addf %sum, %x : f32
      scf.yield %y : f32
    }
    %shared = scf.for %k = %c0 to %c16 step %c1 iter_args(%sum = %zero) -> f32 {
      %x = llvm.load %S : !llvm.ptr<3> -> f32
      %y = arith.addf %sum, %x : f32
      scf.yield %y : f32
    }
    scf.for %k = %c0 to %c16 step %c1 {
      %x = llvm.load %A : !llvm.ptr<1> -> f32
      llvm.store %x, %out : f32, !llvm.ptr<1>
    }
    scf.for %k = %c0 to %c16 step %c1 {
      %x = llvm.load %A : !llvm.ptr<1> -> f32
    } {llvm.loop_annotation = #rolled}
    llvm.store %few, %out : f32, !llvm.ptr<1>
    llvm.store %many, %out : vector<8xf32>, !llvm.ptr<1>
    llvm.store %unknown, %out : f32, !llvm.ptr<1>
    llvm.store %shared, %out : f32, !llvm.ptr<1>
    gpu.return
  }
}
