// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-keep-branches))' | FileCheck %s
// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-keep-branches,convert-tl-to-nvvm))' | FileCheck %s --check-prefix=NVVM

// What is cleared where it is added up is chosen by the same branch.
// CHECK-LABEL: gpu.func @promote
// CHECK:         %[[BOTH:.*]]:2 = scf.if %{{.*}} -> (vector<32xf32>, vector<32xf32>)
// CHECK:           %[[SUM:.*]] = arith.addf
// CHECK:           scf.yield %[[SUM]], %[[ZERO:.*]] :
// CHECK:         } else {
// CHECK:           scf.yield %[[S:.*]], %[[X:.*]] :
// CHECK:         } {tl.branch}
// CHECK-NOT:     arith.select
// CHECK:         llvm.store %[[BOTH]]#0
// CHECK:         llvm.store %[[BOTH]]#1

// NVVM-LABEL: llvm.func @promote
// NVVM:         llvm.cond_br %{{.*}} weights([1, 1000])

gpu.module @promote {
  gpu.func @promote(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i32 {tl.param = #tl.param<scalar, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %one = arith.constant 1 : i32
    %c = arith.cmpi eq, %n, %one : i32
    %x = llvm.load %a : !llvm.ptr<1> -> vector<32xf32>
    %s = llvm.load %a : !llvm.ptr<1> -> vector<32xf32>
    %cleared = arith.select %c, %zero, %x : vector<32xf32>
    %sum = scf.if %c -> (vector<32xf32>) {
      %t = arith.addf %s, %x : vector<32xf32>
      scf.yield %t : vector<32xf32>
    } else {
      scf.yield %s : vector<32xf32>
    }
    llvm.store %sum, %a : vector<32xf32>, !llvm.ptr<1>
    llvm.store %cleared, %a : vector<32xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// A value that is needed in between is chosen by a branch of its own; one that the branch
// itself reads is what that side has.
// CHECK-LABEL: gpu.func @between
// CHECK:         %[[FIRST:.*]] = scf.if %[[C:.*]] -> (vector<32xf32>)
// CHECK:         llvm.store %[[FIRST]]
// CHECK:         %[[SECOND:.*]] = scf.if %[[C]] -> (vector<32xf32>)
// CHECK:           llvm.store %[[Y:.*]], %{{.*}} : vector<32xf32>
// CHECK:           scf.yield %[[Y]]
// CHECK:         } else {
// CHECK:           scf.yield %[[X:.*]]
// CHECK:         } {tl.branch}
// CHECK:         llvm.store %[[SECOND]]

// NVVM-LABEL: llvm.func @between
// NVVM:         llvm.cond_br %{{.*}} weights([1000, 1])

gpu.module @between {
  gpu.func @between(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i32 {tl.param = #tl.param<scalar, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %one = arith.constant 1 : i32
    %c = arith.cmpi eq, %n, %one : i32
    %x = llvm.load %a : !llvm.ptr<1> -> vector<32xf32>
    %y = llvm.load %a : !llvm.ptr<1> -> vector<32xf32>
    %early = arith.select %c, %x, %y : vector<32xf32>
    llvm.store %early, %a : vector<32xf32>, !llvm.ptr<1>
    %late = arith.select %c, %y, %x : vector<32xf32>
    scf.if %c {
      llvm.store %late, %a : vector<32xf32>, !llvm.ptr<1>
    }
    llvm.store %late, %a : vector<32xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// Few registers, and a choice for each element, stay selections.
// CHECK-LABEL: gpu.func @small
// CHECK-COUNT-2: arith.select
// CHECK-NOT:     scf.if
gpu.module @small {
  gpu.func @small(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i32 {tl.param = #tl.param<scalar, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %one = arith.constant 1 : i32
    %c = arith.cmpi eq, %n, %one : i32
    %x = llvm.load %a : !llvm.ptr<1> -> vector<8xf32>
    %y = llvm.load %a : !llvm.ptr<1> -> vector<8xf32>
    %few = arith.select %c, %x, %y : vector<8xf32>
    llvm.store %few, %a : vector<8xf32>, !llvm.ptr<1>
    %z = llvm.load %a : !llvm.ptr<1> -> vector<32xf32>
    %negative = arith.cmpf olt, %z, %zero : vector<32xf32>
    %each = arith.select %negative, %zero, %z : vector<32xi1>, vector<32xf32>
    llvm.store %each, %a : vector<32xf32>, !llvm.ptr<1>
    gpu.return
  }
}
