// RUN: tl-opt %s --tl-lower-host-to-llvm --split-input-file | FileCheck %s

// LLVM must not extend the integer in place of the half: 2^31 is infinite as a
// half.
gpu.module @words {
  // CHECK-LABEL: llvm.func @extended
  // CHECK:         %[[H:.+]] = llvm.sitofp %{{.+}} : i32 to f16
  // CHECK:         %[[F:.+]] = llvm.call_intrinsic "llvm.arithmetic.fence"(%[[H]]) : (f16) -> f16
  // CHECK:         llvm.fpext %[[F]] : f16 to f32
  func.func @extended(%x: i32) -> f32 {
    %h = arith.sitofp %x : i32 to f16
    %y = arith.extf %h : f16 to f32
    return %y : f32
  }

  // So it is for halves that have come by another way.
  // CHECK-LABEL: llvm.func @any
  // CHECK:         llvm.call_intrinsic "llvm.arithmetic.fence"(%{{.+}}) : (vector<4xf16>) -> vector<4xf16>
  func.func @any(%h: vector<4xf16>) -> vector<4xf32> {
    %y = arith.extf %h : vector<4xf16> to vector<4xf32>
    return %y : vector<4xf32>
  }

  // bf16 has the exponents of f32.
  // CHECK-LABEL: llvm.func @wide_exponents
  // CHECK-NOT:     fence
  func.func @wide_exponents(%b: bf16) -> f32 {
    %y = arith.extf %b : bf16 to f32
    return %y : f32
  }
}

// -----

// Integers of 16 bits are finite, or have too many bits.
gpu.module @shorts {
  // CHECK-LABEL: llvm.func @extended
  // CHECK-NOT:     fence
  // CHECK:         llvm.return
  func.func @extended(%x: i16) -> f32 {
    %h = arith.uitofp %x : i16 to f16
    %y = arith.extf %h : f16 to f32
    return %y : f32
  }
}
