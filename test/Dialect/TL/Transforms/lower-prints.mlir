// RUN: tl-opt %s --split-input-file --tl-lower-prints | FileCheck %s

// A statement of the block takes its place in the record alone. Without loops
// it is known how many statements print before it.
// CHECK:       module attributes {tl.prints = [{
// CHECK-SAME:    dtype = "float32", elements = 1 : i64, {{.*}}kind = "print", launch = 0 : i64, line = 43 : i64, message = "so far", name = "x", runner = "block"
// CHECK-LABEL: func.func @scalar
// CHECK-SAME:    %[[RECORD:[a-z_0-9]+]]: memref<?xi64> {tl.align = 8 : i64, tl.name = "tl_prints", tl.record, tl.shape = ["tl_prints"]}
// CHECK:         tl.kernel
// CHECK-NOT:       tl.alloc
// CHECK:           tl.parallel (%{{.+}}) in (1) {
// One addition takes four words, and counts an entry.
// CHECK:             %[[SIZE:.+]] = arith.constant 68719476740 : i64
// CHECK:             tl.atomic add %[[SIZE]], %[[RECORD]][%{{.+}}] : memref<?xi64>
// CHECK-NOT:         scf.if
// CHECK-COUNT-3:     tl.store %{{.+}}, %[[RECORD]]
// CHECK:             arith.bitcast %{{.+}} : f32 to i32
// CHECK:             tl.store %{{.+}}, %[[RECORD]]
func.func @scalar(%A: memref<64xf32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  tl.kernel blocks(%b) in (%c1) threads(64) {
    %x = tl.load %A[%c0] : memref<64xf32>
    tl.print "so far" %x named "x" as "float32" : f32 loc("lower-prints.mlir":43:5)
  }
  return
}

// -----

// An iteration prints where it stands, and says its number. The whole loop is
// one statement of the block, which a variable of the block counts.
// CHECK-LABEL: func.func @iteration
// CHECK:         %[[PRINTED:.+]] = tl.alloc : memref<1xi32, #gpu.address_space<private>>
// CHECK:         scf.for
// CHECK:           tl.load %[[PRINTED]][%{{.+}}] : memref<1xi32
// CHECK:           tl.store %{{.+}}, %[[PRINTED]]
// CHECK-NOT:       tl.load %[[PRINTED]]
// CHECK:           tl.parallel (%[[I:.+]]) in (64) {
// CHECK:             scf.if
// CHECK:               %[[NUMBER:.+]] = arith.index_cast %[[I]] : index to i32
// CHECK:               tl.atomic add
// CHECK:             tl.atomic add
// CHECK-NOT:       tl.print "
func.func @iteration(%A: memref<64xf32>, %c: i1, %n: index) attributes {tl.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%b) in (%c1) threads(64) {
    scf.for %k = %c0 to %n step %c1 {
      tl.parallel (%i) in (64) {
        scf.if %c {
          tl.print "" %i named "i" as "index" : index
        }
        tl.print "every"
      }
    }
  }
  return
}

// -----

// What each thread prints, it still does where simplification makes its
// number disappear.
// CHECK-LABEL: func.func @thread
// CHECK:         tl.atomic add {{.+}} each_thread
func.func @thread() attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%b) in (%c1) threads(64) {
    %t = gpu.thread_id x
    %zero = arith.subi %t, %t : index
    tl.print "" %zero named "t - t" as "index" : index
  }
  return
}

// -----

// A tile is one entry: one addition by the block, and a store for each element.
// A large one in memory has a loop around it; a fragment has not.
// CHECK:       tl.prints = [{
// CHECK-SAME:    elements = 4096 : i64, {{.*}}shape = [64, 64], space = "shared"
// CHECK-SAME:    elements = 32 : i64, {{.*}}shape = [32], space = "fragment"
// CHECK-LABEL: func.func @tile
// CHECK:         tl.atomic add
// CHECK:         tl.parallel (%{{.+}}) in (1) {
// CHECK-COUNT-3:   tl.store
// CHECK:         scf.for
// CHECK:           tl.parallel (%{{.+}}) in (64) {
// CHECK:             tl.load %{{.+}} : memref<64x64xf16, #gpu.address_space<workgroup>>
// CHECK:             arith.extf
// CHECK:             tl.store
// CHECK:         tl.atomic add
// CHECK-NOT:     scf.for
// CHECK:         tl.parallel (%[[R:.+]], %[[C:.+]]) in (1, 32) {
// CHECK:           %[[ROW:.+]] = arith.addi %{{.+}}, %[[R]]
// CHECK:           tl.load %{{.+}}[%[[ROW]], %{{.+}}] : memref<4x32xi8, #tl.fragment>
func.func @tile(%row: index) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  tl.kernel blocks(%b) in (%c1) threads(64) {
    %S = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
    %F = tl.alloc : memref<4x32xi8, #tl.fragment>
    tl.print "" %S tile [64, 64] named "S" as "float16" : memref<64x64xf16, #gpu.address_space<workgroup>>
    tl.print "" %F[%row, %c0] tile [1, 32] shown [32] named "F" as "int8" : memref<4x32xi8, #tl.fragment>
  }
  return
}

// -----

// An assertion is an entry where it does not hold, and is noted besides.
// CHECK:       kind = "assert", {{.*}}message = "why", name = "c"
// CHECK-LABEL: func.func @assertion
// CHECK:         tl.parallel (%{{.+}}) in (1) {
// CHECK:           %[[WRONG:.+]] = arith.xori %{{.+}}, %{{.+}} : i1
// CHECK:           scf.if %[[WRONG]] {
// CHECK:             tl.atomic or
// CHECK:             tl.atomic add
func.func @assertion(%c: i1) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%b) in (%c1) threads(64) {
    tl.assert %c, "c", "why"
  }
  return
}

// -----

// A function that says nothing stays as it is.
// CHECK:       module {
// CHECK-NEXT:  func.func @silent() attributes {tl.entry}
func.func @silent() attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%b) in (%c1) threads(64) {
  }
  return
}
