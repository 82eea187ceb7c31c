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

  // A power is the formula that GPUs have.
  // CHECK-LABEL: llvm.func @power
  // CHECK-NOT:     llvm.intr.pow
  // CHECK-NOT:     llvm.call
  // CHECK:         llvm.return
  func.func @power(%x: f32, %y: f32) -> f32 {
    %z = math.powf %x, %y : f32
    return %z : f32
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

  // What is computed in bf16 is computed in f32, and each result is rounded by
  // integers: LLVM would call a function that no library has, or take an
  // instruction that makes zero of denormals. It does not see the type at all.
  // CHECK-LABEL: llvm.func @bf16_arithmetic
  // CHECK-SAME:    (%{{.+}}: i16, %[[Y:.+]]: i16) -> i16
  // CHECK-NOT:     bf16
  // CHECK:         %[[SUM:.+]] = llvm.fadd {{.*}} : f32
  // CHECK:         %[[ROUNDED:.+]] = llvm.select {{.*}} : i1, i16
  // CHECK:         %[[WORD:.+]] = llvm.zext %[[ROUNDED]] : i16 to i32
  // CHECK:         %[[SHIFTED:.+]] = llvm.shl %[[WORD]]
  // CHECK:         %[[WIDE:.+]] = llvm.bitcast %[[SHIFTED]] : i32 to f32
  // CHECK:         %[[LESS:.+]] = llvm.fcmp "olt" %[[WIDE]], {{.*}} : f32
  // CHECK:         llvm.select %[[LESS]], %[[ROUNDED]], %[[Y]] : i1, i16
  // CHECK:         llvm.return
  func.func @bf16_arithmetic(%x: bf16, %y: bf16) -> bf16 {
    %sum = arith.addf %x, %y : bf16
    %less = arith.cmpf olt, %sum, %y : bf16
    %least = arith.select %less, %sum, %y : bf16
    return %least : bf16
  }

  // The same for functions, conversions, constants and reductions.
  // CHECK-LABEL: llvm.func @bf16_functions
  // CHECK-NOT:     bf16
  // CHECK:         llvm.intr.floor({{.*}}) : (f32) -> f32
  // CHECK:         llvm.sitofp {{.*}} : i8 to f32
  // CHECK:         llvm.call_intrinsic "llvm.fptosi.sat"({{.*}}) : (f32) -> i32
  // CHECK:         llvm.fpext {{.*}} : f32 to f64
  // CHECK:         llvm.fptrunc {{.*}} : f64 to f32
  // CHECK:         "llvm.intr.vector.reduce.fadd"({{.*}}) {{.*}} : (f32, vector<4xf32>) -> f32
  // CHECK:         llvm.return
  func.func @bf16_functions(%x: bf16, %i: i8, %v: vector<4xbf16>)
      -> (bf16, bf16, i32, bf16, bf16) {
    %floor = math.floor %x : bf16
    %converted = arith.sitofp %i : i8 to bf16
    %integer = arith.fptosi %x : bf16 to i32
    %double = arith.extf %x : bf16 to f64
    %square = arith.mulf %double, %double : f64
    %single = arith.truncf %square : f64 to bf16
    %all = vector.reduction <add>, %v : vector<4xbf16> into bf16
    return %floor, %converted, %integer, %single, %all
        : bf16, bf16, i32, bf16, bf16
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
