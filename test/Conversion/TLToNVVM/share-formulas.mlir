// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm))' | FileCheck %s

gpu.module @m {
  // Each of 32 pieces calls the one formula.
  // CHECK-LABEL: llvm.func @quotients
  // CHECK-COUNT-32: llvm.call @formula(
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.return
  gpu.func @quotients(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %y = llvm.load %q : !llvm.ptr<1> -> vector<256xf32>
    %z = arith.divf %x, %y : vector<256xf32>
    llvm.store %z, %p : vector<256xf32>, !llvm.ptr<1>
    gpu.return
  }

  // What is left of the last piece is computed in place.
  // CHECK-LABEL: llvm.func @rest
  // CHECK-COUNT-32: llvm.call @formula_{{[0-9]+}}(
  // CHECK:         llvm.fcmp
  // CHECK:         llvm.return
  gpu.func @rest(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<260xf32>
    %z = math.log %x : vector<260xf32>
    llvm.store %z, %p : vector<260xf32>, !llvm.ptr<1>
    gpu.return
  }

  // A few pieces stay in place.
  // CHECK-LABEL: llvm.func @few
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.return
  gpu.func @few(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<248xf32>
    %z = math.log %x : vector<248xf32>
    llvm.store %z, %p : vector<248xf32>, !llvm.ptr<1>
    gpu.return
  }

  // The division of a row by one number gets the number once for each piece.
  // CHECK-LABEL: llvm.func @row
  // CHECK-COUNT-32: llvm.call @{{.*}} : (vector<8xf32>, f32) ->
  gpu.func @row(%p: !llvm.ptr<1>, %s: f32) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %y = vector.broadcast %s : f32 to vector<256xf32>
    %z = arith.divf %x, %y : vector<256xf32>
    llvm.store %z, %p : vector<256xf32>, !llvm.ptr<1>
    gpu.return
  }

  // The last product is fused with the sum behind it, which a call would hide.
  // CHECK-LABEL: llvm.func @added
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.return
  gpu.func @added(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %l = math.log %x : vector<256xf32>
    %z = arith.mulf %l, %x : vector<256xf32>
    %s = vector.reduction <add>, %z : vector<256xf32> into f32
    llvm.store %s, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // So is a product before the first sum: one that a loop carries may be.
  // CHECK-LABEL: llvm.func @carried
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.return
  gpu.func @carried(%p: !llvm.ptr<1>, %x: vector<256xf32>) {
    %one = arith.constant dense<1.0> : vector<256xf32>
    %s = arith.addf %x, %one : vector<256xf32>
    %z = math.log %s : vector<256xf32>
    llvm.store %z, %p : vector<256xf32>, !llvm.ptr<1>
    gpu.return
  }

  // What several pieces have in common is computed once.
  // CHECK-LABEL: llvm.func @columns
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.return
  gpu.func @columns(%p: !llvm.ptr<1>, %c: vector<128xf32>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %zero = arith.constant dense<0.0> : vector<256xf32>
    %a = vector.insert_strided_slice %c, %zero {offsets = [0], strides = [1]} : vector<128xf32> into vector<256xf32>
    %y = vector.insert_strided_slice %c, %a {offsets = [128], strides = [1]} : vector<128xf32> into vector<256xf32>
    %z = arith.divf %x, %y : vector<256xf32>
    llvm.store %z, %p : vector<256xf32>, !llvm.ptr<1>
    gpu.return
  }

  // CHECK: llvm.func @formula(
  // CHECK-SAME: passthrough = ["tl-formula"]
}

// With fast math a quotient may be a product.
gpu.module @fast attributes {tl.fast_math} {
  // CHECK-LABEL: llvm.func @approximate
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.return
  gpu.func @approximate(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %z = math.tanh %x : vector<256xf32>
    llvm.store %z, %p : vector<256xf32>, !llvm.ptr<1>
    gpu.return
  }
}
