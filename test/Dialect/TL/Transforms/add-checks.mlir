// RUN: tl-opt %s --split-input-file --tl-add-checks | FileCheck %s

// The record is the last parameter, and the module describes what reports to it.
// CHECK:       module attributes {tl.checks = [{
// CHECK-SAME:    access = "read", box = [64], buffer = "A", {{.*}}grid = 1 : i64, launch = 0 : i64, line = 23 : i64, runner = "iteration", shape = [-9223372036854775808], space = "tensor"
// CHECK-LABEL: func.func @read
// CHECK-SAME:    %[[RECORD:[a-z_0-9]+]]: memref<32769xi64> {tl.align = 8 : i64, tl.name = "tl_checks", tl.record, tl.shape = [""]}
// CHECK:         %[[NOTILE:[^ ]+]] = arith.ori
// CHECK:         tl.parallel (%[[I:.+]]) in (64)
// CHECK:           %[[NOTE:.+]] = tl.alloc : memref<1xi32, #gpu.address_space<private>>
// CHECK:           %[[EXTENT:.+]] = arith.index_cast %{{.+}} : index to i64
// CHECK:           %[[INDEX:.+]] = arith.index_cast %[[I]] : index to i64
// CHECK:           %[[OUTSIDE:[^ ]+]] = arith.cmpi uge, %[[INDEX]], %[[EXTENT]]
// The end of a tile may be outside.
// CHECK:           %[[WRONG:[^ ]+]] = arith.ori %[[NOTILE]], %{{.+}} : i1
// CHECK:           %[[BAD:[^ ]+]] = arith.andi %[[OUTSIDE]], %[[WRONG]] : i1
// The first finding of an iteration is noted.
// CHECK:           %[[NEW:[^ ]+]] = arith.andi %[[BAD]], %{{.+}} : i1
// CHECK:           %[[CODE:[^ ]+]] = arith.select %[[NEW]]
// CHECK:           tl.store %[[CODE]], %[[NOTE]]
// CHECK:           tl.load %{{.+}}[%[[I]]] : memref<?xf32>
// The index of `B` is seen to be inside.
// CHECK-NOT:       arith.select
// CHECK:           tl.store %{{.+}}, %{{.+}}[%[[I]]] : memref<64xf32>
// It is reported at the iteration's end, if nothing was before.
// CHECK:           %[[FOUND:[^ ]+]] = tl.load %[[NOTE]]
// CHECK:           %[[ANY:[^ ]+]] = arith.cmpi ne, %[[FOUND]]
// CHECK:           scf.if %[[ANY]] {
// CHECK:             tl.load %[[RECORD]][%{{.+}}]
// CHECK:             scf.if
// CHECK-COUNT-9:       tl.store %{{.+}}, %[[RECORD]]
func.func @read(%A: memref<?xf32> loc("A"), %B: memref<64xf32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%b) in (%c1) threads(64) {
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<?xf32> loc("add-checks.mlir":23:5)
      tl.store %x, %B[%i] : memref<64xf32>
    }
  }
  return
}

// -----

