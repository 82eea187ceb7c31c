// Short loops whose index picks an element of a local array.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-unroll-array-loops))' | FileCheck %s

!array = memref<4xf32, #gpu.address_space<private>>

gpu.module @kernels {
  // Sums of numbers and of indices of short loops are numbers then. Fills and copies
  // of whole arrays know their elements.
  // CHECK-LABEL: gpu.func @elements
  // CHECK:         tl.fill
  // CHECK-NOT:     scf.for
  // CHECK:         %[[A:.+]] = tl.load %{{.+}}[%c0]
  // CHECK:         %[[B:.+]] = tl.load %{{.+}}[%c1]
  // CHECK:         %[[C:.+]] = tl.load %{{.+}}[%c2]
  // CHECK:         %[[D:.+]] = tl.load %{{.+}}[%c3]
  // CHECK-NOT:     tl.load
  // CHECK:         gpu.return
  gpu.func @elements(%S: memref<?xf32>, %zero: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %a = tl.alloc : !array
    tl.fill %a, %zero : !array
    scf.for %i = %c0 to %c2 step %c1 {
      %first = arith.muli %i, %c2 : index
      scf.for %j = %c0 to %c2 step %c1 {
        %k = arith.addi %first, %j : index
        %x = tl.load %a[%k] : !array
        tl.store %x, %S[%k] : memref<?xf32>
      }
    }
    gpu.return
  }

  // Not for an array with an index that stays unknown, in loops that are long, or
  // whose end is not known, or in the body of a parallel loop.
  // CHECK-LABEL: gpu.func @others
  // CHECK-COUNT-4: scf.for
  gpu.func @others(%S: memref<?xf32>, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c65 = arith.constant 65 : index
    %a = tl.alloc : !array
    %b = tl.alloc : !array
    %c = tl.alloc : !array
    scf.for %i = %c0 to %c4 step %c1 {
      %x = tl.load %a[%i] : !array
      tl.store %x, %a[%n] : !array
    }
    scf.for %i = %c0 to %c65 step %c1 {
      %x = tl.load %b[%i] : !array
      tl.store %x, %S[%i] : memref<?xf32>
    }
    scf.for %i = %c0 to %n step %c1 {
      %x = tl.load %b[%i] : !array
      tl.store %x, %S[%i] : memref<?xf32>
    }
    tl.parallel (%t) in (32) {
      scf.for %i = %c0 to %c4 step %c1 {
        %x = tl.load %c[%i] : !array
        tl.store %x, %S[%i] : memref<?xf32>
      }
    }
    gpu.return
  }

  // Loops in conditions count with all of their iterations: these would be 16^3.
  // CHECK-LABEL: gpu.func @nested
  // CHECK-COUNT-3: scf.for
  gpu.func @nested(%S: memref<?xf32>, %b: i1) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %a = tl.alloc : !array
    scf.for %i = %c0 to %c16 step %c1 {
      scf.if %b {
        scf.for %j = %c0 to %c16 step %c1 {
          scf.if %b {
            scf.for %k = %c0 to %c16 step %c1 {
              %ij = arith.addi %i, %j : index
              %ijk = arith.addi %ij, %k : index
              %at = arith.remui %ijk, %c4 : index
              %x = tl.load %a[%at] : !array
              tl.store %x, %S[%at] : memref<?xf32>
            }
          }
        }
      }
    }
    gpu.return
  }

  // A loop that says how often another one runs is written out before: 1, 2 and 4
  // times.
  // CHECK-LABEL: gpu.func @deciding
  // CHECK-NOT:     scf.for
  // CHECK-COUNT-7: tl.store
  // CHECK-NOT:     tl.store
  gpu.func @deciding(%x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %a = tl.alloc : !array
    scf.for %i = %c0 to %c3 step %c1 {
      %n = arith.shli %c1, %i : index
      scf.for %j = %c0 to %n step %c1 {
        tl.store %x, %a[%j] : !array
      }
    }
    gpu.return
  }

  // Of scalars more is written out than of tile ops.
  // CHECK-LABEL: gpu.func @scalars
  // CHECK:         scf.for
  // CHECK-COUNT-200: tl.store
  // CHECK:         scf.for
  // CHECK:           tl.parallel
  gpu.func @scalars(%S: memref<?xf32>, %x: f32, %y: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c200 = arith.constant 200 : index
    %a = tl.alloc : memref<200xf32, #gpu.address_space<private>>
    %b = tl.alloc : memref<200xf32, #gpu.address_space<private>>
    scf.for %i = %c0 to %c3 step %c1 {
      scf.for %j = %c0 to %c200 step %c1 {
        %s = arith.addf %x, %y : f32
        tl.store %s, %a[%j] : memref<200xf32, #gpu.address_space<private>>
      }
    }
    scf.for %j = %c0 to %c200 step %c1 {
      tl.store %x, %b[%j] : memref<200xf32, #gpu.address_space<private>>
      tl.parallel (%t) in (32) {
        tl.store %x, %S[%t] : memref<?xf32>
      }
    }
    gpu.return
  }

  // What becomes a number is not counted: 200 accesses, and eight operations that
  // say where each is.
  // CHECK-LABEL: gpu.func @numbers
  // CHECK-NOT:     scf.for
  // CHECK-COUNT-200: tl.store
  // CHECK-NOT:     tl.store
  gpu.func @numbers(%x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c50 = arith.constant 50 : index
    %a = tl.alloc : memref<400xf32, #gpu.address_space<private>>
    scf.for %i = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c50 step %c1 {
        %0 = arith.muli %i, %c50 : index
        %1 = arith.addi %0, %j : index
        %2 = arith.index_cast %1 : index to i32
        %3 = arith.addi %2, %2 : i32
        %4 = arith.index_cast %3 : i32 to index
        %5 = arith.shrsi %4, %c1 : index
        %6 = arith.addi %5, %1 : index
        %7 = arith.subi %6, %5 : index
        tl.store %x, %a[%7] : memref<400xf32, #gpu.address_space<private>>
      }
    }
    gpu.return
  }

  // A pipelined loop over an array in which nothing could run ahead is one without
  // stages, also where lanes give each other numbers.
  // CHECK-LABEL: gpu.func @shuffles
  // CHECK-NOT:     tl.pipelined
  // CHECK:         scf.for
  // CHECK-NOT:       scf.for
  // CHECK-COUNT-100: tl.shuffle
  // CHECK-NOT:       tl.shuffle
  // CHECK:         gpu.return
  gpu.func @shuffles(%x: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %c100 = arith.constant 100 : index
    %a = tl.alloc : memref<100xi32, #gpu.address_space<private>>
    %f = tl.alloc : memref<32xi32, #tl.fragment>
    %l = tl.alloc : memref<32xi32, #tl.fragment>
    %g = tl.alloc : memref<32xi32, #tl.fragment>
    %t = gpu.thread_id x
    scf.for %i = %c0 to %c5 step %c1 {
      tl.pipelined %j = %c0 to %c100 stages(1) {
        %0 = tl.load %a[%j] : memref<100xi32, #gpu.address_space<private>>
        tl.store %0, %f[%t] : memref<32xi32, #tl.fragment>
        tl.store %x, %l[%t] : memref<32xi32, #tl.fragment>
        tl.shuffle %f, %l to %g : memref<32xi32, #tl.fragment>, memref<32xi32, #tl.fragment>
        %1 = tl.load %g[%t] : memref<32xi32, #tl.fragment>
        tl.store %1, %a[%j] : memref<100xi32, #gpu.address_space<private>>
      }
    }
    gpu.return
  }

  // One that reads a tensor stays, and one that holds no array.
  // CHECK-LABEL: gpu.func @ahead
  // CHECK-COUNT-2: tl.pipelined
  gpu.func @ahead(%S: memref<?xf32>, %n: index, %x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %s = tl.alloc : memref<4xf32, #gpu.address_space<workgroup>>
    %a = tl.alloc : !array
    tl.pipelined %j = %c0 to %c4 stages(2) {
      %0 = tl.load %S[%j] : memref<?xf32>
      tl.store %0, %a[%j] : !array
    }
    tl.pipelined %j = %c0 to %c4 stages(2) {
      tl.store %x, %s[%j] : memref<4xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}
