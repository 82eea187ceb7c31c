// Scalars that lie side by side are loaded at once.

// RUN: tl-opt %s --tl-join-loads | FileCheck %s
// RUN: python3 %S/Inputs/rows_from_tables.py 12 | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-join-loads))' | FileCheck %s --check-prefix=TABLES
// RUN: python3 %S/Inputs/rows_from_tables.py 16 | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-join-loads))' | FileCheck %s --check-prefix=TABLES
// RUN: python3 %S/Inputs/rows_from_tables.py 18 | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-join-loads))' | FileCheck %s --check-prefix=TABLES
// RUN: python3 %S/Inputs/rows_from_tables.py 40 | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-join-loads))' | FileCheck %s --check-prefix=TABLES

// TABLES:     !llvm.ptr<3> -> vector<
// TABLES-NOT: !llvm.ptr<1> -> vector<

// Eight halves of a row: 256 k + 8 t + 0 to 7. Sums of 32 bits are taken apart,
// because 8 divides what the numbers are added to.
// CHECK-LABEL: gpu.func @row
// CHECK:         %[[PLACE:.+]] = llvm.getelementptr %{{.+}}[%{{.+}}]
// CHECK:         %[[ROW:.+]] = llvm.load %[[PLACE]] {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
// CHECK-DAG:     %[[FIRST:.+]] = vector.extract %[[ROW]][0]
// CHECK-DAG:     %[[THIRD:.+]] = vector.extract %[[ROW]][2]
// CHECK-NOT:     llvm.load
// CHECK:         arith.addf %[[FIRST]], %{{.+}} : f16
// CHECK:         arith.addf %{{.+}}, %[[THIRD]] : f16
// CHECK-NOT:     llvm.load
gpu.module @row {
  gpu.func @row(%A: !llvm.ptr<1> {tl.align = 16 : i64}, %out: !llvm.ptr<3>, %k: index) kernel {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c256 = arith.constant 256 : index
    %t = gpu.thread_id x
    %row = arith.muli %k, %c256 : index
    %column = arith.muli %t, %c8 : index
    %i0 = arith.addi %row, %column : index
    %j0 = arith.index_cast %i0 : index to i64
    %p0 = llvm.getelementptr %A[%j0] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %x0 = llvm.load %p0 {alignment = 2 : i64} : !llvm.ptr<1> -> f16
    %i1 = arith.addi %i0, %c1 : index
    %j1 = arith.index_cast %i1 : index to i64
    %p1 = llvm.getelementptr %A[%j1] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %x1 = llvm.load %p1 {alignment = 2 : i64} : !llvm.ptr<1> -> f16
    %s1 = arith.addf %x0, %x1 : f16
    %i2 = arith.addi %i0, %c2 : index
    %j2 = arith.index_cast %i2 : index to i64
    %p2 = llvm.getelementptr %A[%j2] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %x2 = llvm.load %p2 {alignment = 2 : i64} : !llvm.ptr<1> -> f16
    %s2 = arith.addf %s1, %x2 : f16
    // A store to other memory changes nothing.
    llvm.store %s2, %out : f16, !llvm.ptr<3>
    %i3 = arith.addi %i0, %c3 : index
    %j3 = arith.index_cast %i3 : index to i64
    %p3 = llvm.getelementptr %A[%j3] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %x3 = llvm.load %p3 {alignment = 2 : i64} : !llvm.ptr<1> -> f16
    %i7 = arith.addi %i0, %c7 : index
    %j7 = arith.index_cast %i7 : index to i64
    %p7 = llvm.getelementptr %A[%j7] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %x7 = llvm.load %p7 {alignment = 2 : i64} : !llvm.ptr<1> -> f16
    %i6 = arith.addi %i0, %c6 : index
    %j6 = arith.index_cast %i6 : index to i64
    %p6 = llvm.getelementptr %A[%j6] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %x6 = llvm.load %p6 {alignment = 2 : i64} : !llvm.ptr<1> -> f16
    %i5 = arith.addi %i0, %c5 : index
    %j5 = arith.index_cast %i5 : index to i64
    %p5 = llvm.getelementptr %A[%j5] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %x5 = llvm.load %p5 {alignment = 2 : i64} : !llvm.ptr<1> -> f16
    %i4 = arith.addi %i0, %c4 : index
    %j4 = arith.index_cast %i4 : index to i64
    %p4 = llvm.getelementptr %A[%j4] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
    %x4 = llvm.load %p4 {alignment = 2 : i64} : !llvm.ptr<1> -> f16
    %s3 = arith.addf %x3, %x4 : f16
    %s4 = arith.addf %x5, %x6 : f16
    %s5 = arith.addf %s3, %x7 : f16
    llvm.store %s4, %out : f16, !llvm.ptr<3>
    llvm.store %s5, %out : f16, !llvm.ptr<3>
    gpu.return
  }
}

