// What becomes of a kernel's arguments: what the host passes for them, each with
// a note of how the host makes it. Only what the kernel uses is passed.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @signatures attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Scalars first; an index is passed in 32 bits, anything else in its own type.
  // CHECK-LABEL: gpu.func @scalars(
  // CHECK-SAME:    %[[I:.+]]: i32 {tl.param = #tl.param<scalar, 0, type = i32>}, %[[X:.+]]: f16 {tl.param = #tl.param<scalar, 1, type = f16>}, %[[P:.+]]: !llvm.ptr<1> {tl.align = {{[0-9]+}} : i64, tl.param = #tl.param<base, 2>})
  // CHECK:         arith.index_cast %[[I]] : i32 to index
  // CHECK:         llvm.store %[[X]],
  gpu.func @scalars(%i: index, %x: f16, %A: memref<64xf16>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.store %x, %A[%i] : memref<64xf16>
    gpu.return
  }

  // A buffer is its address, and the extents and strides that are not constant, in
  // 64 bits.
  // CHECK-LABEL: gpu.func @buffer(
  // CHECK-SAME:    #tl.param<scalar, 1, type = i32>
  // CHECK-SAME:    %[[ROWS:[^ ]+]]: i64 {tl.param = #tl.param<dim, 0>}
  // CHECK-SAME:    %[[BASE:[^ ]+]]: !llvm.ptr<1> {tl.align = {{[0-9]+}} : i64, tl.param = #tl.param<base, 0>}
  // CHECK-SAME:    %[[STRIDE:[^ ]+]]: i64 {tl.param = #tl.param<stride, 0>})
  // CHECK:         arith.index_cast %[[ROWS]] : i64 to index
  // CHECK:         %[[LINE:.+]] = arith.muli %{{.+}}, %[[STRIDE]] : i64
  gpu.func @buffer(%A: memref<?x8xf32, strided<[?, 1]>>, %i: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.0 : f32
    tl.store %zero, %A[%i, %c3] : memref<?x8xf32, strided<[?, 1]>>
    gpu.return
  }

  // An extent that the kernel asks for is the parameter too, passed once.
  // CHECK-LABEL: gpu.func @dim(
  // CHECK-SAME:    %[[N:[^ ]+]]: i64 {tl.param = #tl.param<dim, 0>}, %{{[^ ]+}}: !llvm.ptr<1> {tl.align = {{[0-9]+}} : i64, tl.param = #tl.param<base, 0>})
  // CHECK-NOT:     memref.dim
  // CHECK:         gpu.return
  gpu.func @dim(%A: memref<?xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %n = memref.dim %A, %c0 : memref<?xf32>
    %i = arith.index_cast %n : index to i32
    %x = arith.sitofp %i : i32 to f32
    tl.store %x, %A[%c0] : memref<?xf32>
    gpu.return
  }

  // Of a tensor at an address nothing is passed: its pointer is made where it is.
  // CHECK-LABEL: gpu.func @at_an_address(
  // CHECK-SAME:    %[[ADDRESS:.+]]: i64 {tl.param = #tl.param<scalar, 0, type = i64>}
  // CHECK-NOT:     tl.param = #tl.param<{{base|dim|stride}}
  // CHECK:         %[[P:.+]] = tl.device_pointer %[[ADDRESS]] bytes(%{{.+}}) : <1>
  // CHECK:         llvm.getelementptr %[[P]]
  gpu.func @at_an_address(%p: i64, %m: index, %ld: i64, %i: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0.0 : f32
    %A = tl.tensor_at %p[%m] strides[%ld] align(16) : memref<?x8xf32, strided<[?, 1]>>
    tl.store %zero, %A[%i, %i] : memref<?x8xf32, strided<[?, 1]>>
    gpu.return
  }

  // The bulk copy engine takes a tensor map in place of all of these; copies of one
  // box share it. An extent tells whether the tensor is empty.
  // CHECK-LABEL: gpu.func @tensor_map
  // CHECK-SAME:    (%{{[^ ]+}}: i64 {tl.param = #tl.param<dim, 0>}, %{{[^ ]+}}: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 32], swizzle = 128, type = bf16>}) kernel
  gpu.func @tensor_map(%A: memref<?x64xbf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<32x64xbf16, #gpu.address_space<workgroup>>
    tl.copy %tile to %A[%c0, %c0] tile(32, 64) bulk : memref<32x64xbf16, #gpu.address_space<workgroup>> to memref<?x64xbf16>
    tl.copy %tile to %A[%c32, %c0] tile(32, 64) bulk : memref<32x64xbf16, #gpu.address_space<workgroup>> to memref<?x64xbf16>
    gpu.return
  }
}
