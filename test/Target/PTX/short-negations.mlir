// Integers of fewer than 32 bits are negated in 32 bits: ptxas 13.0 takes `neg.s16` of
// -32768 for 32768 where a shift or a conversion makes more bits of it.

// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// CHECK-NOT: neg.s16
// CHECK-COUNT-5: not.b32
// CHECK-NOT: neg.s16

gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xi16>
    %zeros = arith.constant dense<0> : vector<2xi16>
    %y = arith.subi %zeros, %x : vector<2xi16>
    %z = arith.extsi %y : vector<2xi16> to vector<2xi64>
    llvm.store %z, %b {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
    // One factor of several.
    %factors = arith.constant dense<[3, -256]> : vector<2xi16>
    %m = arith.muli %x, %factors : vector<2xi16>
    %n = arith.extsi %m : vector<2xi16> to vector<2xi64>
    llvm.store %n, %a {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
    %zero = arith.constant 0 : i8
    %c = llvm.load %a {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %d = arith.subi %zero, %c : i8
    %e = arith.extsi %d : i8 to i16
    llvm.store %e, %a {alignment = 2 : i64} : i16, !llvm.ptr<1>
    // LLVM multiplies by -256 and shifts back.
    %w = llvm.load %b {alignment = 4 : i64} : !llvm.ptr<1> -> i32
    %f = arith.trunci %w : i32 to i8
    %g = arith.subi %zero, %f : i8
    %h = arith.extsi %g : i8 to i16
    llvm.store %h, %b {alignment = 2 : i64} : i16, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// A negation of what is a negation itself.

// CHECK: entry twice
// CHECK: not.b32 [[MINUS:%r[0-9]+]], %r
// CHECK: mov.b32 %part0, [[MINUS]];
// CHECK: st.global.b16 {{[^;]*}}, %part0;
// CHECK: cvt.s32.s16 {{[^%]*}}[[SOURCE:%r[0-9]+]], [[MINUS]];
// CHECK: not.b32 [[PLUS:%r[0-9]+]], [[SOURCE]];
// CHECK: mov.b32 %part0, [[PLUS]];
// CHECK: st.global.b16 {{[^;]*}}, %part0;

gpu.module @twice attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @twice(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 2 : i64} : !llvm.ptr<1> -> i16
    %factor = arith.constant -4 : i16
    %y = arith.muli %x, %factor : i16
    llvm.store %y, %a {alignment = 2 : i64} : i16, !llvm.ptr<1>
    %zero = arith.constant 0 : i16
    %z = arith.subi %zero, %y : i16
    llvm.store %z, %b {alignment = 2 : i64} : i16, !llvm.ptr<1>
    gpu.return
  }
}