// On-chip memory is not touched outside of the buffer: a write is left out, a
// read is led to the beginning.
// CHECK-LABEL: func.func @on_chip
// CHECK:         tl.parallel
// CHECK:           %[[BAD:[^ ]+]] = arith.cmpi uge
// CHECK:           %[[GOOD:[^ ]+]] = arith.xori %[[BAD]], %{{.+}} : i1
// CHECK:           scf.if %[[GOOD]] {
// CHECK-NEXT:        tl.store %{{.+}}, %[[S:[^ ]+]][%{{.+}}] : memref<64xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:      }
// CHECK:         tl.parallel
// CHECK:           %[[BAD2:[^ ]+]] = arith.cmpi uge
// CHECK:           %[[AT:[^ ]+]] = arith.select %[[BAD2]], %{{c0.*}}, %{{.+}} : index
// CHECK:           tl.load %[[S]][%[[AT]]]
func.func @on_chip(%n: index, %B: memref<64xf32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tl.kernel blocks(%b) in (%c1) threads(64) {
    %S = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    tl.fill %S, %zero : memref<64xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (64) {
      %at = arith.addi %i, %n : index
      tl.store %zero, %S[%at] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    tl.parallel (%i) in (64) {
      %at = arith.addi %i, %n : index
      %x = tl.load %S[%at] : memref<64xf32, #gpu.address_space<workgroup>>
      tl.store %x, %B[%i] : memref<64xf32>
    }
  }
  return
}

// -----

// A tile of which only a part is seen to be written has a shadow.
// CHECK-LABEL: func.func @shadow
// CHECK:         %[[NOTES:.+]] = tl.alloc : memref<64xi8, #gpu.address_space<workgroup>>
// CHECK:         tl.fill %[[NOTES]], %{{.+}}
// CHECK:         tl.parallel (%[[I:.+]]) in (32)
// CHECK:           tl.store %{{.+}}, %{{.+}}[%[[I]]] : memref<64xf32
// CHECK:           tl.store %{{.+}}, %[[NOTES]][%[[I]]]
// CHECK:         tl.parallel (%[[J:.+]]) in (64)
// CHECK:           %[[NOTE:.+]] = tl.load %[[NOTES]][%[[J]]]
// CHECK:           %[[UNSET:.+]] = arith.cmpi eq, %[[NOTE]]
// What the copy drops is not read.
// CHECK:           %[[INSIDE:.+]] = arith.xori
// CHECK:           arith.andi %[[UNSET]], %[[INSIDE]]
// CHECK:         tl.copy
func.func @shadow(%B: memref<?xf32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  tl.kernel blocks(%b) in (%c1) threads(64) {
    %S = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (32) {
      tl.store %zero, %S[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    tl.copy %S to %B tile(64) : memref<64xf32, #gpu.address_space<workgroup>> to memref<?xf32>
  }
  return
}

// -----

// Nothing is asked of tiles that are written as wholes, of tiles of copies that
// leave a tensor, and of loops that would run ahead and now do not.
// CHECK:       tl.checks = []
// CHECK-LABEL: func.func @clean
// CHECK-NOT:     memref<{{.*}}xi8
// CHECK-NOT:     scf.if
// CHECK:         tl.pipelined {{.*}} stages(1)
func.func @clean(%A: memref<?xf16>, %C: memref<?x?xf32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  tl.kernel blocks(%b) in (%c1) threads(128) {
    %As = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<64x64xf32, #tl.fragment>
    tl.fill %acc, %zero : memref<64x64xf32, #tl.fragment>
    tl.pipelined %k = %c0 to %c9 stages(3) {
      tl.copy %A[%k] to %As tile(64) : memref<?xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
    }
    tl.copy %acc to %C[%b, %b] tile(64, 64) : memref<64x64xf32, #tl.fragment> to memref<?x?xf32>
  }
  return
}

// -----

// What the block divides is reported by one iteration; the front end's guard of
// the divisor is looked through.
// CHECK-LABEL: func.func @division
// CHECK-SAME:    %[[D:.+]]: i32
// CHECK:         %[[ZERO:.+]] = arith.cmpi eq, %[[D]], %{{.+}} : i32
// CHECK:         tl.parallel (%{{.+}}) in (1)
// CHECK:           scf.if %[[ZERO]]
// CHECK:         arith.divui
func.func @division(%d: i32, %guard: i1, %B: memref<1xi32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  tl.kernel blocks(%b) in (%c1) threads(64) {
    %safe = arith.select %guard, %one, %d : i32 loc("f.py":3:4)
    %q = arith.divui %one, %safe : i32 loc("f.py":3:4)
    tl.store %q, %B[%c0] : memref<1xi32>
  }
  return
}

// -----

// A choice of the block between values of threads is a statement of threads:
// what it divides is reported there, and not by a statement of the block.
// CHECK-LABEL: func.func @choice
// CHECK-SAME:    %[[D:[^:]+]]: i32
// CHECK-NOT:     tl.parallel
// CHECK:         scf.if %{{.+}} -> (i32)
// CHECK:           %[[ZERO:.+]] = arith.cmpi eq, %[[D]], %{{.+}} : i32
// CHECK:           scf.if %[[ZERO]]
// CHECK:           arith.floordivsi
// CHECK-NOT:     tl.parallel
func.func @choice(%d: i32, %chosen: i1, %B: memref<64xi32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  tl.kernel blocks(%b) in (%c1) threads(64) {
    %t = gpu.thread_id x
    %number = arith.index_cast %t : index to i32
    %value = scf.if %chosen -> (i32) {
      %q = arith.floordivsi %one, %d : i32
      %sum = arith.addi %q, %number : i32
      scf.yield %sum : i32
    } else {
      scf.yield %one : i32
    }
    tl.store %value, %B[%t] : memref<64xi32>
  }
  return
}

// -----

// A loop that copies a tile element by element may leave the tensor, and not
// the tile.
// CHECK-LABEL: func.func @copied
// CHECK:         tl.parallel
// CHECK:           %[[BAD:[^ ]+]] = arith.cmpi uge
// CHECK-NOT:       arith.cmpi uge
// CHECK:           scf.if
// CHECK-NEXT:        tl.store %{{.+}}, %{{.+}} : memref<64xf32, #gpu.address_space<workgroup>>
func.func @copied(%n: index, %A: memref<?xf32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel blocks(%b) in (%c1) threads(64) {
    %S = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i) in (64) attributes {tl.copied} {
      %at = arith.addi %i, %n : index
      %x = tl.load %A[%at] : memref<?xf32>
      tl.store %x, %S[%at] : memref<64xf32, #gpu.address_space<workgroup>>
    }
  }
  return
}

// -----

// The length of a part is asked where it is not seen to fit; that of two parts
// must be the same, and one below zero is zero.
// CHECK:       access = "slice", {{.*}}buffer = "S"
// CHECK-SAME:  access = "copy", {{.*}}buffer = "A"
// CHECK-NOT:   access
// CHECK-LABEL: func.func @lengths
// CHECK-SAME:    %[[N:[a-z_0-9]+]]: index, %[[M:[a-z_0-9]+]]: index
// CHECK:         %[[WIDE:.+]] = arith.index_cast %[[N]] : index to i64
// CHECK:         %[[LENGTH:.+]] = arith.maxsi %[[WIDE]], %{{.+}} : i64
// CHECK:         %[[ROOM:.+]] = arith.maxsi
// CHECK:         arith.cmpi sgt, %[[LENGTH]], %[[ROOM]] : i64
// CHECK:         %[[LENGTH2:.+]] = arith.maxsi
// CHECK:         %[[OTHER:.+]] = arith.maxsi
// CHECK:         arith.cmpi ne, %[[LENGTH2]], %[[OTHER]] : i64
// CHECK:         tl.cut at_most
func.func @lengths(%n: index, %m: index, %A: memref<?xf32> loc("A")) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  tl.kernel blocks(%b) in (%c1) threads(64) {
    %S = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>> loc("S")
    tl.cut inside %S[0] length(%n) extent(%c64) : memref<64xf32, #gpu.address_space<workgroup>>
    tl.cut equal %A[0] length(%n) extent(%m) : memref<?xf32>
    tl.cut at_most %A[0] length(%c1) extent(%c64) : memref<?xf32>
  }
  return
}
