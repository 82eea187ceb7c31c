// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

// Blocks that are alike but for operands stay apart: merged ones would take the
// operands as arguments, and the next ones those of all before.
// CHECK-LABEL: llvm.func @alike
// CHECK-NOT:   ^bb{{[0-9]+}}(
// CHECK:       llvm.return
gpu.module @kernels {
  gpu.func @alike(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %x: i32, %y: i32, %c: i1) {
    scf.if %c {
      llvm.store %x, %p : i32, !llvm.ptr<1>
    } else {
      llvm.store %y, %q : i32, !llvm.ptr<1>
    }
    gpu.return
  }
}
