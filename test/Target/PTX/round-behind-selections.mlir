// LLVM rounds what a mask leaves before the mask is there. One by one that is slow, and
// pairs are rounded together behind the selection.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// Of two masks, one behind the other, and a constant that is not zero.
// CHECK-LABEL: tl.compiled_kernel @constant
// CHECK-NOT:     cvt.rn.bf16.f32
// CHECK-NOT:     selp.b16
// CHECK-COUNT-2: cvt.rn.bf16x2.f32
// CHECK-NOT:     selp.b16
gpu.module @a attributes {tl.target = #tl.target<chip = "sm_90">} {
  gpu.func @constant(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
    %mask = llvm.load %b {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    %zero = arith.constant dense<0> : vector<4xi32>
    %one = arith.constant dense<1.0> : vector<4xf32>
    %two = arith.constant dense<2.0> : vector<4xf32>
    %isLess = arith.cmpi slt, %mask, %zero : vector<4xi32>
    %isZero = arith.cmpi eq, %mask, %zero : vector<4xi32>
    %some = arith.select %isLess, %x, %one : vector<4xi1>, vector<4xf32>
    %kept = arith.select %isZero, %two, %some : vector<4xi1>, vector<4xf32>
    %y = arith.truncf %kept : vector<4xf32> to vector<4xbf16>
    llvm.store %y, %b {alignment = 8 : i64} : vector<4xbf16>, !llvm.ptr<1>
    gpu.return
  }
}

// What is not rounded, a number in memory, stays as it is.
// CHECK-LABEL: tl.compiled_kernel @loaded
// CHECK:         cvt.rn.f16.f32
// CHECK:         selp.b16
gpu.module @b attributes {tl.target = #tl.target<chip = "sm_90">} {
  gpu.func @loaded(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a : !llvm.ptr<1> -> f32
    %other = llvm.load %b : !llvm.ptr<1> -> f16
    %one = arith.constant 1.0 : f32
    %isSmall = arith.cmpf olt, %x, %one : f32
    %y = arith.truncf %x : f32 to f16
    %kept = arith.select %isSmall, %y, %other : f16
    llvm.store %kept, %b : f16, !llvm.ptr<1>
    gpu.return
  }
}
