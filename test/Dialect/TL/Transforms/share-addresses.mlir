// RUN: tl-opt %s --tl-share-addresses | FileCheck %s

gpu.module @m {
  // Rows behind guards of their own have one address in front of the first
  // guard, and differ by numbers.
  // CHECK-LABEL: gpu.func @rows
  // CHECK:         arith.muli %{{.+}}, %c783_i64
  // CHECK:         %[[Q:.+]] = llvm.getelementptr %arg0[%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
  // CHECK:         scf.if
  // CHECK-NEXT:      %[[A:.+]] = llvm.getelementptr %[[Q]][3132] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f16
  // CHECK-NEXT:      llvm.load %[[A]]
  // CHECK:         scf.if
  // CHECK-NEXT:      %[[B:.+]] = llvm.getelementptr %[[Q]][6264] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f16
  // CHECK-NEXT:      llvm.load %[[B]]
  gpu.func @rows(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>, %m: index) kernel {
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %stride = arith.constant 783 : i64
    %zero = arith.constant 0.0 : f16
    %row = gpu.block_id x
    %column = gpu.thread_id x
    %j = arith.index_cast %column : index to i64
    %next = arith.addi %row, %c4 overflow<nsw> : index
    %last = arith.addi %row, %c8 overflow<nsw> : index
    %isNext = arith.cmpi slt, %next, %m : index
    %isLast = arith.cmpi slt, %last, %m : index
    %a = scf.if %isNext -> f16 {
      %r = arith.index_cast %next : index to i64
      %s = arith.muli %r, %stride : i64
      %i = arith.addi %s, %j : i64
      %at = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
      %x = llvm.load %at : !llvm.ptr<1> -> f16
      scf.yield %x : f16
    } else {
      scf.yield %zero : f16
    }
    %b = scf.if %isLast -> f16 {
      %r = arith.index_cast %last : index to i64
      %s = arith.muli %r, %stride : i64
      %i = arith.addi %s, %j : i64
      %at = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
      %x = llvm.load %at : !llvm.ptr<1> -> f16
      scf.yield %x : f16
    } else {
      scf.yield %zero : f16
    }
    %sum = arith.addf %a, %b : f16
    llvm.store %sum, %q : f16, !llvm.ptr<1>
    gpu.return
  }

  // A sum that may wrap is a term of its own: its address is not the row's.
  // CHECK-LABEL: gpu.func @wraps
  // CHECK-COUNT-2: llvm.getelementptr %arg0[%{{.+}}] : (!llvm.ptr<1>, i64)
  gpu.func @wraps(%p: !llvm.ptr<1>) kernel {
    %c4 = arith.constant 4 : index
    %row = gpu.block_id x
    %next = arith.addi %row, %c4 : index
    %i = arith.index_cast %row : index to i64
    %j = arith.index_cast %next : index to i64
    %from = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %to = llvm.getelementptr %p[%j] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %x = llvm.load %from : !llvm.ptr<1> -> f32
    llvm.store %x, %to : f32, !llvm.ptr<1>
    gpu.return
  }

  // A loop and what is before it share nothing, nor do addresses of which one
  // is a number of bytes away that is no number of elements.
  // CHECK-LABEL: gpu.func @loop
  // CHECK:         llvm.getelementptr %arg0[%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  // CHECK:         scf.for
  // CHECK:           %[[Q:.+]] = llvm.getelementptr %arg0[%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  // CHECK:           llvm.getelementptr %[[Q]][1]
  // CHECK:           llvm.getelementptr %[[Q]][6] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
  // CHECK:           llvm.getelementptr %[[Q]][2]
  gpu.func @loop(%p: !llvm.ptr<1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i64
    %first = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %x = llvm.load %first : !llvm.ptr<1> -> f32
    scf.for %k = %c0 to %c8 step %c1 {
      %a = arith.addi %i, %one : i64
      %b = arith.addi %i, %two : i64
      %at = llvm.getelementptr %p[%a] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %odd = llvm.getelementptr %at[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
      %between = llvm.getelementptr %odd[0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
      %to = llvm.getelementptr %p[%b] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %y = llvm.load %at : !llvm.ptr<1> -> f32
      %z = llvm.load %between {alignment = 2 : i64} : !llvm.ptr<1> -> f32
      %s = arith.addf %y, %z : f32
      %u = arith.addf %s, %x : f32
      llvm.store %u, %to : f32, !llvm.ptr<1>
    }
    gpu.return
  }
}
