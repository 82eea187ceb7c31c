// Sums of products of neighbouring bytes are done four at a time.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,canonicalize,cse,tl-emit-ptx))' | FileCheck %s

// A sum of the products of the bytes of two words is one instruction.
gpu.module @words attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: tl.compiled_kernel @words
  // CHECK:         dp4a.s32.s32 \09%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}};
  // CHECK-NOT:     {{mul|mad}}
  // CHECK:         ret
  gpu.func @words(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %at = llvm.getelementptr %p[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %s0 = llvm.load %at : !llvm.ptr<1> -> i32
    %pa0 = llvm.getelementptr %p[0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a0 = llvm.load %pa0 {alignment = 4 : i64} : !llvm.ptr<1> -> i8
    %aw0 = arith.extsi %a0 : i8 to i32
    %pb0 = llvm.getelementptr %p[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b0 = llvm.load %pb0 {alignment = 4 : i64} : !llvm.ptr<1> -> i8
    %bw0 = arith.extsi %b0 : i8 to i32
    %m0 = arith.muli %aw0, %bw0 : i32
    %s1 = arith.addi %s0, %m0 : i32
    %pa1 = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a1 = llvm.load %pa1 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw1 = arith.extsi %a1 : i8 to i32
    %pb1 = llvm.getelementptr %p[5] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b1 = llvm.load %pb1 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw1 = arith.extsi %b1 : i8 to i32
    %m1 = arith.muli %aw1, %bw1 : i32
    %s2 = arith.addi %s1, %m1 : i32
    %pa2 = llvm.getelementptr %p[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a2 = llvm.load %pa2 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw2 = arith.extsi %a2 : i8 to i32
    %pb2 = llvm.getelementptr %p[6] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b2 = llvm.load %pb2 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw2 = arith.extsi %b2 : i8 to i32
    %m2 = arith.muli %aw2, %bw2 : i32
    %s3 = arith.addi %s2, %m2 : i32
    %pa3 = llvm.getelementptr %p[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a3 = llvm.load %pa3 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw3 = arith.extsi %a3 : i8 to i32
    %pb3 = llvm.getelementptr %p[7] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b3 = llvm.load %pb3 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw3 = arith.extsi %b3 : i8 to i32
    %m3 = arith.muli %aw3, %bw3 : i32
    %s4 = arith.addi %s3, %m3 : i32
    llvm.store %s4, %at : i32, !llvm.ptr<1>
    gpu.return
  }
}

// Of any signs.
gpu.module @unsigned_words attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: tl.compiled_kernel @unsigned_words
  // CHECK:         dp4a.{{u32.s32|s32.u32}}
  // CHECK:         ret
  gpu.func @unsigned_words(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %at = llvm.getelementptr %p[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %s0 = llvm.load %at : !llvm.ptr<1> -> i32
    %pa0 = llvm.getelementptr %p[0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a0 = llvm.load %pa0 {alignment = 4 : i64} : !llvm.ptr<1> -> i8
    %aw0 = arith.extui %a0 : i8 to i32
    %pb0 = llvm.getelementptr %p[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b0 = llvm.load %pb0 {alignment = 4 : i64} : !llvm.ptr<1> -> i8
    %bw0 = arith.extsi %b0 : i8 to i32
    %m0 = arith.muli %aw0, %bw0 : i32
    %s1 = arith.addi %s0, %m0 : i32
    %pa1 = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a1 = llvm.load %pa1 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw1 = arith.extui %a1 : i8 to i32
    %pb1 = llvm.getelementptr %p[5] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b1 = llvm.load %pb1 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw1 = arith.extsi %b1 : i8 to i32
    %m1 = arith.muli %aw1, %bw1 : i32
    %s2 = arith.addi %s1, %m1 : i32
    %pa2 = llvm.getelementptr %p[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a2 = llvm.load %pa2 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw2 = arith.extui %a2 : i8 to i32
    %pb2 = llvm.getelementptr %p[6] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b2 = llvm.load %pb2 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw2 = arith.extsi %b2 : i8 to i32
    %m2 = arith.muli %aw2, %bw2 : i32
    %s3 = arith.addi %s2, %m2 : i32
    %pa3 = llvm.getelementptr %p[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a3 = llvm.load %pa3 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw3 = arith.extui %a3 : i8 to i32
    %pb3 = llvm.getelementptr %p[7] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b3 = llvm.load %pb3 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw3 = arith.extsi %b3 : i8 to i32
    %m3 = arith.muli %aw3, %bw3 : i32
    %s4 = arith.addi %s3, %m3 : i32
    llvm.store %s4, %at : i32, !llvm.ptr<1>
    gpu.return
  }
}

// Three of them are not, and bytes that are parts of words.
gpu.module @few attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: tl.compiled_kernel @few
  // CHECK-NOT:     dp4a
  // CHECK:         ret
  gpu.func @few(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %at = llvm.getelementptr %p[8] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %s0 = llvm.load %at : !llvm.ptr<1> -> i32
    %pa0 = llvm.getelementptr %p[0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a0 = llvm.load %pa0 {alignment = 4 : i64} : !llvm.ptr<1> -> i8
    %aw0 = arith.extsi %a0 : i8 to i32
    %pb0 = llvm.getelementptr %p[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b0 = llvm.load %pb0 {alignment = 4 : i64} : !llvm.ptr<1> -> i8
    %bw0 = arith.extsi %b0 : i8 to i32
    %m0 = arith.muli %aw0, %bw0 : i32
    %s1 = arith.addi %s0, %m0 : i32
    %pa1 = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a1 = llvm.load %pa1 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw1 = arith.extsi %a1 : i8 to i32
    %pb1 = llvm.getelementptr %p[5] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b1 = llvm.load %pb1 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw1 = arith.extsi %b1 : i8 to i32
    %m1 = arith.muli %aw1, %bw1 : i32
    %s2 = arith.addi %s1, %m1 : i32
    %pa2 = llvm.getelementptr %p[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a2 = llvm.load %pa2 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw2 = arith.extsi %a2 : i8 to i32
    %pb2 = llvm.getelementptr %p[6] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b2 = llvm.load %pb2 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw2 = arith.extsi %b2 : i8 to i32
    %m2 = arith.muli %aw2, %bw2 : i32
    %s3 = arith.addi %s2, %m2 : i32
    llvm.store %s3, %at : i32, !llvm.ptr<1>
    gpu.return
  }
}

gpu.module @parts attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: tl.compiled_kernel @parts
  // CHECK-NOT:     dp4a
  // CHECK:         ret
  gpu.func @parts(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %at = llvm.getelementptr %p[12] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %s0 = llvm.load %at : !llvm.ptr<1> -> i32
    %pa0 = llvm.getelementptr %p[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a0 = llvm.load %pa0 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw0 = arith.extsi %a0 : i8 to i32
    %pb0 = llvm.getelementptr %p[6] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b0 = llvm.load %pb0 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw0 = arith.extsi %b0 : i8 to i32
    %m0 = arith.muli %aw0, %bw0 : i32
    %s1 = arith.addi %s0, %m0 : i32
    %pa1 = llvm.getelementptr %p[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a1 = llvm.load %pa1 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw1 = arith.extsi %a1 : i8 to i32
    %pb1 = llvm.getelementptr %p[7] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b1 = llvm.load %pb1 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw1 = arith.extsi %b1 : i8 to i32
    %m1 = arith.muli %aw1, %bw1 : i32
    %s2 = arith.addi %s1, %m1 : i32
    %pa2 = llvm.getelementptr %p[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a2 = llvm.load %pa2 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw2 = arith.extsi %a2 : i8 to i32
    %pb2 = llvm.getelementptr %p[12] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b2 = llvm.load %pb2 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw2 = arith.extsi %b2 : i8 to i32
    %m2 = arith.muli %aw2, %bw2 : i32
    %s3 = arith.addi %s2, %m2 : i32
    %pa3 = llvm.getelementptr %p[5] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %a3 = llvm.load %pa3 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %aw3 = arith.extsi %a3 : i8 to i32
    %pb3 = llvm.getelementptr %p[9] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
    %b3 = llvm.load %pb3 {alignment = 1 : i64} : !llvm.ptr<1> -> i8
    %bw3 = arith.extsi %b3 : i8 to i32
    %m3 = arith.muli %aw3, %bw3 : i32
    %s4 = arith.addi %s3, %m3 : i32
    llvm.store %s4, %at : i32, !llvm.ptr<1>
    gpu.return
  }
}
