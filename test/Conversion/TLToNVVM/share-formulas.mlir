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

  // The last product is fused with the sum behind it, which a call would hide. It stays in place.
  // CHECK-LABEL: llvm.func @added
  // CHECK-COUNT-32: llvm.call @{{.*}} : (vector<8xf32>) -> !llvm.struct<(vector<8xf32>)>
  // CHECK:         llvm.fmul {{.*}} : vector<256xf32>
  // CHECK:         llvm.return
  gpu.func @added(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %l = math.log %x : vector<256xf32>
    %z = arith.mulf %l, %x : vector<256xf32>
    %s = vector.reduction <add>, %z : vector<256xf32> into f32
    llvm.store %s, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // A formula that itself ends in such a product is computed in place.
  // CHECK-LABEL: llvm.func @sines
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.return
  gpu.func @sines(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %l = math.sin %x : vector<256xf32>
    %s = vector.reduction <add>, %l : vector<256xf32> into f32
    llvm.store %s, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // So does a conversion to a type that is not passed.
  // CHECK-LABEL: llvm.func @bytes
  // CHECK-COUNT-32: llvm.call @{{.*}} : (vector<8xf32>) -> !llvm.struct<(vector<8xf32>)>
  // CHECK:         llvm.store {{.*}} : vector<256xi8>
  gpu.func @bytes(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %l = math.erf %x : vector<256xf32>
    %z = arith.fptosi %l : vector<256xf32> to vector<256xi8>
    llvm.store %z, %p : vector<256xi8>, !llvm.ptr<1>
    gpu.return
  }

  // Of an exponential that is added to something, factors are returned, and their product is in place.
  // CHECK-LABEL: llvm.func @exponentials
  // CHECK:         %[[ALL:.+]] = llvm.call @{{.*}} : (vector<8xf32>) -> !llvm.struct<(vector<8xf32>, vector<8xf32>)>
  // CHECK:         %[[MANTISSA:.+]] = llvm.extractvalue %[[ALL]][0]
  // CHECK:         %[[POWER:.+]] = llvm.extractvalue %[[ALL]][1]
  // CHECK:         llvm.fmul %[[MANTISSA]], %[[POWER]] : vector<8xf32>
  // CHECK-COUNT-31: llvm.call @formula
  // CHECK:         llvm.return
  gpu.func @exponentials(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %z = math.exp %x : vector<256xf32>
    %s = vector.reduction <add>, %z : vector<256xf32> into f32
    llvm.store %s, %p : f32, !llvm.ptr<1>
    gpu.return
  }

  // Of one that is stored, the product is in the function.
  // CHECK-LABEL: llvm.func @stored
  // CHECK-COUNT-32: llvm.call @{{.*}} : (vector<8xf32>) -> !llvm.struct<(vector<8xf32>)>
  // CHECK-NOT:     llvm.fmul
  // CHECK:         llvm.return
  gpu.func @stored(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %z = math.exp %x : vector<256xf32>
    llvm.store %z, %p : vector<256xf32>, !llvm.ptr<1>
    gpu.return
  }

  // Fewer exponentials are not even taken apart.
  // CHECK-LABEL: llvm.func @few_exponentials
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.intr.fma{{.*}} vector<248xf32>
  // CHECK:         llvm.return
  gpu.func @few_exponentials(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<248xf32>
    %z = math.exp %x : vector<248xf32>
    llvm.store %z, %p : vector<248xf32>, !llvm.ptr<1>
    gpu.return
  }

  // A row's maximum, over all threads of a warp, is no product if its elements are none.
  // CHECK-LABEL: llvm.func @softmax
  // CHECK-COUNT-32: llvm.call @{{.*}} : (vector<8xf32>, f32) ->
  // CHECK:         llvm.return
  gpu.func @softmax(%p: !llvm.ptr<1>) {
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %y = llvm.load %p : !llvm.ptr<1> -> f32
    %other, %valid = gpu.shuffle xor %y, %c1, %c32 : f32
    %m = arith.maximumf %y, %other : f32
    %ms = vector.broadcast %m : f32 to vector<256xf32>
    %d = arith.subf %x, %ms : vector<256xf32>
    %z = math.exp %d : vector<256xf32>
    llvm.store %z, %p : vector<256xf32>, !llvm.ptr<1>
    gpu.return
  }

  // The maximum of products may be one of them.
  // CHECK-LABEL: llvm.func @maximum_of_products
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.return
  gpu.func @maximum_of_products(%p: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xf32>
    %y = llvm.load %p : !llvm.ptr<1> -> f32
    %square = arith.mulf %y, %y : f32
    %m = arith.maximumf %y, %square : f32
    %ms = vector.broadcast %m : f32 to vector<256xf32>
    %d = arith.subf %x, %ms : vector<256xf32>
    %z = math.exp %d : vector<256xf32>
    llvm.store %z, %p : vector<256xf32>, !llvm.ptr<1>
    gpu.return
  }

  // So are quotients of integers, but not those by a constant, which are a product.
  // CHECK-LABEL: llvm.func @integers
  // CHECK-COUNT-32: llvm.call @{{.*}} : (vector<8xi32>, vector<8xi32>) ->
  // CHECK-NOT:     llvm.call @formula
  // CHECK:         llvm.sdiv {{.*}} : vector<256xi32>
  // CHECK:         llvm.return
  gpu.func @integers(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) {
    %x = llvm.load %p : !llvm.ptr<1> -> vector<256xi32>
    %y = llvm.load %q : !llvm.ptr<1> -> vector<256xi32>
    %z = arith.floordivsi %x, %y : vector<256xi32>
    llvm.store %z, %p : vector<256xi32>, !llvm.ptr<1>
    %seven = arith.constant dense<7> : vector<256xi32>
    %w = arith.divsi %z, %seven : vector<256xi32>
    llvm.store %w, %q : vector<256xi32>, !llvm.ptr<1>
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
