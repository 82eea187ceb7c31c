// For a division of less than 32 bits ptxas calls a function, and in a kernel
// with a call it serialises `wgmma` (C7509). Such kernels divide in 32 bits.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,canonicalize,cse,tl-emit-ptx))' | FileCheck %s

gpu.module @products attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: tl.compiled_kernel @products
  // CHECK-NOT:     div.u16
  // CHECK:         div.u32
  // CHECK-NOT:     div.u16
  gpu.func @products(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %a = llvm.load %p : !llvm.ptr<1> -> i16
    %q = llvm.getelementptr %p[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b = llvm.load %q : !llvm.ptr<1> -> i16
    %c = arith.divui %a, %b : i16
    llvm.store %c, %p : i16, !llvm.ptr<1>
    %v = llvm.load %p : !llvm.ptr<1> -> vector<4xf32>
    %w = tl.wgmma_wait 0 (%v : vector<4xf32>)
    llvm.store %w, %q : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// Others are left as they were.
gpu.module @sums attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: tl.compiled_kernel @sums
  // CHECK:         div.u16
  gpu.func @sums(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %a = llvm.load %p : !llvm.ptr<1> -> i16
    %q = llvm.getelementptr %p[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b = llvm.load %q : !llvm.ptr<1> -> i16
    %c = arith.divui %a, %b : i16
    llvm.store %c, %p : i16, !llvm.ptr<1>
    gpu.return
  }
}
