// Descriptors of matrices, where products use them.

// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s

// Descriptors that are the same in all iterations of a loop are kept in registers,
// if they are few. Of many, products make them of the one that they have in common.
// CHECK-LABEL: gpu.module @few
// CHECK-NOT:     .reg .b64 d
gpu.module @few attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @few(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %x: i64 {tl.param = #tl.param<dim, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %mask = arith.constant 16320 : i64
    %fields = arith.constant 4611686293305360384 : i64
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.000000e+00> : vector<4xf32>
    %low = arith.andi %x, %mask : i64
    %a = arith.ori %low, %fields : i64
    %n = arith.trunci %x : i64 to i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<4xf32>) : i32 {
      %d = tl.wgmma bf16 n(8) %a, %a, %acc acc_offsets([0, 0, 0, 0]) a_offsets([0, 2, 4, 6]) b_offsets([0, 2, 4, 6]) : vector<4xf32>
      %done = tl.wgmma_wait 0 (%d : vector<4xf32>)
      scf.yield %done : vector<4xf32>
    }
    llvm.store %sum, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.module @many
// CHECK:         .reg .b64 d{{[0-9]+}};
gpu.module @many attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @many(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %x: i64 {tl.param = #tl.param<dim, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %mask = arith.constant 16320 : i64
    %fields = arith.constant 4611686293305360384 : i64
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zero = arith.constant dense<0.000000e+00> : vector<4xf32>
    %low = arith.andi %x, %mask : i64
    %a = arith.ori %low, %fields : i64
    %n = arith.trunci %x : i64 to i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<4xf32>) : i32 {
      %d = tl.wgmma bf16 n(8) %a, %a, %acc acc_offsets([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) a_offsets([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38]) b_offsets([0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38]) : vector<4xf32>
      %done = tl.wgmma_wait 0 (%d : vector<4xf32>)
      scf.yield %done : vector<4xf32>
    }
    llvm.store %sum, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Descriptors in loops and what threads compute for themselves begin with two
// registers for one address.
// CHECK-LABEL: tl.compiled_kernel @uniform
// CHECK-SAME: mov.u64 [[THREADS:%rd[0-9]+]], tl_shared;
// CHECK-SAME: add.s64 \09%rd{{[0-9]+}}, [[THREADS]], %rd{{[0-9]+}};
// CHECK-SAME: mov.b64 [[WARP:%rd[0-9]+]], tl_shared;
// CHECK-SAME: $L__BB0_2:
// CHECK-SAME: add.s64 \09%rd{{[0-9]+}}, [[WARP]], %rd{{[0-9]+}};
// CHECK-SAME: wgmma.mma_async
gpu.module @uniform attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @uniform(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i32 {tl.param = #tl.param<dim, 0, type = i32>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 4096 : i64} {
    %mask = arith.constant 16320 : i64
    %fields = arith.constant 4611686293305360384 : i64
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i64
    %bytes = arith.constant 1024 : i32
    %zero = arith.constant dense<0.000000e+00> : vector<4xf32>
    %shared = tl.shared_base : !llvm.ptr<3>
    %thread = gpu.thread_id x
    %place = arith.index_cast %thread : index to i32
    %own = llvm.getelementptr %shared[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %c1, %own : i32, !llvm.ptr<3>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<4xf32>) : i32 {
      %offset = arith.muli %i, %bytes : i32
      %tile = llvm.getelementptr %shared[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %address = llvm.ptrtoint %tile : !llvm.ptr<3> to i64
      %units = arith.shrui %address, %c4 : i64
      %low = arith.andi %units, %mask : i64
      %a = arith.ori %low, %fields : i64
      %d = tl.wgmma bf16 n(8) %a, %a, %acc acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
      %done = tl.wgmma_wait 0 (%d : vector<4xf32>)
      scf.yield %done : vector<4xf32>
    }
    llvm.store %sum, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Where many descriptors depend on it, and threads compute a place of their own in the block before the loop, it is made
// in the loop: there it would be one register of threads for both.
// CHECK-LABEL: tl.compiled_kernel @inside
// CHECK-SAME: mov.u64 [[THREADS:%rd[0-9]+]], tl_shared;
// CHECK-SAME: add.s64 \09%rd{{[0-9]+}}, [[THREADS]], %rd{{[0-9]+}};
// CHECK-SAME: $L__BB0_1:
// CHECK-SAME: mov.b64 [[WARP:%rd[0-9]+]], tl_shared;
// CHECK-SAME: add.s64 \09%rd{{[0-9]+}}, %rd{{[0-9]+}}, [[WARP]];
// CHECK-SAME: wgmma.mma_async
gpu.module @inside attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @inside(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 4096 : i64} {
    %mask = arith.constant 16320 : i64
    %fields = arith.constant 4611686293305360384 : i64
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i64
    %n = arith.constant 4096 : i32
    %bytes = arith.constant 1024 : i32
    %zero = arith.constant dense<0.000000e+00> : vector<4xf32>
    %shared = tl.shared_base : !llvm.ptr<3>
    %thread = gpu.thread_id x
    %place = arith.index_cast %thread : index to i32
    %own = llvm.getelementptr %shared[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
    llvm.store %c1, %own : i32, !llvm.ptr<3>
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<4xf32>) : i32 {
      %offset = arith.muli %i, %bytes : i32
      %tile = llvm.getelementptr %shared[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
      %address = llvm.ptrtoint %tile : !llvm.ptr<3> to i64
      %units = arith.shrui %address, %c4 : i64
      %low = arith.andi %units, %mask : i64
      %a = arith.ori %low, %fields : i64
      %d = tl.wgmma bf16 n(8) %a, %a, %acc acc_offsets([0, 0, 0, 0, 0]) a_offsets([0, 2, 4, 6, 8]) b_offsets([0, 2, 4, 6, 8]) : vector<4xf32>
      %done = tl.wgmma_wait 0 (%d : vector<4xf32>)
      scf.yield %done : vector<4xf32>
    }
    llvm.store %sum, %p {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}
