// Scalars that lie side by side are stored at once.

// RUN: tl-opt %s --tl-join-stores | FileCheck %s

// Four numbers of a row of a swizzled tile, in any order. What does not touch shared memory may stand between them.
// CHECK-LABEL: gpu.func @row
// CHECK-SAME:    %[[A:[^ ]+]]: f32, %[[B:[^ ]+]]: f32, %[[C:[^ ]+]]: f32, %[[D:[^ ]+]]: f32
// CHECK-NOT:     llvm.store %{{.+}} !llvm.ptr<3>
// CHECK:         %[[PLACE:.+]] = llvm.getelementptr %{{.+}}[%{{.+}}]
// CHECK:         llvm.store %[[C]], %{{.+}} : f32, !llvm.ptr<1>
// CHECK:         %[[ROW:.+]] = vector.from_elements %[[A]], %[[B]], %[[C]], %[[D]] : vector<4xf32>
// CHECK-NEXT:    llvm.store %[[ROW]], %[[PLACE]] {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK-NOT:     llvm.store
gpu.module @row {
  gpu.func @row(%a: f32, %b: f32, %c: f32, %d: f32, %n: index, %in: !llvm.ptr<3>, %out: !llvm.ptr<1>) kernel {
    %c16 = arith.constant 16 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c12 = arith.constant 12 : index
    %c112 = arith.constant 112 : index
    %base = tl.shared_base : !llvm.ptr<3>
    %own = arith.muli %n, %c16 : index
    %line = arith.divui %own, %c8 : index
    %flip = arith.andi %line, %c112 : index
    %i0 = arith.xori %own, %flip : index
    %j0 = arith.index_cast %i0 : index to i32
    %p0 = llvm.getelementptr %base[%j0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    llvm.store %a, %p0 : f32, !llvm.ptr<3>
    %i1 = arith.addi %i0, %c4 overflow<nsw> : index
    %j1 = arith.index_cast %i1 : index to i32
    %p1 = llvm.getelementptr %base[%j1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    llvm.store %b, %p1 : f32, !llvm.ptr<3>
    %i3 = arith.addi %i0, %c12 overflow<nsw> : index
    %j3 = arith.index_cast %i3 : index to i32
    %p3 = llvm.getelementptr %base[%j3] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    llvm.store %d, %p3 : f32, !llvm.ptr<3>
    llvm.store %c, %out : f32, !llvm.ptr<1>
    %i2 = arith.addi %i0, %c8 overflow<nsw> : index
    %j2 = arith.index_cast %i2 : index to i32
    %p2 = llvm.getelementptr %base[%j2] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    llvm.store %c, %p2 : f32, !llvm.ptr<3>
    gpu.return
  }
}

// What the simulator is told of each store it is told of the vector's elements.
// CHECK-LABEL: gpu.func @told
// CHECK:         llvm.store %{{.+}} {alignment = 8 : i64, tl.iterations = array<i64: 0, 3, 1, 3>} : vector<2xf32>, !llvm.ptr<1>
// CHECK-NOT:     llvm.store
gpu.module @told {
  gpu.func @told(%A: !llvm.ptr<1> {tl.align = 16 : i64}, %x: f32) kernel {
    %A1 = llvm.getelementptr %A[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %x, %A {tl.iterations = array<i64: 0, 3>} : f32, !llvm.ptr<1>
    llvm.store %x, %A1 {tl.iterations = array<i64: 1, 3>} : f32, !llvm.ptr<1>
    gpu.return
  }
}

// What keeps stores apart, two by two: a load that may read what one of them writes, a store that may write it, a
// barrier, a base that is not aligned, a place between them, two of one place, one that is volatile, a block of their
// own, other things that the simulator is told.
// CHECK-LABEL: gpu.func @apart
// CHECK-NOT:     vector<
gpu.module @apart {
  gpu.func @apart(%A: !llvm.ptr<1> {tl.align = 16 : i64}, %B: !llvm.ptr<1> {tl.align = 4 : i64}, %out: !llvm.ptr<1>, %x: f32, %c: i1) kernel {
    %A1 = llvm.getelementptr %A[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %A3 = llvm.getelementptr %A[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %B1 = llvm.getelementptr %B[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32

    llvm.store %x, %A : f32, !llvm.ptr<1>
    %read = llvm.load %out : !llvm.ptr<1> -> f32
    llvm.store %read, %A1 : f32, !llvm.ptr<1>

    gpu.barrier
    llvm.store %x, %A : f32, !llvm.ptr<1>
    llvm.store %x, %out : f32, !llvm.ptr<1>
    llvm.store %x, %A1 : f32, !llvm.ptr<1>

    gpu.barrier
    llvm.store %x, %A : f32, !llvm.ptr<1>
    gpu.barrier
    llvm.store %x, %A1 : f32, !llvm.ptr<1>

    gpu.barrier
    llvm.store %x, %B : f32, !llvm.ptr<1>
    llvm.store %x, %B1 : f32, !llvm.ptr<1>

    gpu.barrier
    llvm.store %x, %A1 : f32, !llvm.ptr<1>
    llvm.store %x, %A3 : f32, !llvm.ptr<1>

    gpu.barrier
    llvm.store %x, %A : f32, !llvm.ptr<1>
    llvm.store %read, %A : f32, !llvm.ptr<1>

    gpu.barrier
    llvm.store %x, %A : f32, !llvm.ptr<1>
    llvm.store volatile %x, %A1 : f32, !llvm.ptr<1>

    gpu.barrier
    llvm.store %x, %A : f32, !llvm.ptr<1>
    scf.if %c {
      llvm.store %x, %A1 : f32, !llvm.ptr<1>
    }

    gpu.barrier
    llvm.store %x, %A {tl.iterations = array<i64: 0>} : f32, !llvm.ptr<1>
    llvm.store %x, %A1 : f32, !llvm.ptr<1>
    gpu.return
  }
}
