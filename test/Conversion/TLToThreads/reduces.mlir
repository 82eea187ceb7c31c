// Reductions: over a thread's values, the lanes of a warp, and warps, as far as the
// layout spreads the dimension.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @reduces attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Rows within a thread: a tree over its values, and nothing is exchanged.
  // CHECK-LABEL: gpu.func @in_thread(
  // CHECK-COUNT-3: arith.addf
  // CHECK-NOT:     gpu.shuffle
  // CHECK:         memref.store
  gpu.func @in_thread() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [32, 4], thread = [32] : [4], value = [4] : [1]>) : memref<32x4xf32, #tl.fragment>
    %r = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [1] : [1]>) : memref<32xf32, #tl.fragment>
    tl.reduce sum %x to %r dim(1) : memref<32x4xf32, #tl.fragment> to memref<32xf32, #tl.fragment>
    gpu.return
  }

  // Rows over four lanes: a butterfly of two steps. 16-bit floats are combined in f32,
  // and `accumulate` combines with what the target holds.
  // CHECK-LABEL: gpu.func @lanes(
  // CHECK:         arith.extf %{{.+}} : vector<2xf16> to vector<2xf32>
  // CHECK:         arith.maximumf
  // CHECK:         gpu.shuffle xor %{{.+}}, %c1_i32
  // CHECK:         arith.maximumf
  // CHECK:         gpu.shuffle xor %{{.+}}, %c2_i32
  // CHECK:         %[[MAX:.+]] = arith.maximumf
  // CHECK-NOT:     gpu.shuffle
  // CHECK:         %[[OLD:.+]] = arith.extf %{{.+}} : vector<1xf16> to vector<1xf32>
  // CHECK:         %[[BOTH:.+]] = arith.maximumf %[[OLD]], %[[MAX]]
  // CHECK:         arith.truncf %[[BOTH]] : vector<1xf32> to vector<1xf16>
  gpu.func @lanes() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [8, 8], thread = [4, 8] : [2, 8], value = [2] : [1]>) : memref<8x8xf16, #tl.fragment>
    %r = tl.alloc layout(#tl.fragment_layout<shape = [8], thread = [4, 8] : [0, 1], value = [1] : [1]>) : memref<8xf16, #tl.fragment>
    tl.reduce max %x to %r dim(1) accumulate : memref<8x8xf16, #tl.fragment> to memref<8xf16, #tl.fragment>
    gpu.return
  }

  // Rows over two warps: each writes its part to the workspace, and every thread
  // combines the parts after a barrier.
  // CHECK-LABEL: gpu.func @warps(
  // CHECK-COUNT-5: gpu.shuffle xor
  // CHECK:         llvm.store %{{.+}}, %{{.+}} : f32, !llvm.ptr<3>
  // CHECK-NEXT:    gpu.barrier
  // CHECK:         llvm.load %{{.+}} : !llvm.ptr<3> -> f32
  // CHECK:         %[[P1:.+]] = llvm.load %{{.+}} : !llvm.ptr<3> -> f32
  // CHECK:         %[[V1:.+]] = vector.from_elements %[[P1]]
  // CHECK:         arith.addf %{{.+}}, %[[V1]] : vector<1xf32>
  gpu.func @warps() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %w = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) offset(0) : memref<2x1xf32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tl.fragment_layout<shape = [1, 64], thread = [64] : [1], value = [1] : [1]>) : memref<1x64xf32, #tl.fragment>
    %r = tl.alloc layout(#tl.fragment_layout<shape = [1], thread = [64] : [0], value = [1] : [1]>) : memref<1xf32, #tl.fragment>
    tl.reduce sum %x to %r dim(1) workspace(%w : memref<2x1xf32, #gpu.address_space<workgroup>>) : memref<1x64xf32, #tl.fragment> to memref<1xf32, #tl.fragment>
    gpu.return
  }

  // Columns over 50 threads, which shuffles do not reach: what all of these wrote is
  // read in a loop over the threads.
  // CHECK-LABEL: gpu.func @many_parts(
  // CHECK:         gpu.barrier
  // CHECK-COUNT-8: llvm.load %{{.+}} : !llvm.ptr<3> -> f32
  // CHECK:         %[[FIRST:.+]] = vector.from_elements
  // CHECK:         scf.for %[[T:.+]] = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[SUM:.+]] = %[[FIRST]])
  // CHECK-COUNT-8:   llvm.load %{{.+}} : !llvm.ptr<3> -> f32
  // CHECK:           %[[PARTS:.+]] = vector.from_elements
  // CHECK:           %[[NEXT:.+]] = arith.addf %[[SUM]], %[[PARTS]]
  // CHECK:           scf.yield %[[NEXT]]
  gpu.func @many_parts() kernel attributes {known_block_size = array<i32: 77, 1, 1>} {
    %w = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) offset(0) : memref<50x8xf32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tl.fragment_layout<shape = [50, 8], thread = [50] : [8], value = [8] : [1]>) : memref<50x8xf32, #tl.fragment>
    %r = tl.alloc layout(#tl.fragment_layout<shape = [8], thread = [50] : [0], value = [8] : [1]>) : memref<8xf32, #tl.fragment>
    tl.reduce sum %x to %r dim(0) workspace(%w : memref<50x8xf32, #gpu.address_space<workgroup>>) : memref<50x8xf32, #tl.fragment> to memref<8xf32, #tl.fragment>
    gpu.return
  }

  // Padding takes part as the value that changes nothing: the greatest integer for a
  // minimum.
  // CHECK-LABEL: gpu.func @padded(
  // CHECK:         %[[INSIDE:.+]] = arith.cmpi ult, %{{.+}}, %{{.+}} : vector<1xindex>
  // CHECK:         %[[NEUTRAL:.+]] = arith.constant dense<2147483647>
  // CHECK:         %[[MASKED:.+]] = arith.select %[[INSIDE]], %{{.+}}, %[[NEUTRAL]]
  // CHECK:         arith.minsi
  gpu.func @padded() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [1, 32], thread = [32] : [1], value = [1] : [1]>) : memref<1x20xi32, #tl.fragment>
    %r = tl.alloc layout(#tl.fragment_layout<shape = [1], thread = [32] : [0], value = [1] : [1]>) : memref<1xi32, #tl.fragment>
    tl.reduce min %x to %r dim(1) : memref<1x20xi32, #tl.fragment> to memref<1xi32, #tl.fragment>
    gpu.return
  }

  // A fragment that lies in memory: one result after another, of rounds of 16 values.
  // CHECK-LABEL: gpu.func @in_memory(
  // CHECK:         %[[MEMORY:.+]] = llvm.alloca %{{.+}} x f32
  // CHECK:         %[[RESULTS:.+]] = llvm.alloca %{{.+}} x f32
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %c4{{.*}} step
  // CHECK-COUNT-16:  llvm.load %{{.+}} : !llvm.ptr -> f32
  // CHECK:           scf.for %{{.+}} = %c1{{.*}} to %c10{{.*}} step %{{.+}} iter_args
  // CHECK-COUNT-16:    llvm.load %{{.+}} : !llvm.ptr -> f32
  // CHECK-NOT:         llvm.load
  // CHECK:           gpu.shuffle xor
  // CHECK:           llvm.store %{{.+}} : f32, !llvm.ptr
  // CHECK-NOT:     gpu.shuffle
  // CHECK-COUNT-4: llvm.load %{{.+}} : !llvm.ptr -> f32
  // CHECK:         memref.store
  gpu.func @in_memory() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [4, 320], thread = [2, 16] : [1, 0], value = [160, 4] : [2, 320]>) : memref<4x320xf32, #tl.fragment>
    %r = tl.alloc layout(#tl.fragment_layout<shape = [4], thread = [2, 16] : [0, 0], value = [4] : [1]>) : memref<4xf32, #tl.fragment>
    tl.reduce sum %x to %r dim(1) : memref<4x320xf32, #tl.fragment> to memref<4xf32, #tl.fragment>
    gpu.return
  }

  // The parts of several threads are in the workspace, one after another too; padding
  // takes part as what changes nothing.
  // CHECK-LABEL: gpu.func @padded_in_memory(
  // CHECK:         scf.for
  // CHECK:           arith.cmpi ult
  // CHECK:           arith.select
  // CHECK:           llvm.store %{{.+}} : i32, !llvm.ptr<3>
  // CHECK:         gpu.barrier
  // CHECK:         scf.for
  // CHECK:           llvm.load %{{.+}} : !llvm.ptr<3> -> i32
  // CHECK:           scf.for
  // CHECK-COUNT-1:     llvm.load %{{.+}} : !llvm.ptr<3> -> i32
  // CHECK:             arith.minsi
  gpu.func @padded_in_memory() kernel attributes {known_block_size = array<i32: 3, 1, 1>} {
    %w = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) offset(0) : memref<3x4xi32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tl.fragment_layout<shape = [4, 480], thread = [3] : [1], value = [160, 4] : [3, 480]>) : memref<4x478xi32, #tl.fragment>
    %r = tl.alloc layout(#tl.fragment_layout<shape = [4], thread = [3] : [0], value = [4] : [1]>) : memref<4xi32, #tl.fragment>
    tl.reduce min %x to %r dim(1) workspace(%w : memref<3x4xi32, #gpu.address_space<workgroup>>) : memref<4x478xi32, #tl.fragment> to memref<4xi32, #tl.fragment>
    gpu.return
  }
}
