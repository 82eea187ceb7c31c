// RUN: tl-opt %s --split-input-file --convert-tl-to-nvvm | FileCheck %s

// A loop of products that may not run: the wait behind it is only where it ran,
// and control comes together behind the wait.

// CHECK-LABEL: llvm.func @may_not_run
// CHECK:         llvm.icmp "sgt" %arg0
// CHECK-NEXT:    llvm.cond_br %{{.+}}, ^{{.+}}, ^[[NEVER:bb[0-9]+]]
// CHECK:         wgmma.mma_async
// CHECK:         wgmma.wait_group.sync.aligned 0;
// CHECK:         llvm.br ^[[END:bb[0-9]+]](
// CHECK:       ^[[NEVER]]:{{.*}}
// CHECK-NEXT:    llvm.br ^[[END]](
// CHECK-NOT:     wait_group
gpu.module @may_not_run attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @may_not_run(%n: i32, %da: i64, %db: i64, %p: !llvm.ptr<1>) {
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %trips = arith.index_cast %n : i32 to index
    %acc = scf.for %i = %c0 to %trips step %c1 iter_args(%c = %zero) -> (vector<32xf32>) {
      %d = tl.wgmma f16 n(64) %da, %db, %c acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<32xf32>
      scf.yield %d : vector<32xf32>
    }
    %done = tl.wgmma_wait 0 (%acc : vector<32xf32>)
    llvm.store %done, %p : vector<32xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// One that is known to run needs no other way to the wait.

// CHECK-LABEL: llvm.func @runs
// CHECK:         wgmma.wait_group.sync.aligned 0;
// CHECK-NOT:     llvm.br
// CHECK:         llvm.return
gpu.module @runs attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @runs(%da: i64, %db: i64, %p: !llvm.ptr<1>) {
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %acc = scf.for %i = %c0 to %c4 step %c1 iter_args(%c = %zero) -> (vector<32xf32>) {
      %d = tl.wgmma f16 n(64) %da, %db, %c acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<32xf32>
      scf.yield %d : vector<32xf32>
    }
    %done = tl.wgmma_wait 0 (%acc : vector<32xf32>)
    llvm.store %done, %p : vector<32xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// What was under way before the loop is waited for in any case.

// CHECK-LABEL: llvm.func @under_way_before
// CHECK-COUNT-2: wgmma.mma_async
// CHECK:         wgmma.wait_group.sync.aligned 0;
// CHECK-NOT:     llvm.br
// CHECK:         llvm.return
gpu.module @under_way_before attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @under_way_before(%n: i32, %da: i64, %db: i64, %p: !llvm.ptr<1>) {
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %trips = arith.index_cast %n : i32 to index
    %first = tl.wgmma f16 n(64) %da, %db, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<32xf32>
    %acc = scf.for %i = %c0 to %trips step %c1 iter_args(%c = %first) -> (vector<32xf32>) {
      %d = tl.wgmma f16 n(64) %da, %db, %c acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<32xf32>
      scf.yield %d : vector<32xf32>
    }
    %done = tl.wgmma_wait 0 (%acc : vector<32xf32>)
    llvm.store %done, %p : vector<32xf32>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// So is what the wait is for besides.

// CHECK-LABEL: llvm.func @for_others_too
// CHECK-COUNT-2: wgmma.mma_async
// CHECK:         wgmma.wait_group.sync.aligned 0;
// CHECK-NOT:     llvm.br
// CHECK:         llvm.return
gpu.module @for_others_too attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @for_others_too(%n: i32, %da: i64, %db: i64, %p: !llvm.ptr<1>) {
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %trips = arith.index_cast %n : i32 to index
    %other = tl.wgmma f16 n(64) %da, %db, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<32xf32>
    %acc = scf.for %i = %c0 to %trips step %c1 iter_args(%c = %zero) -> (vector<32xf32>) {
      %d = tl.wgmma f16 n(64) %da, %db, %c acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<32xf32>
      scf.yield %d : vector<32xf32>
    }
    %done:2 = tl.wgmma_wait 0 (%acc, %other : vector<32xf32>, vector<32xf32>)
    %sum = arith.addf %done#0, %done#1 : vector<32xf32>
    llvm.store %sum, %p : vector<32xf32>, !llvm.ptr<1>
    gpu.return
  }
}
