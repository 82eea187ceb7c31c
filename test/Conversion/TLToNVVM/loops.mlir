// RUN: tl-opt %s --convert-tl-to-nvvm | FileCheck %s

#unroll = #llvm.loop_unroll<disable = true>
#rounds = #llvm.loop_annotation<unroll = #unroll>

// The back edge of an annotated loop carries the annotation as LLVM reads it.
// CHECK: #[[UNROLL:.+]] = #llvm.loop_unroll<disable = true>
// CHECK: #[[ROUNDS:.+]] = #llvm.loop_annotation<unroll = #[[UNROLL]]>
// CHECK-LABEL: llvm.func @annotated
// CHECK:         llvm.store
// CHECK:         llvm.br ^bb{{.+}} {loop_annotation = #[[ROUNDS]]}
gpu.module @annotated attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @annotated(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %one = arith.constant 1.0 : f32
    scf.for %i = %c0 to %c4 step %c1 {
      %offset = arith.index_cast %i : index to i64
      %q = llvm.getelementptr %p[%offset] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      llvm.store %one, %q : f32, !llvm.ptr<1>
    } {llvm.loop_annotation = #rounds}
    gpu.return
  }
}