// The first of them need not be the one of the least address.
// CHECK-LABEL: gpu.func @backwards
// CHECK:         %[[BEHIND:.+]] = llvm.getelementptr %{{.+}}[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
// CHECK-NEXT:    %[[BEFORE:.+]] = llvm.getelementptr %[[BEHIND]][-4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
// CHECK-NEXT:    %[[PAIR:.+]] = llvm.load %[[BEFORE]] {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK-DAG:     vector.extract %[[PAIR]][0]
// CHECK-DAG:     vector.extract %[[PAIR]][1]
// CHECK-NOT:     llvm.load
gpu.module @backwards {
  gpu.func @backwards(%A: !llvm.ptr<1> {tl.align = 8 : i64}, %out: !llvm.ptr<3>) kernel {
    %p1 = llvm.getelementptr %A[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %x1 = llvm.load %p1 : !llvm.ptr<1> -> f32
    %p0 = llvm.getelementptr %A[0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %x0 = llvm.load %p0 : !llvm.ptr<1> -> f32
    llvm.store %x0, %out : f32, !llvm.ptr<3>
    llvm.store %x1, %out : f32, !llvm.ptr<3>
    gpu.return
  }
}

// Shared memory begins at a multiple of 1024. What the simulator is told of each
// load it is told of the vector's elements.
// CHECK-LABEL: gpu.func @shared
// CHECK:         llvm.load %{{.+}} {alignment = 4 : i64, tl.iterations = array<i64: 0, 3, 1, 3>, tl.uses = array<i64: 2>} : !llvm.ptr<3> -> vector<2xi16>
// CHECK-NOT:     llvm.load
gpu.module @shared {
  gpu.func @shared(%n: i32, %out: !llvm.ptr<1>) kernel {
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %base = tl.shared_base : !llvm.ptr<3>
    %i0 = arith.muli %n, %c4 : i32
    %p0 = llvm.getelementptr %base[%i0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i16
    %i1 = arith.addi %i0, %c1 overflow<nsw> : i32
    %p1 = llvm.getelementptr %base[%i1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i16
    %x0 = llvm.load %p0 {tl.iterations = array<i64: 0, 3>, tl.uses = array<i64: 2>} : !llvm.ptr<3> -> i16
    %x1 = llvm.load %p1 {tl.iterations = array<i64: 1, 3>, tl.uses = array<i64: 2>} : !llvm.ptr<3> -> i16
    llvm.store %x0, %out : i16, !llvm.ptr<1>
    llvm.store %x1, %out : i16, !llvm.ptr<1>
    gpu.return
  }
}

// What keeps loads apart, two by two: a store that may go to one of them, a
// barrier, a base that is not aligned, an element between them, a sum that may
// wrap, a factor that is not known, another base, one that is volatile, a block
// of their own, and of three the one that is left over.
// CHECK-LABEL: gpu.func @apart
// CHECK-NOT:     vector<
// CHECK:         llvm.load %{{.+}} : !llvm.ptr<1> -> vector<2xf32>
// CHECK-NEXT:    vector.extract
// CHECK-NEXT:    vector.extract
// CHECK-NEXT:    llvm.getelementptr
// CHECK-NEXT:    llvm.getelementptr
// CHECK-NEXT:    llvm.load %{{.+}} : !llvm.ptr<1> -> f32
// CHECK-NOT:     vector<
gpu.module @apart {
  gpu.func @apart(%A: !llvm.ptr<1> {tl.align = 16 : i64}, %B: !llvm.ptr<1> {tl.align = 4 : i64}, %out: !llvm.ptr<1>, %n: i32, %m: i64, %c: i1) kernel {
    %c1 = arith.constant 1 : i32
    %A1 = llvm.getelementptr %A[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %A3 = llvm.getelementptr %A[3] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32

    %x0 = llvm.load %A : !llvm.ptr<1> -> f32
    llvm.store %x0, %out : f32, !llvm.ptr<1>
    %x1 = llvm.load %A1 : !llvm.ptr<1> -> f32
    llvm.store %x1, %out : f32, !llvm.ptr<1>

    %x2 = llvm.load %A : !llvm.ptr<1> -> f32
    gpu.barrier
    %x3 = llvm.load %A1 : !llvm.ptr<1> -> f32
    llvm.store %x2, %out : f32, !llvm.ptr<1>
    llvm.store %x3, %out : f32, !llvm.ptr<1>

    %B1 = llvm.getelementptr %B[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %x4 = llvm.load %B : !llvm.ptr<1> -> f32
    %x5 = llvm.load %B1 : !llvm.ptr<1> -> f32
    llvm.store %x4, %out : f32, !llvm.ptr<1>
    llvm.store %x5, %out : f32, !llvm.ptr<1>

    %x6 = llvm.load %A1 : !llvm.ptr<1> -> f32
    %x7 = llvm.load %A3 : !llvm.ptr<1> -> f32
    llvm.store %x6, %out : f32, !llvm.ptr<1>
    llvm.store %x7, %out : f32, !llvm.ptr<1>

    %n1 = arith.addi %n, %c1 : i32
    %An = llvm.getelementptr %A[%n] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %An1 = llvm.getelementptr %A[%n1] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x8 = llvm.load %An : !llvm.ptr<1> -> f32
    %x9 = llvm.load %An1 : !llvm.ptr<1> -> f32
    llvm.store %x8, %out : f32, !llvm.ptr<1>
    llvm.store %x9, %out : f32, !llvm.ptr<1>

    // `m` may be odd.
    %Am = llvm.getelementptr %A[%m] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %Am1 = llvm.getelementptr %Am[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %x10 = llvm.load %Am : !llvm.ptr<1> -> f32
    %x11 = llvm.load %Am1 : !llvm.ptr<1> -> f32
    llvm.store %x10, %out : f32, !llvm.ptr<1>
    llvm.store %x11, %out : f32, !llvm.ptr<1>

    %x12 = llvm.load %A : !llvm.ptr<1> -> f32
    %x13 = llvm.load %B1 : !llvm.ptr<1> -> f32
    llvm.store %x12, %out : f32, !llvm.ptr<1>
    llvm.store %x13, %out : f32, !llvm.ptr<1>

    %x14 = llvm.load %A : !llvm.ptr<1> -> f32
    %x15 = llvm.load volatile %A1 : !llvm.ptr<1> -> f32
    llvm.store %x14, %out : f32, !llvm.ptr<1>
    llvm.store %x15, %out : f32, !llvm.ptr<1>

    %x16 = llvm.load %A : !llvm.ptr<1> -> f32
    llvm.store %x16, %out : f32, !llvm.ptr<1>
    scf.if %c {
      %x17 = llvm.load %A1 : !llvm.ptr<1> -> f32
      llvm.store %x17, %out : f32, !llvm.ptr<1>
    }

    %x18 = llvm.load %A : !llvm.ptr<1> -> f32
    %A1b = llvm.getelementptr %A[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %x19 = llvm.load %A1b : !llvm.ptr<1> -> f32
    %A2 = llvm.getelementptr %A[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %x20 = llvm.load %A2 : !llvm.ptr<1> -> f32
    llvm.store %x18, %out : f32, !llvm.ptr<1>
    llvm.store %x19, %out : f32, !llvm.ptr<1>
    llvm.store %x20, %out : f32, !llvm.ptr<1>
    gpu.return
  }
}
