// RUN: tl-opt %s --split-input-file --tl-emit-object="cpu=x86-64-v3" | FileCheck %s

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

// -----

// The frame comes first, whatever the function does without it: probes of the
// stack take a register that what is computed ahead may be in.
// CHECK-LABEL: gpu.module @framed
// CHECK:         kernel.s = {{.*}}\0Aframed:\0A\09movq\09%rsp, %r11{{.*}}cmpq\09%r11, %rsp{{.*}}cmpq\09%rdx, %rsi
gpu.module @framed {
  llvm.func @framed(%params: !llvm.ptr, %begin: i64, %end: i64, %x: i64, %y: i64) attributes {
      tl.block = array<i64: 128, 1, 1>, tl.params = [#tl.param<base, 0>]} {
    %count = llvm.mlir.constant(8192 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    %tile = llvm.alloca %count x i64 : (i64) -> !llvm.ptr
    llvm.br ^next(%begin : i64)
  ^next(%i: i64):
    %goes_on = llvm.icmp "slt" %i, %end : i64
    llvm.cond_br %goes_on, ^body, ^end
  ^body:
    %place = llvm.getelementptr %tile[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store volatile %i, %place : i64, !llvm.ptr
    %after = llvm.add %i, %one : i64
    llvm.br ^next(%after : i64)
  ^end:
    llvm.return
  }
}
