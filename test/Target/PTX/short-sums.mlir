// Integers of 8 and 16 bits are added one by one: where there is an `add.s16x2`, ptxas
// 13.0 loses constants of other sums of 16 bits. They are divided one by one as well, since
// what a division by a constant becomes has sums in it.

// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// CHECK-NOT: s16x2
// CHECK-COUNT-4: add.s16
// CHECK-NOT: s16x2

gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xi16>
    %y = llvm.load %b {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xi16>
    %z = arith.addi %x, %y : vector<2xi16>
    llvm.store %z, %b {alignment = 4 : i64} : vector<2xi16>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @bytes attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @bytes(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 2 : i64} : !llvm.ptr<1> -> vector<2xi8>
    %y = llvm.load %b {alignment = 2 : i64} : !llvm.ptr<1> -> vector<2xi8>
    %z = arith.addi %x, %y : vector<2xi8>
    llvm.store %z, %b {alignment = 2 : i64} : vector<2xi8>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @quotients attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @quotients(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %three = arith.constant dense<3> : vector<2xi16>
    %seven = arith.constant dense<7> : vector<2xi16>
    %x = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xi16>
    %q = arith.divsi %x, %three : vector<2xi16>
    %r = arith.remui %q, %seven : vector<2xi16>
    llvm.store %r, %a {alignment = 4 : i64} : vector<2xi16>, !llvm.ptr<1>
    gpu.return
  }
}
// -----

// LLVM makes one again where a shift wants both.

gpu.module @again attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @again(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>, tl.shared = 0 : i64} {
    %t = nvvm.read.ptx.sreg.tid.x range <i32, 0, 48> : i32
    %c3 = arith.constant 3 : i32
    %r = arith.shrui %t, %c3 : i32
    %s = vector.broadcast %r : i32 to vector<2xi32>
    %c = arith.constant dense<[0, 6]> : vector<2xi32>
    %one = arith.constant dense<1> : vector<2xi32>
    %x = arith.addi %s, %c overflow<nsw, nuw> : vector<2xi32>
    %y = arith.shrsi %x, %one : vector<2xi32>
    llvm.store %y, %a {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
    gpu.return
  }
}
