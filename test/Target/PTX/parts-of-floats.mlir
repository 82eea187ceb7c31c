// A part of a float is stored from a copy of its bits. Were the register stored
// that an instruction on floats has written, ptxas 13.0 would convert the number.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// CHECK:      cvt.rn.f64.s32 \09%rd[[#NUMBER:]],
// CHECK-SAME: mov.b64 %part0, %rd[[#NUMBER]];
// CHECK-SAME: st.volatile.global.b32 \09[%rd{{[0-9]+}}], %part0;
// CHECK-SAME: add.f32 \09%r[[#SUM:]],
// CHECK-SAME: mov.b32 %part0, %r[[#SUM]];
// CHECK-SAME: st.volatile.global.b8 \09[%rd{{[0-9]+}}+8], %part0;

gpu.module @k attributes {tl.target = #tl.target<chip = "sm_90">} {
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a : !llvm.ptr<1> -> i32
    %number = arith.sitofp %x : i32 to f64
    %bits = arith.bitcast %number : f64 to i64
    %half = arith.trunci %bits : i64 to i32
    llvm.store volatile %half, %b : i32, !llvm.ptr<1>
    %y = llvm.load %a : !llvm.ptr<1> -> f32
    %sum = arith.addf %y, %y : f32
    %word = arith.bitcast %sum : f32 to i32
    %byte = arith.trunci %word : i32 to i8
    %next = llvm.getelementptr %b[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    llvm.store volatile %byte, %next : i8, !llvm.ptr<1>
    gpu.return
  }
}
