// For the simulator, accesses say which iterations of a parallel loop they are
// of, where two of them may meet.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops{reports=true}))' | FileCheck %s
// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: iterations

#line = #tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>

#rows = #tl.fragment_layout<shape = [32, 2], thread = [32] : [2], value = [2] : [1]>

gpu.module @marks attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Each lane of the vectors is an iteration, and a vector's elements are
  // several.
  // CHECK-LABEL: gpu.func @lanes(
  // CHECK:         tl.begin_iterations [64]
  // CHECK:         %[[FIRST:.+]] = arith.muli %thread_id_x, %c2
  // CHECK:         tl.at_iterations %[[FIRST]]
  // CHECK:         llvm.load {{.*}}tl.iterations = array<i64: 0, 1>{{.*}}} : !llvm.ptr<3> -> vector<2xf32>
  // CHECK:         llvm.store {{.*}}tl.iterations = array<i64: 0, 1>{{.*}}} : vector<2xf32>
  gpu.func @lanes() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %two = arith.constant 2 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 66>) offset(0) : memref<66xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (64) layout(#line) {
      %x = tl.load %s[%i] : memref<66xf32, #gpu.address_space<workgroup>>
      %other = arith.addi %i, %two : index
      tl.store %x, %s[%other] : memref<66xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // One iteration after another: it is said in each round.
  // CHECK-LABEL: gpu.func @one_after_another(
  // CHECK:         tl.begin_iterations [64]
  // CHECK:         scf.for
  // CHECK:           tl.at_iterations
  // CHECK:           scf.while
  // CHECK:           llvm.load {{.*}}tl.iterations = array<i64: 0>{{.*}}} : !llvm.ptr<3> -> i32
  // CHECK:           llvm.store {{.*}}tl.iterations = array<i64: 0>{{.*}}} : i32
  gpu.func @one_after_another(%n: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %one = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) offset(0) : memref<64xi32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (64) layout(#line) {
      %k = arith.index_cast %i : index to i32
      %end = scf.while (%at = %k) : (i32) -> i32 {
        %again = arith.cmpi slt, %at, %n : i32
        scf.condition(%again) %at : i32
      } do {
      ^bb0(%at: i32):
        %next = arith.muli %at, %at : i32
        scf.yield %next : i32
      }
      %x = tl.load %s[%i] : memref<64xi32, #gpu.address_space<workgroup>>
      %y = arith.addi %x, %end : i32
      %other = arith.xori %i, %one : index
      tl.store %y, %s[%other] : memref<64xi32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // Atomic operations too, and not what is only read.
  // CHECK-LABEL: gpu.func @atomics(
  // CHECK:         tl.begin_iterations [64]
  // CHECK-NOT:     llvm.load {{.*}}tl.iterations
  // CHECK:         tl.atom add {{.*}}tl.iterations = array<i64: 0>{{.*}}}
  // CHECK:         tl.atom add {{.*}}tl.iterations = array<i64: 1>{{.*}}}
  gpu.func @atomics() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) offset(0) : memref<64xi32, #gpu.address_space<workgroup>>
    %r = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) offset(256) : memref<64xi32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (64) layout(#line) {
      %x = tl.load %r[%i] : memref<64xi32, #gpu.address_space<workgroup>>
      %old = tl.atomic add %x, %s[%zero] : memref<64xi32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // Registers have no accesses, so that it is said beside them.
  // CHECK-LABEL: gpu.func @registers(
  // CHECK:         tl.begin_iterations [32, 2]
  // CHECK:         tl.touch_fragment "a fragment" 0[%{{.+}}] {tl.iterations = array<i64: 0, 0>}
  // CHECK:         tl.touch_fragment "a fragment" 0[%{{.+}}] {tl.iterations = array<i64: 0, 1>}
  // CHECK:         tl.touch_fragment write "a fragment" 0[%{{.+}}] {tl.iterations = array<i64: 0, 0>}
  // CHECK:         tl.touch_fragment write "a fragment" 0[%{{.+}}] {tl.iterations = array<i64: 0, 1>}
  gpu.func @registers() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %zero = arith.constant 0 : index
    %x = tl.alloc layout(#rows) : memref<32x2xf32, #tl.fragment>
    tl.parallel (%i, %j) in (32, 2) layout(#rows) {
      %v = tl.load %x[%i, %zero] : memref<32x2xf32, #tl.fragment>
      tl.store %v, %x[%i, %j] : memref<32x2xf32, #tl.fragment>
    }
    gpu.return
  }

  // Iterations that name their element by the same indices of their own meet
  // nowhere, and neither do those that write nothing.
  // CHECK-LABEL: gpu.func @each_its_own(
  // CHECK-NOT:     iterations
  gpu.func @each_its_own() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %one = arith.constant 1 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) offset(0) : memref<64xf32, #gpu.address_space<workgroup>>
    %r = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) offset(256) : memref<64xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (64) layout(#line) {
      %x = tl.load %s[%i] : memref<64xf32, #gpu.address_space<workgroup>>
      %other = arith.xori %i, %one : index
      %y = tl.load %r[%other] : memref<64xf32, #gpu.address_space<workgroup>>
      %z = arith.addf %x, %y : f32
      tl.store %z, %s[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }

  // An index that several iterations have in common tells them not apart.
  // CHECK-LABEL: gpu.func @rows(
  // CHECK:         tl.begin_iterations [8, 16]
  // CHECK:         tl.at_iterations %{{.+}}, %{{.+}}
  // CHECK:         llvm.store {{.*}}tl.iterations = array<i64: 0, 0>{{.*}}} : f32
  gpu.func @rows(%x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 64>) offset(0) : memref<64xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (8, 16) layout(#tl.fragment_layout<shape = [8, 16], thread = [4, 8] : [4, 16], value = [4] : [1]>) {
      tl.store %x, %s[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}
