// What a warp's threads give each other is one shuffle of a register; narrow values are widened for it.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts,tl-verify-layouts,tl-lower-tile-ops))' | FileCheck %s

gpu.module @shuffles attributes {tl.target = #tl.target<chip = "sm_80">} {
  // CHECK-LABEL: gpu.func @words(
  // CHECK:         %[[VALUE:.+]] = vector.extract %{{.+}}[0] : f32 from vector<1xf32>
  // CHECK:         %[[LANE:.+]] = vector.extract %{{.+}}[0] : i32 from vector<1xi32>
  // CHECK:         %[[WIDTH:.+]] = arith.constant 32 : i32
  // CHECK:         gpu.shuffle idx %[[VALUE]], %[[LANE]], %[[WIDTH]] : f32
  // CHECK-NOT:     gpu.barrier
  gpu.func @words() kernel attributes {known_block_size = array<i32: 96, 1, 1>} {
    %f = tl.alloc : memref<96xf32, #tl.fragment>
    %l = tl.alloc : memref<96xi32, #tl.fragment>
    tl.shuffle %f, %l to %f : memref<96xf32, #tl.fragment>, memref<96xi32, #tl.fragment>
    gpu.return
  }

  // A vote is one instruction for all lanes; the last warp here has 16.
  // CHECK-LABEL: gpu.func @votes(
  // CHECK:         %[[SAID:.+]] = vector.extract %{{.+}}[0] : i32 from vector<1xi32>
  // CHECK:         %[[YES:.+]] = arith.cmpi ne, %[[SAID]], %{{.+}} : i32
  // CHECK:         %[[ALL:.+]] = arith.constant -1 : i32
  // CHECK:         nvvm.vote.sync ballot %[[ALL]], %[[YES]] -> i32
  // CHECK-NOT:     gpu.barrier
  gpu.func @votes() kernel attributes {known_block_size = array<i32: 48, 1, 1>} {
    %f = tl.alloc : memref<48xi32, #tl.fragment>
    tl.vote %f to %f : memref<48xi32, #tl.fragment>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @halves(
  // CHECK:         %[[BITS:.+]] = arith.bitcast %{{.+}} : bf16 to i16
  // CHECK:         %[[WORD:.+]] = arith.extui %[[BITS]] : i16 to i32
  // CHECK:         %[[MOVED:.+]], %{{.+}} = gpu.shuffle idx %[[WORD]]
  // CHECK:         %[[HALF:.+]] = arith.trunci %[[MOVED]] : i32 to i16
  // CHECK:         arith.bitcast %[[HALF]] : i16 to bf16
  gpu.func @halves() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %f = tl.alloc : memref<32xbf16, #tl.fragment>
    %l = tl.alloc : memref<32xi32, #tl.fragment>
    tl.shuffle %f, %l to %f : memref<32xbf16, #tl.fragment>, memref<32xi32, #tl.fragment>
    gpu.return
  }
}
