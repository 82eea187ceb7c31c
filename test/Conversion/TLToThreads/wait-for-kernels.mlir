// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-wait-for-kernels,cse,tl-verify-thread-level))' | FileCheck %s

gpu.module @m attributes {tl.dependent, tl.target = #tl.target<chip = "sm_90a">} {
  // A kernel waits before its first load, and not before that. Then the next one
  // may come: not sooner, for it may read, before a wait of its own, what kernels
  // before this one wrote.
  // CHECK-LABEL: gpu.func @loads
  // CHECK-NOT:  griddepcontrol
  // CHECK:      gpu.thread_id
  // CHECK:      llvm.store {{.*}} !llvm.ptr<3>
  // CHECK:      nvvm.griddepcontrol wait
  // CHECK-NEXT: nvvm.griddepcontrol launch_dependents
  // CHECK-NEXT: llvm.load {{.*}} !llvm.ptr<1>
  // CHECK-NOT:  griddepcontrol
  gpu.func @loads(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 128 : i64} {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i32
    %s = tl.shared_base : !llvm.ptr<3>
    llvm.store %i, %s : i32, !llvm.ptr<3>
    %x = llvm.load %p : !llvm.ptr<1> -> i32
    llvm.store %x, %s : i32, !llvm.ptr<3>
    gpu.return
  }

  // All threads wait, also where only some of them would have loaded.
  // CHECK-LABEL: gpu.func @some_load
  // CHECK:      nvvm.griddepcontrol wait
  // CHECK-NEXT: nvvm.griddepcontrol launch_dependents
  // CHECK-NEXT: scf.if
  gpu.func @some_load(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant 0 : index
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %zero : index
    scf.if %first {
      %x = llvm.load %p : !llvm.ptr<1> -> i32
      llvm.store %x, %p : i32, !llvm.ptr<1>
    }
    gpu.return
  }

  // A kernel that touches nothing waits too: whoever waits for it relies on
  // that.
  // CHECK-LABEL: gpu.func @nothing
  // CHECK:      nvvm.griddepcontrol wait
  // CHECK-NEXT: nvvm.griddepcontrol launch_dependents
  // CHECK-NEXT: gpu.return
  gpu.func @nothing() kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    gpu.return
  }
}

gpu.module @n attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // A kernel that is not launched early has nothing to wait for.
  // CHECK-LABEL: gpu.func @late
  // CHECK-NEXT: gpu.return
  gpu.func @late() kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    gpu.return
  }
}
