// RUN: tl-opt %s --tl-lower-host-to-llvm --canonicalize | FileCheck %s

gpu.module @k {
  // Memory spaces are all one, and nothing else than LLVM is left.
  // CHECK-LABEL: llvm.func @spaces
  // CHECK:         llvm.alloca
  // CHECK-NOT:     memref
  func.func @spaces(%x: f32, %i: index) -> f32 {
    %s = memref.alloca() {alignment = 64 : i64} : memref<8xf32, #tl.fragment>
    memref.store %x, %s[%i] : memref<8xf32, #tl.fragment>
    %y = memref.load %s[%i] : memref<8xf32, #tl.fragment>
    return %y : f32
  }

  // What the host knows of the function stays with it.
  // CHECK-LABEL: llvm.func @attributes
  // CHECK-SAME:    tl.block = array<i64: 128, 1, 1>
  // CHECK-SAME:    tl.params = [#tl.param<base, 0>]
  func.func @attributes(%params: !llvm.ptr) attributes {
      tl.block = array<i64: 128, 1, 1>, tl.params = [#tl.param<base, 0>]} {
    return
  }

  // Exponentials are polynomials, with 2^x in fused multiply-adds of its own.
  // CHECK-LABEL: llvm.func @polynomials
  // CHECK:         llvm.intr.roundeven
  // CHECK-COUNT-9: llvm.intr.fma
  // CHECK:         llvm.intr.roundeven
  // CHECK-COUNT-7: llvm.intr.fma
  // CHECK-NOT:     llvm.intr.exp
  // CHECK:         llvm.return
  func.func @polynomials(%x: f32) -> f32 {
    %e = math.exp %x : f32
    %f = math.exp2 %e : f32
    return %f : f32
  }

  // Conversions to integers saturate.
  // CHECK-LABEL: llvm.func @saturate
  // CHECK:         llvm.call_intrinsic "llvm.fptosi.sat"(%arg0) : (f32) -> i32
  // CHECK:         llvm.call_intrinsic "llvm.fptoui.sat"(%arg0) : (f32) -> i64
  func.func @saturate(%x: f32) -> (i32, i64) {
    %i = arith.fptosi %x : f32 to i32
    %u = arith.fptoui %x : f32 to i64
    return %i, %u : i32, i64
  }

  // A bf16 conversion is integer arithmetic: it rounds denormals, too.
  // CHECK-LABEL: llvm.func @bf16
  // CHECK-NOT:     llvm.fptrunc
  // CHECK:         llvm.lshr
  // CHECK:         llvm.return
  func.func @bf16(%x: f32) -> bf16 {
    %y = arith.truncf %x : f32 to bf16
    return %y : bf16
  }

  // The sine of a large number needs the C library's argument reduction; the
  // cube root is not LLVM's at all.
  // CHECK-LABEL: llvm.func @library
  // CHECK:         llvm.intr.sin
  // CHECK:         llvm.call @cbrtf
  func.func @library(%x: f32) -> f32 {
    %s = math.sin %x : f32
    %c = math.cbrt %s : f32
    return %c : f32
  }
}
