// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts))' | FileCheck %s

// An index whose operations have the same operand twice is looked through a few
// deep: all ways to its root are more than there is time for.
// CHECK: tl.parallel (%{{.+}}, %{{.+}}) in (64, 64) layout(
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @f() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
    %t = tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (64, 64) {
      %x0 = arith.addi %i, %i : index
      %x1 = arith.addi %x0, %x0 : index
      %x2 = arith.addi %x1, %x1 : index
      %x3 = arith.addi %x2, %x2 : index
      %x4 = arith.addi %x3, %x3 : index
      %x5 = arith.addi %x4, %x4 : index
      %x6 = arith.addi %x5, %x5 : index
      %x7 = arith.addi %x6, %x6 : index
      %x8 = arith.addi %x7, %x7 : index
      %x9 = arith.addi %x8, %x8 : index
      %x10 = arith.addi %x9, %x9 : index
      %x11 = arith.addi %x10, %x10 : index
      %x12 = arith.addi %x11, %x11 : index
      %x13 = arith.addi %x12, %x12 : index
      %x14 = arith.addi %x13, %x13 : index
      %x15 = arith.addi %x14, %x14 : index
      %x16 = arith.addi %x15, %x15 : index
      %x17 = arith.addi %x16, %x16 : index
      %x18 = arith.addi %x17, %x17 : index
      %x19 = arith.addi %x18, %x18 : index
      %x20 = arith.addi %x19, %x19 : index
      %x21 = arith.addi %x20, %x20 : index
      %x22 = arith.addi %x21, %x21 : index
      %x23 = arith.addi %x22, %x22 : index
      %x24 = arith.addi %x23, %x23 : index
      %x25 = arith.addi %x24, %x24 : index
      %x26 = arith.addi %x25, %x25 : index
      %x27 = arith.addi %x26, %x26 : index
      %x28 = arith.addi %x27, %x27 : index
      %x29 = arith.addi %x28, %x28 : index
      %x30 = arith.addi %x29, %x29 : index
      %x31 = arith.addi %x30, %x30 : index
      %x32 = arith.addi %x31, %x31 : index
      %x33 = arith.addi %x32, %x32 : index
      %x34 = arith.addi %x33, %x33 : index
      %v = tl.load %s[%j, %x34] : memref<64x64xf32, #gpu.address_space<workgroup>>
      tl.store %v, %t[%i, %j] : memref<64x64xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}
