// A truth value with a sign is 0 or -1. As a bfloat16, LLVM 22 takes it for 1, unless
// it chooses between numbers.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// CHECK-NOT: selp.b32 {{.*}}, 1, 0
// CHECK:     selp.b16 {{.*}}, 0xBF80, 0x0000
// CHECK-NOT: cvt.rn.bf16

gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a : !llvm.ptr<1> -> i32
    %y = llvm.load %b : !llvm.ptr<1> -> f32
    %zero = arith.constant 0 : i32
    %none = arith.constant 0.0 : f32
    %isNegative = arith.cmpi slt, %x, %zero : i32
    %isNaN = arith.cmpf uno, %y, %none : f32
    %either = arith.ori %isNegative, %isNaN : i1
    %sign = arith.extsi %either : i1 to i32
    %z = arith.sitofp %sign : i32 to bf16
    llvm.store %z, %b : bf16, !llvm.ptr<1>
    gpu.return
  }
}
