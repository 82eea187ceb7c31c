// RUN: tl-opt %s --tl-mark-thread-statements | FileCheck %s
// RUN: tl-opt %s --tl-mark-thread-statements --canonicalize | FileCheck %s --check-prefix=SIMPLE

// What depends on the thread says so, by its operands or by where it stands,
// and keeps saying so when nothing else shows it. What is in a parallel loop is
// the iterations' own.
// CHECK-LABEL: func.func @atomics
// CHECK:         tl.atomic add %{{.+}}, %{{.+}}[%{{.+}}] each_thread : memref<4xi32>
// CHECK:         scf.if
// CHECK-NEXT:      tl.atomic max %{{.+}}, %{{.+}}[%{{.+}}] each_thread : memref<4xi32>
// CHECK:         tl.atomic min %{{.+}}, %{{.+}}[%{{.+}}] : memref<4xi32>
// CHECK:         tl.parallel
// CHECK-NEXT:      tl.atomic xor %{{.+}}, %{{.+}}[%{{.+}}] : memref<4xi32>
// SIMPLE-LABEL: func.func @atomics
// SIMPLE-DAG:     %[[C0:.+]] = arith.constant 0 : index
// SIMPLE:         tl.atomic add %{{.+}}, %{{.+}}[%[[C0]]] each_thread
// SIMPLE-NOT:     scf.if
// SIMPLE:         tl.atomic max %{{.+}}, %{{.+}}[%[[C0]]] each_thread
func.func @atomics(%C: memref<4xi32>, %one: i32) attributes {tl.entry} {
  %g = arith.constant 8 : index
  %c0 = arith.constant 0 : index
  tl.kernel @each blocks(%b) in (%g) threads(128) {
    %t = gpu.thread_id x
    %zero = arith.subi %t, %t : index
    %0 = tl.atomic add %one, %C[%zero] : memref<4xi32>
    %always = arith.cmpi eq, %t, %t : index
    scf.if %always {
      %1 = tl.atomic max %one, %C[%c0] : memref<4xi32>
    }
    %2 = tl.atomic min %one, %C[%c0] : memref<4xi32>
    tl.parallel (%i) in (4) {
      %3 = tl.atomic xor %one, %C[%i] : memref<4xi32>
    }
  }
  return
}
