// Scans: over a thread's values, the lanes of a warp, and groups of threads, as far as
// the layout spreads the dimension.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @scans attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Rows within a thread: one sum after the other, and nothing is exchanged.
  // CHECK-LABEL: gpu.func @in_thread(
  // CHECK:         %[[A:.+]] = vector.extract %[[ALL:.+]][0]
  // CHECK:         %[[B:.+]] = vector.extract %[[ALL]][1]
  // CHECK:         %[[C:.+]] = vector.extract %[[ALL]][2]
  // CHECK:         %[[AB:.+]] = arith.addf %[[A]], %[[B]] : f32
  // CHECK:         %[[ABC:.+]] = arith.addf %[[AB]], %[[C]] : f32
  // CHECK:         arith.addf %[[ABC]]
  // CHECK-NOT:     arith.addf
  // CHECK-NOT:     gpu.shuffle
  // CHECK:         memref.store
  gpu.func @in_thread() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [32, 4], thread = [32] : [4], value = [4] : [1]>) : memref<32x4xf32, #tl.fragment>
    tl.scan sum %x to %x dim(1) : memref<32x4xf32, #tl.fragment>
    gpu.return
  }

  // Rows over four lanes, an element in each: two steps. 16-bit floats are combined in
  // f32.
  // CHECK-LABEL: gpu.func @lanes(
  // CHECK:         arith.extf
  // CHECK:         gpu.shuffle up %[[X:.+]], %c1_i32
  // CHECK:         %[[MAX:.+]] = arith.maximumf %{{.+}}, %[[X]]
  // CHECK:         %[[Y:.+]] = arith.select %{{.+}}, %[[MAX]], %[[X]]
  // CHECK:         gpu.shuffle up %[[Y]], %c2_i32
  // CHECK:         arith.maximumf
  // CHECK:         arith.select
  // CHECK-NOT:     gpu.shuffle
  // CHECK:         arith.truncf
  gpu.func @lanes() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [8, 4], thread = [4, 8] : [1, 4], value = [] : []>) : memref<8x4xf16, #tl.fragment>
    tl.scan max %x to %x dim(1) : memref<8x4xf16, #tl.fragment>
    gpu.return
  }

  // Two values in each of two lanes, twice: values, lanes, and then what the first half
  // has in all, which its last lane gives. In reverse lanes look down.
  // CHECK-LABEL: gpu.func @halves(
  // CHECK-COUNT-4: gpu.shuffle down
  // CHECK:         %[[LAST:.+]] = arith.andi %{{.+}}, %c-2_i32
  // CHECK:         gpu.shuffle idx %{{.+}}, %[[LAST]]
  // CHECK-NOT:     gpu.shuffle
  // CHECK:         memref.store
  gpu.func @halves() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [16, 8], thread = [2, 16] : [2, 8], value = [2, 2] : [1, 4]>) : memref<16x8xi32, #tl.fragment>
    tl.scan sum %x to %x dim(1) reverse : memref<16x8xi32, #tl.fragment>
    gpu.return
  }

  // Rows over two warps: the last lane of each writes what the warp has in all, and
  // every thread reads that of the first after one barrier.
  // CHECK-LABEL: gpu.func @warps(
  // CHECK-COUNT-5: gpu.shuffle up
  // CHECK:         %[[IS_LAST:.+]] = arith.cmpi eq
  // CHECK:         scf.if %[[IS_LAST]] {
  // CHECK:           llvm.store %{{.+}}, %{{.+}} : f32, !llvm.ptr<3>
  // CHECK:         gpu.barrier
  // CHECK:         llvm.load %{{.+}} : !llvm.ptr<3> -> f32
  // CHECK-NOT:     llvm.load
  // CHECK-NOT:     gpu.barrier
  // CHECK:         gpu.return
  gpu.func @warps() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %w = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) offset(0) : memref<2x1xf32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tl.fragment_layout<shape = [1, 64], thread = [64] : [1], value = [] : []>) : memref<1x64xf32, #tl.fragment>
    tl.scan sum %x to %x dim(1) workspace(%w : memref<2x1xf32, #gpu.address_space<workgroup>>) : memref<1x64xf32, #tl.fragment>
    gpu.return
  }

  // Columns over 50 threads, which shuffles do not reach: what those before wrote is
  // read in a loop.
  // CHECK-LABEL: gpu.func @many_groups(
  // CHECK:         gpu.barrier
  // CHECK:         scf.for {{.*}} iter_args
  // CHECK-COUNT-8:   llvm.load %{{.+}} : !llvm.ptr<3> -> f32
  // CHECK:           scf.yield
  gpu.func @many_groups() kernel attributes {known_block_size = array<i32: 50, 1, 1>} {
    %w = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) offset(0) : memref<50x8xf32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tl.fragment_layout<shape = [50, 8], thread = [50] : [8], value = [8] : [1]>) : memref<50x8xf32, #tl.fragment>
    tl.scan sum %x to %x dim(0) workspace(%w : memref<50x8xf32, #gpu.address_space<workgroup>>) : memref<50x8xf32, #tl.fragment>
    gpu.return
  }

  // In reverse padding comes first, and counts as what changes nothing.
  // CHECK-LABEL: gpu.func @padded(
  // CHECK:         %[[INSIDE:.+]] = arith.cmpi ult
  // CHECK:         %[[NEUTRAL:.+]] = arith.constant -2147483648
  // CHECK:         arith.select %[[INSIDE]], %{{.+}}, %[[NEUTRAL]]
  // CHECK:         gpu.shuffle down
  gpu.func @padded() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [1, 32], thread = [32] : [1], value = [] : []>) : memref<1x20xi32, #tl.fragment>
    tl.scan max %x to %x dim(1) reverse : memref<1x20xi32, #tl.fragment>
    gpu.return
  }
}
