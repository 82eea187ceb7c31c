// RUN: tl-opt %s --convert-tl-to-nvvm | FileCheck %s

// What it is for: TLToCPU/fenced-halves.mlir.
gpu.module @words attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: llvm.func @extended
  // CHECK:         %[[H:.+]] = llvm.sitofp %{{.+}} : i32 to f16
  // CHECK:         %[[F:.+]] = llvm.call_intrinsic "llvm.arithmetic.fence"(%[[H]]) : (f16) -> f16
  // CHECK:         llvm.fpext %[[F]] : f16 to f32
  gpu.func @extended(%x: i32, %p: !llvm.ptr) kernel {
    %h = arith.sitofp %x : i32 to f16
    %y = arith.extf %h : f16 to f32
    llvm.store %y, %p : f32, !llvm.ptr
    gpu.return
  }
}
