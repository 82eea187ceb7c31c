// Short integers are negated in 32 bits, and so are their products with negative powers of two, of which the
// compiler of CUDA makes negations: ptxas 13.0 takes `neg.s16` of -32768 for 32768 where it is widened.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda))' | %unit_text | FileCheck %s

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: extern "C" __global__ void
  // CHECK: (short)tl::negate(
  // CHECK: (short)tl::negate({{.*}} * 256)
  // CHECK: * 255)
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 2 : i64} : !llvm.ptr<1> -> i16
    %zero = arith.constant 0 : i16
    %minus = arith.subi %zero, %x : i16
    llvm.store %minus, %a {alignment = 2 : i64} : i16, !llvm.ptr<1>
    %power = arith.constant -256 : i16
    %y = arith.muli %x, %power : i16
    llvm.store %y, %a {alignment = 2 : i64} : i16, !llvm.ptr<1>
    %other = arith.constant 255 : i16
    %z = arith.muli %x, %other : i16
    llvm.store %z, %a {alignment = 2 : i64} : i16, !llvm.ptr<1>
    gpu.return
  }
}
