// RUN: tl-opt %s --convert-tl-to-nvvm --split-input-file | FileCheck %s

// Chips before 9.0 convert integers to f32 and that to bf16. One of more than
// 24 bits becomes the odd one of the two around it first, whose last bit the
// second rounding does not take for a tie.
gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // CHECK-LABEL: llvm.func @words
  // CHECK-SAME:    (%[[X:.+]]: i32
  // CHECK-DAG:     %[[LOW:.+]] = llvm.mlir.constant(255 : i32)
  // CHECK-DAG:     %[[HIGH:.+]] = llvm.mlir.constant(-256 : i32)
  // CHECK-DAG:     %[[LAST:.+]] = llvm.mlir.constant(256 : i32)
  // CHECK-DAG:     %[[REST:.+]] = llvm.and %[[X]], %[[LOW]]
  // CHECK-DAG:     %[[EXACT:.+]] = llvm.icmp "eq" %[[REST]]
  // CHECK-DAG:     %[[KEPT:.+]] = llvm.and %[[X]], %[[HIGH]]
  // CHECK-DAG:     %[[ODD:.+]] = llvm.or %[[KEPT]], %[[LAST]]
  // CHECK-DAG:     %[[LARGE:.+]] = llvm.select %[[EXACT]], %[[KEPT]], %[[ODD]]
  // CHECK-DAG:     %[[SMALL:.+]] = llvm.icmp "ult"
  // CHECK:         %[[NUMBER:.+]] = llvm.select %[[SMALL]], %[[X]], %[[LARGE]]
  // CHECK:         %[[SINGLE:.+]] = llvm.sitofp %[[NUMBER]] : i32 to f32
  // CHECK:         llvm.fptrunc %[[SINGLE]] : f32 to bf16
  gpu.func @words(%x: i32, %p: !llvm.ptr) kernel {
    %y = arith.sitofp %x : i32 to bf16
    llvm.store %y, %p : bf16, !llvm.ptr
    gpu.return
  }
}

// -----

// Later ones have an instruction, which rounds once.
gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: llvm.func @words
  // CHECK:         llvm.sitofp %{{.+}} : i32 to bf16
  gpu.func @words(%x: i32, %p: !llvm.ptr) kernel {
    %y = arith.sitofp %x : i32 to bf16
    llvm.store %y, %p : bf16, !llvm.ptr
    gpu.return
  }
}
