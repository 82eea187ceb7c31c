// A loop that loads from device memory and computes is to have loads of several
// steps under way.

// RUN: tl-opt %s --tl-unroll-loads | FileCheck %s

// CHECK-DAG: #[[EIGHT:.+]] = #llvm.loop_unroll<count = 8 : i32>
// CHECK-DAG: #[[EIGHT_STEPS:.+]] = #llvm.loop_annotation<unroll = #[[EIGHT]]>
// CHECK-DAG: #[[THREE:.+]] = #llvm.loop_unroll<count = 3 : i32>
// CHECK-DAG: #[[THREE_STEPS:.+]] = #llvm.loop_annotation<unroll = #[[THREE]]>
// CHECK-DAG: #[[SIXTEEN:.+]] = #llvm.loop_unroll<count = 16 : i32>
// CHECK-DAG: #[[SIXTEEN_STEPS:.+]] = #llvm.loop_annotation<unroll = #[[SIXTEEN]]>
#rolled = #llvm.loop_annotation<unroll = <disable = true>>

// CHECK-LABEL: gpu.func @sums
gpu.module @sums {
  gpu.func @sums(%A: !llvm.ptr<1>, %S: !llvm.ptr<3>, %n: index, %out: !llvm.ptr<1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %c16 = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32
    %none = arith.constant dense<0.0> : vector<8xf32>

    // CHECK: scf.for
    // CHECK: {llvm.loop_annotation = #[[EIGHT_STEPS]]}
    %few = scf.for %k = %c0 to %c16 step %c1 iter_args(%sum = %zero) -> f32 {
      %x = llvm.load %A : !llvm.ptr<1> -> f32
      %y = arith.addf %sum, %x : f32
      scf.yield %y : f32
    }
    // Four steps would be 128 bytes, and nine are no multiple.
    // CHECK: scf.for
    // CHECK: {llvm.loop_annotation = #[[THREE_STEPS]]}
    %many = scf.for %k = %c0 to %c9 step %c1 iter_args(%sum = %none) -> vector<8xf32> {
      %x = llvm.load %A : !llvm.ptr<1> -> vector<8xf32>
      %y = arith.addf %sum, %x : vector<8xf32>
      scf.yield %y : vector<8xf32>
    }
    // Shared memory is other memory, which loads of device memory pass.
    // CHECK: scf.for
    // CHECK: {llvm.loop_annotation = #[[EIGHT_STEPS]]}
    scf.for %k = %c0 to %c16 step %c1 {
      %x = llvm.load %A : !llvm.ptr<1> -> f32
      %y = llvm.load %S : !llvm.ptr<3> -> f32
      %z = arith.mulf %x, %y : f32
      llvm.store %z, %S : f32, !llvm.ptr<3>
    }
    // A number of steps that nobody knows; loads of shared memory; what others
    // see; one that is marked.
    // CHECK-NOT: #[[EIGHT_STEPS]]}
    // CHECK-NOT: #[[THREE_STEPS]]}
    %unknown = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> f32 {
      %x = llvm.load %A : !llvm.ptr<1> -> f32
      %y = arith.addf %sum, %x : f32
      scf.yield %y : f32
    }
    %shared = scf.for %k = %c0 to %c16 step %c1 iter_args(%sum = %zero) -> f32 {
      %x = llvm.load %S : !llvm.ptr<3> -> f32
      %y = arith.addf %sum, %x : f32
      scf.yield %y : f32
    }
    scf.for %k = %c0 to %c16 step %c1 {
      %x = llvm.load %A : !llvm.ptr<1> -> f32
      llvm.store %x, %out : f32, !llvm.ptr<1>
    }
    scf.for %k = %c0 to %c16 step %c1 {
      %x = llvm.load %A : !llvm.ptr<1> -> f32
    } {llvm.loop_annotation = #rolled}
    llvm.store %few, %out : f32, !llvm.ptr<1>
    llvm.store %many, %out : vector<8xf32>, !llvm.ptr<1>
    llvm.store %unknown, %out : f32, !llvm.ptr<1>
    llvm.store %shared, %out : f32, !llvm.ptr<1>
    gpu.return
  }

  // A step alone leaves the four warps of a block nothing to do meanwhile.
  // CHECK-LABEL: gpu.func @chains
  gpu.func @chains(%A: !llvm.ptr<1>, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    // CHECK: scf.for
    // CHECK: {llvm.loop_annotation = #[[EIGHT_STEPS]]}
    scf.for %k = %c0 to %c16 step %c1 {
      %x1 = arith.muli %n, %k : index
      %x2 = arith.muli %x1, %k : index
      %x3 = arith.muli %x2, %k : index
      %x4 = arith.muli %x3, %k : index
      %x5 = arith.muli %x4, %k : index
      %x6 = arith.muli %x5, %k : index
      %x7 = arith.muli %x6, %k : index
      %x8 = arith.muli %x7, %k : index
      %x9 = arith.muli %x8, %k : index
      %x10 = arith.muli %x9, %k : index
      %x11 = arith.muli %x10, %k : index
      %x12 = arith.muli %x11, %k : index
      %x13 = arith.muli %x12, %k : index
      %x14 = arith.muli %x13, %k : index
      %x15 = arith.muli %x14, %k : index
      %x16 = arith.muli %x15, %k : index
      %x17 = arith.muli %x16, %k : index
      %x18 = arith.muli %x17, %k : index
      %x19 = arith.muli %x18, %k : index
      %x20 = arith.muli %x19, %k : index
      %x21 = arith.muli %x20, %k : index
      %x22 = arith.muli %x21, %k : index
      %x23 = arith.muli %x22, %k : index
      %x24 = arith.muli %x23, %k : index
      %x25 = arith.muli %x24, %k : index
      %x26 = arith.muli %x25, %k : index
      %x27 = arith.muli %x26, %k : index
      %x28 = arith.muli %x27, %k : index
      %x29 = arith.muli %x28, %k : index
      %x30 = arith.muli %x29, %k : index
      %x31 = arith.muli %x30, %k : index
      %x32 = arith.muli %x31, %k : index
      %y = arith.index_cast %x32 : index to i32
      llvm.store %y, %A : i32, !llvm.ptr<1>
    } {llvm.loop_annotation = #rolled}
    // A loop around it, through which addresses of all would be kept; and one
    // whose steps wait for each other.
    // CHECK-NOT: #[[EIGHT_STEPS]]}
    scf.for %i = %c0 to %n step %c1 {
      scf.for %k = %c0 to %c16 step %c1 {
      %x1 = arith.muli %n, %k : index
      %x2 = arith.muli %x1, %k : index
      %x3 = arith.muli %x2, %k : index
      %x4 = arith.muli %x3, %k : index
      %x5 = arith.muli %x4, %k : index
      %x6 = arith.muli %x5, %k : index
      %x7 = arith.muli %x6, %k : index
      %x8 = arith.muli %x7, %k : index
      %x9 = arith.muli %x8, %k : index
      %x10 = arith.muli %x9, %k : index
      %x11 = arith.muli %x10, %k : index
      %x12 = arith.muli %x11, %k : index
      %x13 = arith.muli %x12, %k : index
      %x14 = arith.muli %x13, %k : index
      %x15 = arith.muli %x14, %k : index
      %x16 = arith.muli %x15, %k : index
      %x17 = arith.muli %x16, %k : index
      %x18 = arith.muli %x17, %k : index
      %x19 = arith.muli %x18, %k : index
      %x20 = arith.muli %x19, %k : index
      %x21 = arith.muli %x20, %k : index
      %x22 = arith.muli %x21, %k : index
      %x23 = arith.muli %x22, %k : index
      %x24 = arith.muli %x23, %k : index
      %x25 = arith.muli %x24, %k : index
      %x26 = arith.muli %x25, %k : index
      %x27 = arith.muli %x26, %k : index
      %x28 = arith.muli %x27, %k : index
      %x29 = arith.muli %x28, %k : index
      %x30 = arith.muli %x29, %k : index
      %x31 = arith.muli %x30, %k : index
      %x32 = arith.muli %x31, %k : index
      %y = arith.index_cast %x32 : index to i32
      llvm.store %y, %A : i32, !llvm.ptr<1>
      }
    }
    %last = scf.for %k = %c0 to %c16 step %c1 iter_args(%from = %c0) -> index {
      %x1 = arith.muli %from, %k : index
      %x2 = arith.muli %x1, %k : index
      %x3 = arith.muli %x2, %k : index
      %x4 = arith.muli %x3, %k : index
      %x5 = arith.muli %x4, %k : index
      %x6 = arith.muli %x5, %k : index
      %x7 = arith.muli %x6, %k : index
      %x8 = arith.muli %x7, %k : index
      %x9 = arith.muli %x8, %k : index
      %x10 = arith.muli %x9, %k : index
      %x11 = arith.muli %x10, %k : index
      %x12 = arith.muli %x11, %k : index
      %x13 = arith.muli %x12, %k : index
      %x14 = arith.muli %x13, %k : index
      %x15 = arith.muli %x14, %k : index
      %x16 = arith.muli %x15, %k : index
      %x17 = arith.muli %x16, %k : index
      %x18 = arith.muli %x17, %k : index
      %x19 = arith.muli %x18, %k : index
      %x20 = arith.muli %x19, %k : index
      %x21 = arith.muli %x20, %k : index
      %x22 = arith.muli %x21, %k : index
      %x23 = arith.muli %x22, %k : index
      %x24 = arith.muli %x23, %k : index
      %x25 = arith.muli %x24, %k : index
      %x26 = arith.muli %x25, %k : index
      %x27 = arith.muli %x26, %k : index
      %x28 = arith.muli %x27, %k : index
      %x29 = arith.muli %x28, %k : index
      %x30 = arith.muli %x29, %k : index
      %x31 = arith.muli %x30, %k : index
      %x32 = arith.muli %x31, %k : index
      %y = arith.index_cast %x32 : index to i32
      llvm.store %y, %A : i32, !llvm.ptr<1>
      scf.yield %x32 : index
    }
    gpu.return
  }

  // All steps if what they store are numbers then: of the index, and of the only
  // block that there is.
  // CHECK-LABEL: gpu.func @numbers
  // CHECK: #[[SIXTEEN_STEPS]]}
  gpu.func @numbers(%A: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.grid_limit = array<i64: 1, 8, 8>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %only = gpu.block_id x
    scf.for %k = %c0 to %c16 step %c1 {
      %x1 = arith.muli %only, %k : index
      %x2 = arith.muli %x1, %k : index
      %x3 = arith.muli %x2, %k : index
      %x4 = arith.muli %x3, %k : index
      %x5 = arith.muli %x4, %k : index
      %x6 = arith.muli %x5, %k : index
      %x7 = arith.muli %x6, %k : index
      %x8 = arith.muli %x7, %k : index
      %x9 = arith.muli %x8, %k : index
      %x10 = arith.muli %x9, %k : index
      %x11 = arith.muli %x10, %k : index
      %x12 = arith.muli %x11, %k : index
      %x13 = arith.muli %x12, %k : index
      %x14 = arith.muli %x13, %k : index
      %x15 = arith.muli %x14, %k : index
      %x16 = arith.muli %x15, %k : index
      %x17 = arith.muli %x16, %k : index
      %x18 = arith.muli %x17, %k : index
      %x19 = arith.muli %x18, %k : index
      %x20 = arith.muli %x19, %k : index
      %x21 = arith.muli %x20, %k : index
      %x22 = arith.muli %x21, %k : index
      %x23 = arith.muli %x22, %k : index
      %x24 = arith.muli %x23, %k : index
      %x25 = arith.muli %x24, %k : index
      %x26 = arith.muli %x25, %k : index
      %x27 = arith.muli %x26, %k : index
      %x28 = arith.muli %x27, %k : index
      %x29 = arith.muli %x28, %k : index
      %x30 = arith.muli %x29, %k : index
      %x31 = arith.muli %x30, %k : index
      %x32 = arith.muli %x31, %k : index
      %y = arith.index_cast %x32 : index to i32
      %at = llvm.getelementptr %A[%y] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %y, %at : i32, !llvm.ptr<1>
    }
    gpu.return
  }

  // Not of one of several.
  // CHECK-LABEL: gpu.func @no_numbers
  // CHECK: #[[EIGHT_STEPS]]}
  gpu.func @no_numbers(%A: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.grid_limit = array<i64: 1, 8, 8>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %one_of = gpu.block_id y
    scf.for %k = %c0 to %c16 step %c1 {
      %x1 = arith.muli %one_of, %k : index
      %x2 = arith.muli %x1, %k : index
      %x3 = arith.muli %x2, %k : index
      %x4 = arith.muli %x3, %k : index
      %x5 = arith.muli %x4, %k : index
      %x6 = arith.muli %x5, %k : index
      %x7 = arith.muli %x6, %k : index
      %x8 = arith.muli %x7, %k : index
      %x9 = arith.muli %x8, %k : index
      %x10 = arith.muli %x9, %k : index
      %x11 = arith.muli %x10, %k : index
      %x12 = arith.muli %x11, %k : index
      %x13 = arith.muli %x12, %k : index
      %x14 = arith.muli %x13, %k : index
      %x15 = arith.muli %x14, %k : index
      %x16 = arith.muli %x15, %k : index
      %x17 = arith.muli %x16, %k : index
      %x18 = arith.muli %x17, %k : index
      %x19 = arith.muli %x18, %k : index
      %x20 = arith.muli %x19, %k : index
      %x21 = arith.muli %x20, %k : index
      %x22 = arith.muli %x21, %k : index
      %x23 = arith.muli %x22, %k : index
      %x24 = arith.muli %x23, %k : index
      %x25 = arith.muli %x24, %k : index
      %x26 = arith.muli %x25, %k : index
      %x27 = arith.muli %x26, %k : index
      %x28 = arith.muli %x27, %k : index
      %x29 = arith.muli %x28, %k : index
      %x30 = arith.muli %x29, %k : index
      %x31 = arith.muli %x30, %k : index
      %x32 = arith.muli %x31, %k : index
      %y = arith.index_cast %x32 : index to i32
      llvm.store %y, %A : i32, !llvm.ptr<1>
    }
    gpu.return
  }

  // With as many warps again there is.
  // CHECK-LABEL: gpu.func @many_warps
  // CHECK-NOT: #[[EIGHT_STEPS]]}
  gpu.func @many_warps(%A: !llvm.ptr<1>) kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    scf.for %k = %c0 to %c16 step %c1 {
      %x1 = arith.muli %k, %k : index
      %x2 = arith.muli %x1, %k : index
      %x3 = arith.muli %x2, %k : index
      %x4 = arith.muli %x3, %k : index
      %x5 = arith.muli %x4, %k : index
      %x6 = arith.muli %x5, %k : index
      %x7 = arith.muli %x6, %k : index
      %x8 = arith.muli %x7, %k : index
      %x9 = arith.muli %x8, %k : index
      %x10 = arith.muli %x9, %k : index
      %x11 = arith.muli %x10, %k : index
      %x12 = arith.muli %x11, %k : index
      %x13 = arith.muli %x12, %k : index
      %x14 = arith.muli %x13, %k : index
      %x15 = arith.muli %x14, %k : index
      %x16 = arith.muli %x15, %k : index
      %x17 = arith.muli %x16, %k : index
      %x18 = arith.muli %x17, %k : index
      %x19 = arith.muli %x18, %k : index
      %x20 = arith.muli %x19, %k : index
      %x21 = arith.muli %x20, %k : index
      %x22 = arith.muli %x21, %k : index
      %x23 = arith.muli %x22, %k : index
      %x24 = arith.muli %x23, %k : index
      %x25 = arith.muli %x24, %k : index
      %x26 = arith.muli %x25, %k : index
      %x27 = arith.muli %x26, %k : index
      %x28 = arith.muli %x27, %k : index
      %x29 = arith.muli %x28, %k : index
      %x30 = arith.muli %x29, %k : index
      %x31 = arith.muli %x30, %k : index
      %x32 = arith.muli %x31, %k : index
      %y = arith.index_cast %x32 : index to i32
      llvm.store %y, %A : i32, !llvm.ptr<1>
    }
    gpu.return
  }

  // What loads comes before all changes of shared memory, in its branch.
  // CHECK-LABEL: gpu.func @counted
  // CHECK-SAME:      (%[[A:[^:]+]]: !llvm.ptr<1>, %[[S:[^:]+]]: !llvm.ptr<3>
  gpu.func @counted(%A: !llvm.ptr<1>, %S: !llvm.ptr<3>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %none = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // CHECK:         %[[FIRST:.+]] = scf.if
    // CHECK:           llvm.load %{{.+}} : !llvm.ptr<1> -> i32
    // CHECK:         %[[AT_FIRST:.+]] = llvm.getelementptr %[[S]][%[[FIRST]]]
    // CHECK:         %[[SECOND:.+]] = scf.if
    // CHECK:           llvm.load %{{.+}} : !llvm.ptr<1> -> i32
    // CHECK:         %[[AT_SECOND:.+]] = llvm.getelementptr %[[S]][%[[SECOND]]]
    // CHECK:         scf.if
    // CHECK:           tl.atom add %[[AT_FIRST]],
    // CHECK:         scf.if
    // CHECK:           tl.atom add %[[AT_SECOND]],
    // CHECK-NOT:     scf.for
    scf.for %k = %c0 to %c2 step %c1 {
      %number = arith.index_cast %k : index to i32
      %exists = arith.cmpi slt, %number, %n : i32
      %x = scf.if %exists -> i32 {
        %from = llvm.getelementptr %A[%number] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
        %loaded = llvm.load %from : !llvm.ptr<1> -> i32
        scf.yield %loaded : i32
      } else {
        scf.yield %none : i32
      }
      %at = llvm.getelementptr %S[%x] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      scf.if %exists {
        %old = tl.atom add %at, %one : <3>, i32
      }
    }
    gpu.return
  }

  // A barrier, an order, a change of device memory, one that the next load
  // needs, and more steps than eight.
  // CHECK-LABEL: gpu.func @in_order
  // CHECK-COUNT-5: scf.for
  gpu.func @in_order(%A: !llvm.ptr<1>, %S: !llvm.ptr<3>, %one: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c9 = arith.constant 9 : index
    scf.for %k = %c0 to %c2 step %c1 {
      gpu.barrier
      %x = llvm.load %A : !llvm.ptr<1> -> i32
      llvm.store %x, %S : i32, !llvm.ptr<3>
    }
    scf.for %k = %c0 to %c2 step %c1 {
      %x = llvm.load %A : !llvm.ptr<1> -> i32
      %old = tl.atom add %S, %x order(acquire) : <3>, i32
    }
    scf.for %k = %c0 to %c2 step %c1 {
      %x = llvm.load %A : !llvm.ptr<1> -> i32
      llvm.store %one, %A : i32, !llvm.ptr<1>
      %old = tl.atom add %S, %x : <3>, i32
    }
    scf.for %k = %c0 to %c2 step %c1 {
      %old = tl.atom add %S, %one : <3>, i32
      %at = llvm.getelementptr %A[%old] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %x = llvm.load %at : !llvm.ptr<1> -> i32
      llvm.store %x, %S : i32, !llvm.ptr<3>
    }
    scf.for %k = %c0 to %c9 step %c1 {
      %x = llvm.load %A : !llvm.ptr<1> -> i32
      llvm.store %x, %S : i32, !llvm.ptr<3>
    }
    gpu.return
  }

  // What the kernel only reads it loads before barriers, too, and before what it
  // writes. Carried values go from step to step.
  // CHECK-LABEL: gpu.func @only_read
  // CHECK-SAME:      (%[[A:[^:]+]]: !llvm.ptr<1>, %[[B:[^:]+]]: !llvm.ptr<1>
  gpu.func @only_read(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %S: !llvm.ptr<3>, %first: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    // CHECK:         %[[X0:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> i32
    // CHECK:         %[[X1:.+]] = llvm.load %{{.+}} : !llvm.ptr<1> -> i32
    // CHECK:         gpu.barrier
    // CHECK-NEXT:    %[[OLD0:.+]] = tl.atom add %{{.+}}, %[[X0]]
    // CHECK-NEXT:    %[[SUM0:.+]] = arith.addi %[[OLD0]], %{{.+}} : i32
    // CHECK-NEXT:    llvm.store %[[SUM0]], %[[B]]
    // CHECK-NEXT:    gpu.barrier
    // CHECK-NEXT:    %[[OLD1:.+]] = tl.atom add %{{.+}}, %[[X1]]
    // CHECK-NEXT:    %[[SUM1:.+]] = arith.addi %[[OLD1]], %[[SUM0]] : i32
    // CHECK-NEXT:    llvm.store %[[SUM1]], %[[B]]
    // CHECK-NEXT:    llvm.store %[[SUM1]], %{{.+}} : i32, !llvm.ptr<3>
    %last = scf.for %k = %c0 to %c2 step %c1 iter_args(%sum = %first) -> i32 {
      gpu.barrier
      %number = arith.index_cast %k : index to i32
      %from = llvm.getelementptr %A[%number] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      %x = llvm.load %from : !llvm.ptr<1> -> i32
      %old = tl.atom add %S, %x : <3>, i32
      %next = arith.addi %old, %sum : i32
      llvm.store %next, %B : i32, !llvm.ptr<1>
      scf.yield %next : i32
    }
    llvm.store %last, %S : i32, !llvm.ptr<3>
    gpu.return
  }

  // Not if the kernel writes there, or who knows where, or acquires what others
  // have written.
  // CHECK-LABEL: gpu.func @written_behind
  // CHECK:         scf.for
  gpu.func @written_behind(%A: !llvm.ptr<1>, %S: !llvm.ptr<3>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    scf.for %k = %c0 to %c2 step %c1 {
      gpu.barrier
      %x = llvm.load %A : !llvm.ptr<1> -> i32
      %old = tl.atom add %S, %x : <3>, i32
    }
    %at = llvm.getelementptr %A[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
    %zero = arith.constant 0 : i32
    llvm.store %zero, %at : i32, !llvm.ptr<1>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @written_somewhere
  // CHECK:         scf.for
  gpu.func @written_somewhere(%A: !llvm.ptr<1>, %S: !llvm.ptr<3>, %where: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %B = llvm.inttoptr %where : i64 to !llvm.ptr<1>
    scf.for %k = %c0 to %c2 step %c1 {
      gpu.barrier
      %x = llvm.load %A : !llvm.ptr<1> -> i32
      llvm.store %x, %B : i32, !llvm.ptr<1>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @acquired
  // CHECK:         scf.for
  gpu.func @acquired(%A: !llvm.ptr<1>, %B: !llvm.ptr<1>, %S: !llvm.ptr<3>, %one: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %flag = tl.atom add %B, %one order(acquire) : <1>, i32
    scf.for %k = %c0 to %c2 step %c1 {
      gpu.barrier
      %x = llvm.load %A : !llvm.ptr<1> -> i32
      %old = tl.atom add %S, %x : <3>, i32
    }
    gpu.return
  }
}
