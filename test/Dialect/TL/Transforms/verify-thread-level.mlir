// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level))' | FileCheck %s

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Branches that whole warps, whole warp groups or all threads take together.
  // CHECK-LABEL: gpu.func @together
  gpu.func @together(%x: i32 {tl.param = #tl.param<scalar, 0>}, %p: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, tl.shared = 0 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %all = arith.constant 32 : i32
    %thread = gpu.thread_id x
    %block = gpu.block_id x

    %firstHalf = arith.cmpi ult, %thread, %c128 : index
    scf.if %firstHalf {
      tl.wgmma_wait 0
    }

    // The number of the warp, which lane 0 gives all others.
    %own = arith.divui %thread, %c32 : index
    %number = arith.index_cast %own : index to i32
    %given, %valid = gpu.shuffle idx %number, %zero, %all : i32
    %warp = arith.index_cast %given : i32 to index
    %group = arith.divui %warp, %c4 : index
    %isFirst = arith.cmpi eq, %group, %c0 : index
    scf.if %isFirst {
      tl.wgmma_wait 0
    }
    scf.for %i = %c0 to %warp step %c1 {
      %y, %in = gpu.shuffle xor %x, %one, %all : i32
    }

    // What all threads read at one address.
    %n = llvm.load %p : !llvm.ptr<1> -> i32
    %bound = arith.index_cast %n : i32 to index
    %sum = scf.for %i = %block to %bound step %c1 iter_args(%at = %c0) -> (index) {
      gpu.barrier
      %next = arith.addi %at, %i : index
      scf.yield %next : index
    }
    %some = arith.cmpi ult, %sum, %c4 : index
    scf.if %some {
      gpu.barrier
    }

    // Nothing that threads do together.
    %isOne = arith.cmpi eq, %thread, %c0 : index
    scf.if %isOne {
      llvm.store %x, %p : i32, !llvm.ptr<1>
    }
    gpu.return
  }

  // A block of one warp has no other threads.
  // CHECK-LABEL: gpu.func @small
  gpu.func @small() kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %c32 = arith.constant 32 : index
    %thread = gpu.thread_id x
    %isInside = arith.cmpi ult, %thread, %c32 : index
    scf.if %isInside {
      gpu.barrier
    }
    gpu.return
  }
}
