// Absolute values of fewer than 32 bits are taken in 32 bits: ptxas 13.0 takes `abs.s16` of
// -32768 for 32768 where it is converted to more bits. They are chosen of a number and its
// negative, whose sign ptxas sees.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// CHECK-NOT: {{(abs|neg)}}.s16
// CHECK-COUNT-2: neg.s32
// CHECK-NOT: {{(abs|neg)}}.s16

gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xi16>
    %y = math.absi %x : vector<2xi16>
    %z = arith.extsi %y : vector<2xi16> to vector<2xi64>
    llvm.store %z, %b {alignment = 16 : i64} : vector<2xi64>, !llvm.ptr<1>
    gpu.return
  }
}
