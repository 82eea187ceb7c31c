// Tiles of f32 that are filled from 16 bits, and read as wholes into registers, keep the 16 bits.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-narrow-tiles))' | FileCheck %s

!half = memref<64x32xf16>
!brain = memref<64x32xbf16>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!regs = memref<64x32xf32, #tl.fragment>

gpu.module @kernels {
  // What was converted when it was written is converted when it is read.
  // CHECK-LABEL: gpu.func @through_a_tile(
  // CHECK:         %[[S:.+]] = tl.alloc : memref<64x32xbf16, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %{{.+}} to %[[S]] tile(64, 32) : memref<64x32xbf16> to memref<64x32xbf16, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %[[S]] to %{{.+}} tile(64, 32) : memref<64x32xbf16, #gpu.address_space<workgroup>> to memref<64x32xf32, #tl.fragment>
  gpu.func @through_a_tile(%A: !brain) kernel {
    %s = tl.alloc : !tile
    %f = tl.alloc : !regs
    tl.copy %A to %s tile(64, 32) : !brain to !tile
    tl.copy %s to %f tile(64, 32) : !tile to !regs
    gpu.return
  }

  // Halves of the tile, from and to several places, are no different.
  // CHECK-LABEL: gpu.func @in_parts(
  // CHECK:         tl.alloc : memref<64x32xf16, #gpu.address_space<workgroup>>
  // CHECK:         gpu.return
  gpu.func @in_parts(%A: !half, %B: !half) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %s = tl.alloc : !tile
    %f = tl.alloc : !regs
    tl.copy %A[%c0, %c0] to %s[%c0, %c0] tile(32, 32) : !half to !tile
    tl.copy %B[%c0, %c0] to %s[%c32, %c0] tile(32, 32) : !half to !tile
    tl.copy %s[%c32, %c0] to %f[%c0, %c0] tile(32, 32) : !tile to !regs
    gpu.return
  }

  // Two types are not one.
  // CHECK-LABEL: gpu.func @of_two_types(
  // CHECK:         tl.alloc : memref<64x32xf32, #gpu.address_space<workgroup>>
  gpu.func @of_two_types(%A: !half, %B: !brain) kernel {
    %s = tl.alloc : !tile
    %f = tl.alloc : !regs
    tl.copy %A to %s tile(64, 32) : !half to !tile
    tl.copy %B to %s tile(64, 32) : !brain to !tile
    tl.copy %s to %f tile(64, 32) : !tile to !regs
    gpu.return
  }

  // What else is written may have more bits.
  // CHECK-LABEL: gpu.func @written_back(
  // CHECK:         tl.alloc : memref<64x32xf32, #gpu.address_space<workgroup>>
  gpu.func @written_back(%A: !half) kernel {
    %s = tl.alloc : !tile
    %f = tl.alloc : !regs
    tl.copy %A to %s tile(64, 32) : !half to !tile
    tl.copy %s to %f tile(64, 32) : !tile to !regs
    tl.copy %f to %s tile(64, 32) : !regs to !tile
    gpu.return
  }

  // A product sees the type, and a loop may read an element often.
  // CHECK-LABEL: gpu.func @seen(
  // CHECK-COUNT-2: tl.alloc : memref<64x32xf32, #gpu.address_space<workgroup>>
  gpu.func @seen(%A: !half, %C: memref<64x32xf32>) kernel {
    %s = tl.alloc : !tile
    %t = tl.alloc : !tile
    %acc = tl.alloc : memref<64x64xf32, #tl.fragment>
    tl.copy %A to %s tile(64, 32) : !half to !tile
    tl.gemm %s, %s, %acc transpose_b : !tile, !tile, memref<64x64xf32, #tl.fragment>
    tl.copy %A to %t tile(64, 32) : !half to !tile
    tl.parallel (%i, %j) in (64, 32) {
      %c0 = arith.constant 0 : index
      %x = tl.load %t[%i, %c0] : !tile
      tl.store %x, %C[%i, %j] : memref<64x32xf32>
    }
    gpu.return
  }

  // The program says how it lies, in elements of f32.
  // CHECK-LABEL: gpu.func @with_a_layout(
  // CHECK:         tl.alloc layout({{.+}}) : memref<64x32xf32, #gpu.address_space<workgroup>>
  gpu.func @with_a_layout(%A: !half) kernel {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) : !tile
    %f = tl.alloc : !regs
    tl.copy %A to %s tile(64, 32) : !half to !tile
    tl.copy %s to %f tile(64, 32) : !tile to !regs
    gpu.return
  }
}
