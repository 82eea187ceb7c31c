// Operands of signed extremes are negated in two steps: of `max(max(a, -b), c)` ptxas
// 13.0 makes one instruction for sm_90, and loses the sign.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// CHECK-NOT: neg.s32
// CHECK:     not.b32
// CHECK:     add.s32
// CHECK:     max.s32
// CHECK-NOT: neg.s32

gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
    %y = llvm.load %b {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
    %zero = arith.constant dense<0> : vector<2xi32>
    %minus = arith.subi %zero, %y : vector<2xi32>
    %z = arith.maxsi %x, %minus : vector<2xi32>
    llvm.store %z, %b {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
    gpu.return
  }
}
