// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-prefetch-maps,tl-wait-for-kernels,cse,tl-verify-thread-level))' | FileCheck %s

gpu.module @m attributes {tl.dependent, tl.target = #tl.target<chip = "sm_90a">} {
  // One thread asks for the maps, and for nothing else, before all threads wait.
  // CHECK-LABEL: gpu.func @maps
  // CHECK-SAME:  (%[[A:.*]]: !llvm.ptr {{.*}}, %{{.*}}: !llvm.ptr<1> {{.*}}, %[[B:.*]]: !llvm.ptr
  // CHECK:      %[[T:.*]] = gpu.thread_id x
  // CHECK:      %[[FIRST:.*]] = arith.cmpi eq, %[[T]], %c0
  // CHECK-NEXT: scf.if %[[FIRST]] {
  // CHECK-NEXT:   nvvm.prefetch tensormap in_param_space, %[[A]] : !llvm.ptr
  // CHECK-NEXT:   nvvm.prefetch tensormap in_param_space, %[[B]] : !llvm.ptr
  // CHECK-NEXT: }
  // CHECK:      nvvm.griddepcontrol wait
  // CHECK:      llvm.load
  gpu.func @maps(
      %a: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 64], swizzle = 128, type = f16>},
      %p: !llvm.ptr<1> {tl.param = #tl.param<base, 1>},
      %b: !llvm.ptr {tl.param = #tl.param<tensor_map, 2, box = [64, 64], swizzle = 128, type = f16>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 128 : i64} {
    %x = llvm.load %p : !llvm.ptr<1> -> i32
    llvm.store %x, %p : i32, !llvm.ptr<1>
    gpu.return
  }

  // Of 2048 blocks of 256 threads most find the maps in the cache.
  // CHECK-LABEL: gpu.func @many_blocks
  // CHECK-NOT:   nvvm.prefetch
  // CHECK:       nvvm.griddepcontrol wait
  gpu.func @many_blocks(
      %a: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 64], swizzle = 128, type = f16>}) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, tl.grid_limit = array<i64: 64, 32, 1>, tl.shared = 128 : i64} {
    gpu.return
  }

  // CHECK-LABEL: gpu.func @some_blocks
  // CHECK:       nvvm.prefetch
  gpu.func @some_blocks(
      %a: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 64], swizzle = 128, type = f16>}) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, tl.grid_limit = array<i64: 32, 32, 1>, tl.shared = 128 : i64} {
    gpu.return
  }

  // CHECK-LABEL: gpu.func @any_blocks
  // CHECK:       nvvm.prefetch
  gpu.func @any_blocks(
      %a: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 64], swizzle = 128, type = f16>}) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, tl.grid_limit = array<i64: 2147483647, 65535, 1>, tl.shared = 128 : i64} {
    gpu.return
  }

  // CHECK-LABEL: gpu.func @no_maps
  // CHECK-NOT:   nvvm.prefetch
  // CHECK-NOT:   scf.if
  // CHECK:       nvvm.griddepcontrol wait
  gpu.func @no_maps(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 128 : i64} {
    %x = llvm.load %p : !llvm.ptr<1> -> i32
    llvm.store %x, %p : i32, !llvm.ptr<1>
    gpu.return
  }
}
