// A kernel that moves rows of tensors is there twice if their extents or
// strides are symbols: for rows of whole units of 16 bytes, and for any.

// RUN: tl-opt %s --split-input-file --tl-version-kernels | FileCheck %s

// CHECK-LABEL: func.func @copies
// CHECK-SAME: (%[[A:.*]]: memref<?x?xf16> {{.*}}, %[[B:.*]]: memref<4x?xf16, strided<[?, 1]>>
// CHECK-DAG: %[[G:.*]] = arith.constant 7 : index
// CHECK: %[[N:.*]] = memref.dim %[[A]], %{{.*}}
// CHECK: %[[OVER:.*]] = arith.remui %[[N]], %{{.*}}
// CHECK: %[[SIZE:.*]] = arith.maxsi %[[N]], %{{.*}}
// CHECK: %[[THERE:.*]] = arith.minsi %[[SIZE]], %{{.*}}
// CHECK: %[[NONE:.*]] = arith.subi %{{.*}}, %[[THERE]]
// CHECK: %[[IN_A:.*]] = arith.addi %[[OVER]], %[[NONE]]
// CHECK: %[[M:.*]] = memref.dim %[[B]], %{{.*}}
// CHECK: %[[OVER_B:.*]] = arith.remui %[[M]], %{{.*}}
// CHECK: %[[IN_B:.*]] = arith.addi %[[OVER_B]], %{{.*}}
// CHECK: %[[ONE:.*]] = arith.addi %[[IN_A]], %[[IN_B]]
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}:2, %[[S:.*]]:2 = memref.extract_strided_metadata %[[B]]
// CHECK: %[[OVER_S:.*]] = arith.remui %[[S]]#0, %{{.*}}
// CHECK: %[[STEP:.*]] = arith.addi %[[OVER_S]], %{{.*}}
// CHECK: %[[REST:.*]] = arith.addi %[[ONE]], %[[STEP]]
// CHECK: %[[ODD:.*]] = arith.minsi %[[REST]], %{{.*}}
// CHECK: %[[EVEN:.*]] = arith.subi %{{.*}}, %[[ODD]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[G]], %[[EVEN]]
// CHECK: tl.launch @k::@k blocks(%[[FIRST]], %[[G]])
// CHECK: %[[SECOND:.*]] = arith.muli %[[G]], %[[ODD]]
// CHECK: tl.launch @k_unaligned::@k_unaligned blocks(%[[SECOND]], %[[G]])
// CHECK: gpu.module @k attributes {tl.note = 1 : i64}
// CHECK: gpu.func @k({{.*}}: memref<?x?xf16> {tl.align = 16 : i64, tl.row_align = 16 : i64}, {{.*}}: memref<4x?xf16, strided<[?, 1]>> {tl.align = 16 : i64, tl.row_align = 16 : i64}) kernel
// CHECK: gpu.module @k_unaligned attributes {tl.note = 1 : i64}
// CHECK: gpu.func @k_unaligned({{.*}}: memref<?x?xf16> {tl.align = 16 : i64}, {{.*}}: memref<4x?xf16, strided<[?, 1]>> {tl.align = 16 : i64}) kernel
func.func @copies(%A: memref<?x?xf16> {tl.align = 16 : i64}, %B: memref<4x?xf16, strided<[?, 1]>> {tl.align = 16 : i64}) {
  %g = arith.constant 7 : index
  tl.launch @k::@k blocks(%g, %g) threads(32) args(%A, %B : memref<?x?xf16>, memref<4x?xf16, strided<[?, 1]>>)
  return
}
gpu.module @k attributes {tl.note = 1} {
  gpu.func @k(%A: memref<?x?xf16> {tl.align = 16 : i64}, %B: memref<4x?xf16, strided<[?, 1]>> {tl.align = 16 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %S = tl.alloc : memref<4x64xf16, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %S tile(4, 64) : memref<?x?xf16> to memref<4x64xf16, #gpu.address_space<workgroup>>
    tl.copy %S to %B[%c0, %c0] tile(4, 64) : memref<4x64xf16, #gpu.address_space<workgroup>> to memref<4x?xf16, strided<[?, 1]>>
    gpu.return
  }
}

// -----

// Rows of a parallel loop that goes along them, and of a tensor whose rows are
// numbers but for where they begin.
// CHECK-LABEL: func.func @elements
// CHECK: %[[N:.*]] = memref.dim %arg0, %{{.*}}
// CHECK: %[[REST:.*]] = arith.remui %[[N]], %{{.*}}
// CHECK: extract_strided_metadata %arg1
// CHECK: tl.launch @k::@k
// CHECK: tl.launch @k_unaligned::@k_unaligned
func.func @elements(%A: memref<?xf32> {tl.align = 16 : i64}, %B: memref<?x8xf32, strided<[?, 1]>> {tl.align = 16 : i64}) {
  %g = arith.constant 7 : index
  tl.launch @k::@k blocks(%g) threads(32) args(%A, %B : memref<?xf32>, memref<?x8xf32, strided<[?, 1]>>)
  return
}
gpu.module @k {
  gpu.func @k(%A: memref<?xf32> {tl.align = 16 : i64}, %B: memref<?x8xf32, strided<[?, 1]>> {tl.align = 16 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    tl.parallel (%i, %j) in (4, 8) {
      %at = arith.addi %c64, %j : index
      %x = tl.load %A[%at] : memref<?xf32>
      tl.store %x, %B[%i, %j] : memref<?x8xf32, strided<[?, 1]>>
    }
    gpu.return
  }
}

// -----

// What nothing would gain by, or nobody can know: rows that are numbers, which
// are aligned or never are; tensors that begin anywhere; columns; places off by
// one; elements that no loop goes along; a kernel of two launches.
// CHECK-LABEL: func.func @others
// CHECK-NOT: arith.remui
// CHECK-NOT: unaligned
func.func @others(%A: memref<?x8xf16> {tl.align = 16 : i64}, %B: memref<?x12xf16, strided<[?, 1]>> {tl.align = 16 : i64}, %C: memref<?x?xf16> {tl.align = 2 : i64}, %D: memref<?x?xf16> {tl.align = 16 : i64}, %E: memref<?x?xf16> {tl.align = 16 : i64}) {
  %g = arith.constant 7 : index
  tl.launch @k::@k blocks(%g) threads(32) args(%A, %B, %C, %D, %E : memref<?x8xf16>, memref<?x12xf16, strided<[?, 1]>>, memref<?x?xf16>, memref<?x?xf16>, memref<?x?xf16>)
  tl.launch @twice::@twice blocks(%g) threads(32) args(%D : memref<?x?xf16>)
  tl.launch @twice::@twice blocks(%g) threads(32) args(%E : memref<?x?xf16>)
  return
}
gpu.module @k {
  gpu.func @k(%A: memref<?x8xf16> {tl.align = 16 : i64}, %B: memref<?x12xf16, strided<[?, 1]>> {tl.align = 16 : i64}, %C: memref<?x?xf16> {tl.align = 2 : i64}, %D: memref<?x?xf16> {tl.align = 16 : i64}, %E: memref<?x?xf16> {tl.align = 16 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %S = tl.alloc : memref<4x8xf16, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %S tile(4, 8) : memref<?x8xf16> to memref<4x8xf16, #gpu.address_space<workgroup>>
    tl.copy %S to %B[%c0, %c0] tile(4, 8) : memref<4x8xf16, #gpu.address_space<workgroup>> to memref<?x12xf16, strided<[?, 1]>>
    tl.copy %C[%c0, %c0] to %S tile(4, 8) : memref<?x?xf16> to memref<4x8xf16, #gpu.address_space<workgroup>>
    tl.copy %D[%c0, %c1] to %S tile(4, 8) : memref<?x?xf16> to memref<4x8xf16, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (4, 8) {
      %x = tl.load %D[%j, %i] : memref<?x?xf16>
      tl.store %x, %S[%i, %j] : memref<4x8xf16, #gpu.address_space<workgroup>>
    }
    %y = tl.load %E[%c0, %c1] : memref<?x?xf16>
    tl.store %y, %E[%c1, %c1] : memref<?x?xf16>
    gpu.return
  }
}
gpu.module @twice {
  gpu.func @twice(%A: memref<?x?xf16> {tl.align = 16 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %S = tl.alloc : memref<4x64xf16, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %S tile(4, 64) : memref<?x?xf16> to memref<4x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// Places that print or check are in a launch by its number: those behind count
// the further one.
// CHECK: module attributes {tl.checks = [{launch = 0 : i64, line = 1 : i64}, {launch = 2 : i64, line = 2 : i64}], tl.prints = [{launch = 2 : i64}]}
// CHECK-LABEL: func.func @printing
module attributes {tl.checks = [{launch = 0 : i64, line = 1 : i64}, {launch = 1 : i64, line = 2 : i64}], tl.prints = [{launch = 1 : i64}]} {
  func.func @printing(%A: memref<?xf32> {tl.align = 16 : i64}) {
    %g = arith.constant 7 : index
    tl.launch @k::@k blocks(%g) threads(32) args(%A : memref<?xf32>)
    tl.launch @rest::@rest blocks(%g) threads(32) args()
    return
  }
  gpu.module @k {
    gpu.func @k(%A: memref<?xf32> {tl.align = 16 : i64}) kernel {
      tl.parallel (%i) in (64) {
        %x = tl.load %A[%i] : memref<?xf32>
        tl.store %x, %A[%i] : memref<?xf32>
      }
      gpu.return
    }
  }
  gpu.module @rest {
    gpu.func @rest() kernel {
      gpu.return
    }
  }
}
