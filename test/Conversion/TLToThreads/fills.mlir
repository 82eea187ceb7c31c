// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops,canonicalize,cse))' | FileCheck %s

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Shared memory is filled in pieces of 16 bytes.
  // CHECK-LABEL: gpu.func @wide(
  // CHECK-COUNT-2: llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<3>
  // CHECK-NOT:     llvm.store
  gpu.func @wide() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0.0 : f16
    %S = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.fill %S, %zero : memref<32x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // No wider than rows lie together, nor than gives every thread a part.
  // CHECK-LABEL: gpu.func @narrow(
  // CHECK:         llvm.store %{{.+}}, %{{.+}} {alignment = 4 : i64} : vector<2xf16>, !llvm.ptr<3>
  // CHECK-NOT:     llvm.store
  // CHECK-LABEL: gpu.func @odd(
  // CHECK:         llvm.store %{{.+}}, %{{.+}} {alignment = 2 : i64} : f16, !llvm.ptr<3>
  gpu.func @narrow() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0.0 : f16
    %S = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 256>) offset(0) : memref<256xf16, #gpu.address_space<workgroup>>
    tl.fill %S, %zero : memref<256xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
  gpu.func @odd() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant 0.0 : f16
    %S = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 127>) offset(0) : memref<127xf16, #gpu.address_space<workgroup>>
    tl.fill %S, %zero : memref<127xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}
