// Loops that copy rows of a tensor are copies whose places say where each row
// begins.

// RUN: tl-opt %s --split-input-file --tl-find-gathers | FileCheck %s

// CHECK-LABEL: gpu.func @table
// CHECK:       tl.copy %[[K:.+]] to %[[S:.+]] tile(32, 64) places {
// CHECK-NEXT:  ^bb0(%[[I:.+]]: index):
// CHECK:         %[[ROW:.+]] = tl.load %[[TABLE:.+]][%[[I]]] : memref<32xi32>
// CHECK-NEXT:    %[[PLACE:.+]] = arith.index_cast %[[ROW]] : i32 to index
// CHECK-NEXT:    tl.places %[[PLACE]], %c0
// CHECK-NEXT:  } : memref<?x64xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
// CHECK-NOT:   tl.parallel
gpu.module @table attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @table(%K: memref<?x64xf16> {tl.align = 16 : i64}, %T: memref<32xi32>) kernel {
    %S = tl.alloc : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (32, 64) {
      %row = tl.load %T[%i] : memref<32xi32>
      %at = arith.index_cast %row : i32 to index
      %x = tl.load %K[%at, %j] : memref<?x64xf16>
      tl.store %x, %S[%i, %j] : memref<32x64xf16, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}

// -----

// A store behind a condition leaves the rows alone for which it does not hold.
// CHECK-LABEL: gpu.func @kept
// CHECK:       tl.copy %{{.+}} to %{{.+}} tile(32, 64) places {
// CHECK:         %[[ROW:.+]] = tl.load
// CHECK:         %[[C:.+]] = arith.cmpi sge, %[[ROW]]
// CHECK:         tl.places %{{.+}}, %{{.+}} if %[[C]] else keep
// CHECK-NOT:   tl.parallel
gpu.module @kept attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @kept(%K: memref<?x64xf16> {tl.align = 16 : i64}, %T: memref<32xi32>) kernel {
    %zero = arith.constant 0 : i32
    %S = tl.alloc : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (32, 64) {
      %row = tl.load %T[%i] : memref<32xi32>
      %c = arith.cmpi sge, %row, %zero : i32
      scf.if %c {
        %at = arith.index_cast %row : i32 to index
        %x = tl.load %K[%at, %j] : memref<?x64xf16>
        tl.store %x, %S[%i, %j] : memref<32x64xf16, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }
}

// -----

// Rows that are there under a condition: by a choice, and by a branch, in which
// zero may come first.
// CHECK-LABEL: gpu.func @conditions
// CHECK:       tl.copy {{.*}} places {
// CHECK:         %[[C:.+]] = arith.cmpi slt
// CHECK:         tl.places %{{.+}}, %{{.+}} if %[[C]]
// CHECK:       tl.copy {{.*}} places {
// CHECK:         %[[D:.+]] = arith.cmpi slt
// CHECK:         %[[NOT:.+]] = arith.xori %[[D]], %true
// CHECK:         tl.places %{{.+}}, %{{.+}} if %[[NOT]]
// CHECK-NOT:   tl.parallel
gpu.module @conditions attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @conditions(%K: memref<?x64xf16> {tl.align = 16 : i64}, %n: index) kernel {
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f16
    %S = tl.alloc : memref<32x32xf16, #gpu.address_space<workgroup>>
    %P = tl.alloc : memref<32x32xf16, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (32, 32) {
      %c = arith.cmpi slt, %i, %n : index
      %column = arith.addi %c8, %j : index
      %x = tl.load %K[%i, %column] : memref<?x64xf16>
      %y = arith.select %c, %x, %zero : f16
      tl.store %y, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %c = arith.cmpi slt, %i, %n : index
      scf.if %c {
        tl.store %zero, %P[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
      } else {
        %x = tl.load %K[%i, %j] : memref<?x64xf16>
        tl.store %x, %P[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }
}

// -----

// Loops that are no such copies: along columns; a condition on the column; a
// negative zero; another type; a tensor or a table that the kernel writes; a
// place that may have no answer; pieces of two bytes; two stores; zeros that go
// elsewhere.
// CHECK-LABEL: gpu.func @others
// CHECK-NOT:   places
gpu.module @others attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @others(%K: memref<64x64xf16> {tl.align = 16 : i64}, %T: memref<32xi32>, %W: memref<64x64xf16> {tl.align = 16 : i64}, %U: memref<64x63xf16>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f16
    %minus = arith.constant -0.0 : f16
    %S = tl.alloc : memref<32x32xf16, #gpu.address_space<workgroup>>
    %F = tl.alloc : memref<32x32xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %K[%j, %i] : memref<64x64xf16>
      tl.store %x, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %c = arith.cmpi slt, %j, %n : index
      %x = tl.load %K[%i, %j] : memref<64x64xf16>
      %y = arith.select %c, %x, %zero : f16
      tl.store %y, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %c = arith.cmpi slt, %i, %n : index
      %x = tl.load %K[%i, %j] : memref<64x64xf16>
      %y = arith.select %c, %x, %minus : f16
      tl.store %y, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %K[%i, %j] : memref<64x64xf16>
      %y = arith.extf %x : f16 to f32
      tl.store %y, %F[%i, %j] : memref<32x32xf32, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %W[%i, %j] : memref<64x64xf16>
      tl.store %x, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %at = arith.divsi %i, %n : index
      %x = tl.load %K[%at, %j] : memref<64x64xf16>
      tl.store %x, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %U[%i, %j] : memref<64x63xf16>
      tl.store %x, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %K[%i, %j] : memref<64x64xf16>
      tl.store %x, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
      tl.store %x, %W[%i, %j] : memref<64x64xf16>
    }
    tl.parallel (%i, %j) in (32, 16) {
      %c16 = arith.constant 16 : index
      %c = arith.cmpi slt, %i, %n : index
      scf.if %c {
        %right = arith.addi %j, %c16 : index
        tl.store %zero, %S[%i, %right] : memref<32x32xf16, #gpu.address_space<workgroup>>
      } else {
        %x = tl.load %K[%i, %j] : memref<64x64xf16>
        tl.store %x, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
      }
    }
    tl.parallel (%i, %j) in (32, 32) {
      %c = arith.cmpi slt, %j, %n : index
      scf.if %c {
        %x = tl.load %K[%i, %j] : memref<64x64xf16>
        tl.store %x, %S[%i, %j] : memref<32x32xf16, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }
}

// -----

// A box goes to a part of a tile that begins elsewhere.
// CHECK-LABEL: gpu.func @part
// CHECK-SAME:      %[[K:[^:]+]]: memref<64x64xf16>
// CHECK-SAME:      %[[ROW:[^:]+]]: index
// CHECK:         %[[S:.*]] = tl.alloc
// CHECK:         %[[AT:.*]] = arith.addi %[[ROW]], %{{.*}} : index
// CHECK:         tl.copy %[[K]][%[[AT]], %{{.*}}] to %[[S]][%{{.*}}, %{{.*}}] tile(32, 32)
// CHECK-NOT:     tl.parallel
gpu.module @part attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @part(%K: memref<64x64xf16> {tl.align = 16 : i64}, %row: index) kernel {
    %c32 = arith.constant 32 : index
    %S = tl.alloc : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (32, 32) {
      %r = arith.addi %row, %i : index
      %x = tl.load %K[%r, %j] : memref<64x64xf16>
      %right = arith.addi %j, %c32 : index
      tl.store %x, %S[%i, %right] : memref<32x64xf16, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}

// -----

// No box, or not to a part of its own: transposed; a diagonal; behind the end;
// in front of the beginning; pieces of two bytes; by an unknown number.
// CHECK-LABEL: gpu.func @no_part
// CHECK-NOT:   tl.copy
gpu.module @no_part attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @no_part(%K: memref<64x64xf16> {tl.align = 16 : i64}, %n: index) kernel {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c33 = arith.constant 33 : index
    %back = arith.constant -1 : index
    %S = tl.alloc : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %K[%j, %i] : memref<64x64xf16>
      %right = arith.addi %j, %c32 : index
      tl.store %x, %S[%i, %right] : memref<32x64xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %at = arith.addi %i, %j : index
      %x = tl.load %K[%i, %at] : memref<64x64xf16>
      %right = arith.addi %j, %c32 : index
      tl.store %x, %S[%i, %right] : memref<32x64xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %K[%i, %j] : memref<64x64xf16>
      %right = arith.addi %j, %c33 : index
      tl.store %x, %S[%i, %right] : memref<32x64xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %K[%i, %j] : memref<64x64xf16>
      %left = arith.addi %j, %back : index
      tl.store %x, %S[%i, %left] : memref<32x64xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %K[%i, %j] : memref<64x64xf16>
      %right = arith.addi %j, %c1 : index
      tl.store %x, %S[%i, %right] : memref<32x64xf16, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i, %j) in (32, 32) {
      %x = tl.load %K[%i, %j] : memref<64x64xf16>
      %right = arith.addi %j, %n : index
      tl.store %x, %S[%i, %right] : memref<32x64xf16, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}
