// Both halves of a product of words, as random numbers are made of, are one
// instruction.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,canonicalize,cse,tl-emit-ptx))' | FileCheck %s

gpu.module @halves attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: tl.compiled_kernel @halves
  // CHECK-NOT:     mul.{{hi|lo}}
  // CHECK:         mul.wide.u32 [[BOTH:%rd[0-9]+]], %r{{[0-9]+}}, %r{{[0-9]+}};
  // CHECK-NOT:     mul.{{hi|lo}}
  // CHECK:         ret
  gpu.func @halves(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %f = arith.constant -766435501 : i32
    %w = arith.constant 3528531795 : i64
    %s = arith.constant 32 : i64
    %q = llvm.getelementptr %p[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a = llvm.load %p : !llvm.ptr<1> -> i32
    %low = arith.muli %a, %f : i32
    %wide = arith.extui %a : i32 to i64
    %both = arith.muli %wide, %w : i64
    %upper = arith.shrui %both, %s : i64
    %high = arith.trunci %upper : i64 to i32
    llvm.store %low, %p : i32, !llvm.ptr<1>
    llvm.store %high, %q : i32, !llvm.ptr<1>
    gpu.return
  }
}

// A number that may be more than a word has another product.
gpu.module @numbers attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: tl.compiled_kernel @numbers
  // CHECK:         mul.lo.s64
  // CHECK:         ret
  gpu.func @numbers(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %f = arith.constant -766435501 : i32
    %w = arith.constant 3528531795 : i64
    %s = arith.constant 32 : i64
    %q = llvm.getelementptr %p[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %wide = llvm.load %p : !llvm.ptr<1> -> i64
    %a = arith.trunci %wide : i64 to i32
    %low = arith.muli %a, %f : i32
    %both = arith.muli %wide, %w : i64
    %upper = arith.shrui %both, %s : i64
    %high = arith.trunci %upper : i64 to i32
    llvm.store %low, %p : i32, !llvm.ptr<1>
    llvm.store %high, %q : i32, !llvm.ptr<1>
    gpu.return
  }
}

// So has a signed one, and other words have.
gpu.module @others attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: tl.compiled_kernel @others
  // CHECK-NOT:     mul.wide.u32
  // CHECK:         ret
  gpu.func @others(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %f = arith.constant -766435501 : i32
    %s = arith.constant 32 : i64
    %q = llvm.getelementptr %p[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %r = llvm.getelementptr %p[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a = llvm.load %p : !llvm.ptr<1> -> i32
    %b = llvm.load %q : !llvm.ptr<1> -> i32
    %c = llvm.load %r : !llvm.ptr<1> -> i32
    %low = arith.muli %a, %b : i32
    %x = arith.extsi %a : i32 to i64
    %y = arith.extsi %b : i32 to i64
    %z = arith.extui %c : i32 to i64
    %v = arith.extui %b : i32 to i64
    %both = arith.muli %x, %y : i64
    %upper = arith.shrui %both, %s : i64
    %high = arith.trunci %upper : i64 to i32
    %unlike = arith.muli %z, %v : i64
    %above = arith.shrui %unlike, %s : i64
    %third = arith.trunci %above : i64 to i32
    llvm.store %low, %p : i32, !llvm.ptr<1>
    llvm.store %high, %q : i32, !llvm.ptr<1>
    llvm.store %third, %r : i32, !llvm.ptr<1>
    gpu.return
  }
}
