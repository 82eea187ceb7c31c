// RUN: tl-opt %s --tl-emit-object="cpu=x86-64-v3" | FileCheck %s

// The function is replaced by its artifacts. The assembly uses the 256-bit
// registers that the named processor has; the text holds escaped tabs.
// CHECK-LABEL: gpu.module @k
// CHECK:         tl.compiled_kernel @k params([#tl.param<base, 0>]) block(128, 1, 1) shared(0)
// CHECK-SAME:      kernel.o = "\7FELF
// CHECK-SAME:      kernel.s = {{.*}}vaddps{{.*}}%ymm
gpu.module @k {
  llvm.func @k(%params: !llvm.ptr, %begin: i64, %end: i64, %x: i64, %y: i64) attributes {
      tl.block = array<i64: 128, 1, 1>, tl.params = [#tl.param<base, 0>]} {
    %base = llvm.load %params : !llvm.ptr -> !llvm.ptr
    %a = llvm.load %base : !llvm.ptr -> vector<8xf32>
    %b = llvm.fadd %a, %a : vector<8xf32>
    llvm.store %b, %base : vector<8xf32>, !llvm.ptr
    llvm.return
  }
}
