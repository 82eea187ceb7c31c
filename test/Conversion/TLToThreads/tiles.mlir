// For the simulator, a kernel says what its shared memory is called, and ops
// which of it their statement uses.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops{reports=true}))' | FileCheck %s
// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: tl.tiles
// PLAIN-NOT: tl.uses

#line = #tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>

gpu.module @tiles attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Tiles that share bytes are told apart by the statement.
  // CHECK-LABEL: gpu.func @one_after_another(
  // CHECK-SAME:    tl.tiles = [
  // CHECK-SAME:      {chunk = 32 : i64, element_bytes = 4 : i64, name = "S", offset = 0 : i64, shape = array<i64: 32>, slot_dims = 0 : i64, swizzle = 0 : i64},
  // CHECK-SAME:      {chunk = 32 : i64, element_bytes = 4 : i64, offset = 0 : i64, ring, shape = array<i64: 2, 32>, slot_dims = 1 : i64, swizzle = 0 : i64}]
  // CHECK:         llvm.store {{.*}}tl.uses = array<i64: 0>} : f32
  // CHECK:         llvm.store {{.*}}tl.uses = array<i64: 1>} : f32
  // CHECK:         llvm.store
  // CHECK-NOT:     tl.uses
  // CHECK:         gpu.return
  gpu.func @one_after_another(%out: memref<32xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = arith.constant 0.0 : f32
    %zero = arith.constant 0 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<32xf32, #gpu.address_space<workgroup>> loc("S")
    %ring = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) {tl.ring} : memref<2x32xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (32) layout(#line) {
      tl.store %x, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    }
    %slot = tl.slot %ring[%zero] : memref<2x32xf32, #gpu.address_space<workgroup>> to memref<32xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (32) layout(#line) {
      tl.store %x, %slot[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i) in (32) layout(#line) {
      tl.store %x, %out[%i] : memref<32xf32>
    }
    gpu.return
  }
}
