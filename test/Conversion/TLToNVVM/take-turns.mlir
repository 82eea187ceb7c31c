// RUN: tl-opt %s --split-input-file --convert-tl-to-nvvm | FileCheck %s

// Two products, a block barrier, and something that is computed from the first one
// beside the second: the first warp group comes to the barrier behind its products,
// the other one before.

// CHECK-LABEL: llvm.func @in_turn
// CHECK:         %[[GROUP:.+]] = llvm.udiv
// CHECK:         %[[FIRST:.+]] = llvm.icmp "eq" %[[GROUP]]
// CHECK:         %[[OTHER:.+]] = llvm.icmp "ne" %[[GROUP]]
// CHECK:         %[[FLAG:.+]] = llvm.zext %[[OTHER]]
// CHECK:         llvm.inline_asm has_side_effects asm_dialect = att "{\0A.reg .pred MINE;\0Asetp.ne.u32 MINE, $0, 0;\0A@MINE bar.sync 2, 256;\0A}", "r,r,~{memory}" %[[FLAG]], %[[GROUP]]
// CHECK-NOT:     bar.
// CHECK:         wgmma.mma_async
// CHECK:         wgmma.mma_async
// CHECK:         %[[FLAG0:.+]] = llvm.zext %[[FIRST]]
// CHECK:         llvm.inline_asm {{.*}}@MINE bar.sync 2, 256;{{.*}} %[[FLAG0]], %[[GROUP]]
// CHECK-NOT:     nvvm.barrier
// CHECK:         wgmma.wait_group.sync.aligned 1;
gpu.module @in_turn attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @in_turn(%n: i32, %da: i64, %db: i64, %p: !llvm.ptr<1>) attributes {known_block_size = array<i32: 256, 1, 1>} {
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %trips = arith.index_cast %n : i32 to index
    %end = scf.for %i = %c0 to %trips step %c1 iter_args(%o = %zero) -> (vector<4xf32>) {
      %s = tl.wgmma f16 n(8) %da, %db, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
      %t = tl.wgmma f16 n(8) %da, %db, %o acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
      gpu.barrier
      %scores = tl.wgmma_wait 1 (%s : vector<4xf32>)
      %f = arith.addf %scores, %scores : vector<4xf32>
      %done = tl.wgmma_wait 0 (%t : vector<4xf32>)
      %next = arith.mulf %f, %done : vector<4xf32>
      scf.yield %next : vector<4xf32>
    }
    llvm.store %end, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Of three groups the third starts when the second has.

// CHECK-LABEL: llvm.func @three_groups
// CHECK:         @MINE bar.sync 3, 384;
// CHECK:         @MINE bar.sync $1, 256;
// CHECK:         wgmma.mma_async
// CHECK:         wgmma.mma_async
// CHECK:         @MINE bar.arrive $1, 256;
// CHECK:         @MINE bar.sync 3, 384;
gpu.module @three_groups attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @three_groups(%n: i32, %da: i64, %db: i64, %p: !llvm.ptr<1>) attributes {known_block_size = array<i32: 384, 1, 1>} {
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %trips = arith.index_cast %n : i32 to index
    %end = scf.for %i = %c0 to %trips step %c1 iter_args(%o = %zero) -> (vector<4xf32>) {
      %s = tl.wgmma f16 n(8) %da, %db, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
      %t = tl.wgmma f16 n(8) %da, %db, %o acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
      gpu.barrier
      %scores = tl.wgmma_wait 1 (%s : vector<4xf32>)
      %f = arith.addf %scores, %scores : vector<4xf32>
      %done = tl.wgmma_wait 0 (%t : vector<4xf32>)
      %next = arith.mulf %f, %done : vector<4xf32>
      scf.yield %next : vector<4xf32>
    }
    llvm.store %end, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Products that only add up have nothing beside them.

// CHECK-LABEL: llvm.func @nothing_beside
// CHECK:         nvvm.barrier
// CHECK-NOT:     bar.
// CHECK:         llvm.return
gpu.module @nothing_beside attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @nothing_beside(%n: i32, %da: i64, %db: i64, %p: !llvm.ptr<1>) attributes {known_block_size = array<i32: 256, 1, 1>} {
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %trips = arith.index_cast %n : i32 to index
    %end:2 = scf.for %i = %c0 to %trips step %c1 iter_args(%o = %zero, %q = %zero) -> (vector<4xf32>, vector<4xf32>) {
      %s = tl.wgmma f16 n(8) %da, %db, %o acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
      %t = tl.wgmma f16 n(8) %da, %db, %q acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
      gpu.barrier
      %done:2 = tl.wgmma_wait 0 (%s, %t : vector<4xf32>, vector<4xf32>)
      scf.yield %done#0, %done#1 : vector<4xf32>, vector<4xf32>
    }
    llvm.store %end#0, %p : vector<4xf32>, !llvm.ptr<1>
    llvm.store %end#1, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// Nor is there a turn to take in a block of one warp group.

// CHECK-LABEL: llvm.func @one_group
// CHECK:         nvvm.barrier
// CHECK-NOT:     bar.
// CHECK:         llvm.return
gpu.module @one_group attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @one_group(%n: i32, %da: i64, %db: i64, %p: !llvm.ptr<1>) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %trips = arith.index_cast %n : i32 to index
    %end = scf.for %i = %c0 to %trips step %c1 iter_args(%o = %zero) -> (vector<4xf32>) {
      %s = tl.wgmma f16 n(8) %da, %db, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
      %t = tl.wgmma f16 n(8) %da, %db, %o acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
      gpu.barrier
      %scores = tl.wgmma_wait 1 (%s : vector<4xf32>)
      %f = arith.addf %scores, %scores : vector<4xf32>
      %done = tl.wgmma_wait 0 (%t : vector<4xf32>)
      %next = arith.mulf %f, %done : vector<4xf32>
      scf.yield %next : vector<4xf32>
    }
    llvm.store %end, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }
}
