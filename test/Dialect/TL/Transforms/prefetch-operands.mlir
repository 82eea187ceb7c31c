// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-prefetch-operands))' | FileCheck %s

gpu.module @kernels {
  // Two rounds of loads: those of the first one are done a step ahead, behind the wait and
  // the barrier. The copies are issued behind all other loads, and the slot of the next step
  // is computed where it is needed. The last step waits for nothing.
  // CHECK-LABEL: gpu.func @two_rounds(
  // CHECK-SAME:      %[[A:[^:]+]]: !llvm.ptr<3>
  // CHECK:         nvvm.cp.async.wait.group 2
  // CHECK:         gpu.barrier
  // CHECK:         %[[FIRST:.+]] = tl.ldmatrix
  // CHECK:         %[[LOOP:.+]]:3 = scf.for %[[K:.+]] = %c0 to %c7 step %c1 iter_args(%[[SLOT:.+]] = %c0, %[[SUM:.+]] = %{{.+}}, %[[LOADED:.+]] = %[[FIRST]])
  // CHECK:           %[[PART:.+]], %{{.+}} = vector.deinterleave %[[LOADED]]
  // CHECK:           %[[SUM1:.+]] = tl.mma f16 %[[LOADED]], %[[PART]], %[[SUM]]
  // CHECK:           %[[REST:.+]] = tl.ldmatrix
  // CHECK:           scf.if
  // CHECK:             nvvm.cp.async.shared.global
  // CHECK:           nvvm.cp.async.commit.group
  // CHECK:           %[[NEXT:.+]] = arith.remui
  // CHECK:           nvvm.cp.async.wait.group 2
  // CHECK:           gpu.barrier
  // CHECK:           %[[AT:.+]] = llvm.getelementptr %[[A]][
  // CHECK:           %[[AHEAD:.+]] = tl.ldmatrix %[[AT]]
  // CHECK:           %[[SUM2:.+]] = tl.mma f16 %[[REST]], %{{.+}}, %[[SUM1]]
  // CHECK:           scf.yield %[[NEXT]], %[[SUM2]], %[[AHEAD]]
  // CHECK-NOT:     nvvm.cp.async.wait.group
  // CHECK-NOT:     gpu.barrier
  // CHECK:         tl.mma f16 %[[LOOP]]#2, %{{.+}}, %[[LOOP]]#1
  // CHECK:         tl.ldmatrix
  // CHECK:         %[[SUM3:.+]] = tl.mma
  // CHECK:         llvm.store %[[SUM3]]
  gpu.func @two_rounds(%a: !llvm.ptr<3>, %global: !llvm.ptr<1>, %c: !llvm.ptr<1>, %acc: vector<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %bytes = arith.constant 16 : i32
    %results:2 = scf.for %k = %c0 to %c8 step %c1 iter_args(%slot = %c0, %sum = %acc) -> (index, vector<4xf32>) {
      nvvm.cp.async.wait.group 2
      gpu.barrier
      %left = arith.subi %c8, %k : index
      %more = arith.cmpi ugt, %left, %c3 : index
      scf.if %more {
        nvvm.cp.async.shared.global %a, %global, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
      }
      nvvm.cp.async.commit.group
      %at = arith.index_cast %slot : index to i32
      %p = llvm.getelementptr %a[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<8xf32>
      %x = tl.ldmatrix %p : !llvm.ptr<3> -> vector<4xi32>
      %x0, %x1 = vector.deinterleave %x : vector<4xi32> -> vector<2xi32>
      %sum1 = tl.mma f16 %x, %x0, %sum : vector<4xi32>, vector<2xi32>, vector<4xf32>
      %q = llvm.getelementptr %p[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, vector<4xf32>
      %y = tl.ldmatrix %q : !llvm.ptr<3> -> vector<4xi32>
      %y0, %y1 = vector.deinterleave %y : vector<4xi32> -> vector<2xi32>
      %sum2 = tl.mma f16 %y, %y0, %sum1 : vector<4xi32>, vector<2xi32>, vector<4xf32>
      %up = arith.addi %slot, %c1 : index
      %next = arith.remui %up, %c4 : index
      scf.yield %next, %sum2 : index, vector<4xf32>
    }
    llvm.store %results#1, %c : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // A wait for all groups, which those copies belong to: they are issued first. Where there
  // may be no step there is no wait either.
  // CHECK-LABEL: gpu.func @all_groups(
  // CHECK-SAME:      %{{[^:]+}}: !llvm.ptr<3>, %{{[^:]+}}: !llvm.ptr<1>, %[[ACC:[^:]+]]: vector<4xf32>, %[[N:[^:]+]]: index)
  // CHECK:         %[[ANY:.+]] = arith.cmpi slt, %c0, %[[N]]
  // CHECK:         scf.if %[[ANY]] -> (vector<4xf32>) {
  // CHECK-NEXT:      %[[LAST:.+]] = arith.subi %[[N]], %c1
  // CHECK-NEXT:      nvvm.cp.async.wait.group 0
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.ldmatrix
  // CHECK-NEXT:      scf.for %{{.+}} = %c0 to %[[LAST]]
  // CHECK-NEXT:        scf.for
  // CHECK-NEXT:          nvvm.cp.async.shared.global
  // CHECK:             nvvm.cp.async.commit.group
  // CHECK:             tl.mma
  // CHECK:             tl.ldmatrix
  // CHECK:             nvvm.cp.async.wait.group 0
  // CHECK:             gpu.barrier
  // CHECK:             tl.ldmatrix
  // CHECK:             tl.mma
  // CHECK:         } else {
  // CHECK-NEXT:      scf.yield %[[ACC]]
  gpu.func @all_groups(%a: !llvm.ptr<3>, %global: !llvm.ptr<1>, %acc: vector<4xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 16 : i32
    %result = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %acc) -> (vector<4xf32>) {
      nvvm.cp.async.wait.group 0
      gpu.barrier
      scf.for %i = %c0 to %n step %c1 {
        nvvm.cp.async.shared.global %a, %global, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32
      }
      nvvm.cp.async.commit.group
      %x = tl.ldmatrix %a : !llvm.ptr<3> -> vector<4xi32>
      %x0, %x1 = vector.deinterleave %x : vector<4xi32> -> vector<2xi32>
      %sum1 = tl.mma f16 %x, %x0, %sum : vector<4xi32>, vector<2xi32>, vector<4xf32>
      %y = tl.ldmatrix %a : !llvm.ptr<3> -> vector<4xi32>
      %y0, %y1 = vector.deinterleave %y : vector<4xi32> -> vector<2xi32>
      %sum2 = tl.mma f16 %y, %y0, %sum1 : vector<4xi32>, vector<2xi32>, vector<4xf32>
      scf.yield %sum2 : vector<4xf32>
    }
    %p = llvm.mlir.zero : !llvm.ptr<1>
    llvm.store %result, %p : vector<4xf32>, !llvm.ptr<1>
    gpu.return
  }

  // An address that the loop carries is that of the next step, in a loop that stands in
  // another one.
  // CHECK-LABEL: gpu.func @carried_address(
  // CHECK-SAME:      %[[A:[^:]+]]: !llvm.ptr<3>
  // CHECK:         scf.for
  // CHECK:           nvvm.cp.async.wait.group 1
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      %[[FIRST:.+]] = tl.ldmatrix %[[A]]
  // CHECK:           scf.for {{.+}} iter_args(%[[AT:.+]] = %[[A]], %{{.+}} = %{{.+}}, %[[LOADED:.+]] = %[[FIRST]])
  // CHECK:             %[[NEXT:.+]] = llvm.getelementptr %[[AT]][8]
  // CHECK-NEXT:        nvvm.cp.async.wait.group 1
  // CHECK-NEXT:        gpu.barrier
  // CHECK-NEXT:        %[[AHEAD:.+]] = tl.ldmatrix %[[NEXT]]
  // CHECK:             scf.yield %[[NEXT]], %{{.+}}, %[[AHEAD]]
  // CHECK-NEXT:      } {test.kept}
  gpu.func @carried_address(%a: !llvm.ptr<3>, %acc: vector<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %outer = scf.for %i = %c0 to %c8 step %c1 iter_args(%old = %acc) -> (vector<4xf32>) {
      nvvm.cp.async.wait.group 0
      gpu.barrier
      %w = tl.ldmatrix %a : !llvm.ptr<3> -> vector<4xi32>
      %w0, %w1 = vector.deinterleave %w : vector<4xi32> -> vector<2xi32>
      %results:2 = scf.for %k = %c0 to %c8 step %c1 iter_args(%at = %a, %sum = %old) -> (!llvm.ptr<3>, vector<4xf32>) {
        nvvm.cp.async.wait.group 1
        gpu.barrier
        %x = tl.ldmatrix %at : !llvm.ptr<3> -> vector<4xi32>
        %x0, %x1 = vector.deinterleave %x : vector<4xi32> -> vector<2xi32>
        %sum1 = tl.mma f16 %x, %x0, %sum : vector<4xi32>, vector<2xi32>, vector<4xf32>
        %next = llvm.getelementptr %at[8] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f32
        scf.yield %next, %sum1 : !llvm.ptr<3>, vector<4xf32>
      } {test.kept}
      %sum2 = tl.mma f16 %w, %w0, %results#1 : vector<4xi32>, vector<2xi32>, vector<4xf32>
      scf.yield %sum2 : vector<4xf32>
    }
    llvm.store %outer, %a : vector<4xf32>, !llvm.ptr<3>
    gpu.return
  }

  // Nothing moves over a store, and what is stored behind the products leaves none that a
  // wait could stand before.
  // CHECK-LABEL: gpu.func @stores(
  // CHECK:         scf.for
  // CHECK-NEXT:      nvvm.cp.async.wait.group 1
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      llvm.store
  // CHECK-NEXT:      tl.ldmatrix
  // CHECK:         scf.for
  // CHECK-NEXT:      nvvm.cp.async.wait.group 1
  // CHECK-NEXT:      gpu.barrier
  // CHECK-NEXT:      tl.ldmatrix
  gpu.func @stores(%a: !llvm.ptr<3>, %acc: vector<4xf32>, %zero: vector<4xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %before = scf.for %k = %c0 to %c8 step %c1 iter_args(%sum = %acc) -> (vector<4xf32>) {
      nvvm.cp.async.wait.group 1
      gpu.barrier
      llvm.store %zero, %a : vector<4xi32>, !llvm.ptr<3>
      %x = tl.ldmatrix %a : !llvm.ptr<3> -> vector<4xi32>
      %x0, %x1 = vector.deinterleave %x : vector<4xi32> -> vector<2xi32>
      %sum1 = tl.mma f16 %x, %x0, %sum : vector<4xi32>, vector<2xi32>, vector<4xf32>
      scf.yield %sum1 : vector<4xf32>
    }
    %behind = scf.for %k = %c0 to %c8 step %c1 iter_args(%sum = %before) -> (vector<4xf32>) {
      nvvm.cp.async.wait.group 1
      gpu.barrier
      %x = tl.ldmatrix %a : !llvm.ptr<3> -> vector<4xi32>
      %x0, %x1 = vector.deinterleave %x : vector<4xi32> -> vector<2xi32>
      %sum1 = tl.mma f16 %x, %x0, %sum : vector<4xi32>, vector<2xi32>, vector<4xf32>
      llvm.store %sum1, %a : vector<4xf32>, !llvm.ptr<3>
      scf.yield %sum1 : vector<4xf32>
    }
    llvm.store %behind, %a : vector<4xf32>, !llvm.ptr<3>
    gpu.return
  }

  // Sums that fill the registers leave no room for two steps' operands.
  // CHECK-LABEL: gpu.func @too_many_registers(
  // CHECK:         scf.for
  // CHECK-NEXT:      nvvm.cp.async.wait.group 1
  gpu.func @too_many_registers(%a: !llvm.ptr<3>, %acc: vector<4xf32>, %many: vector<208xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %results:2 = scf.for %k = %c0 to %c8 step %c1 iter_args(%sum = %acc, %others = %many) -> (vector<4xf32>, vector<208xf32>) {
      nvvm.cp.async.wait.group 1
      gpu.barrier
      %x = tl.ldmatrix %a : !llvm.ptr<3> -> vector<4xi32>
      %x0, %x1 = vector.deinterleave %x : vector<4xi32> -> vector<2xi32>
      %sum1 = tl.mma f16 %x, %x0, %sum : vector<4xi32>, vector<2xi32>, vector<4xf32>
      scf.yield %sum1, %others : vector<4xf32>, vector<208xf32>
    }
    llvm.store %results#0, %a : vector<4xf32>, !llvm.ptr<3>
    gpu.return
  }
}
