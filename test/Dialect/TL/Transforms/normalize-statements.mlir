// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tl-normalize-statements))' | FileCheck %s

// A store is executed once for each block, with what only it needs.
// CHECK-LABEL: gpu.func @once
// CHECK-NOT:     tl.load
// CHECK:         tl.parallel (%{{.+}}) in (1) {
// CHECK-NEXT:      %[[X:.+]] = tl.load %[[C:.+]][%[[I:.+]]]
// CHECK-NEXT:      %[[Y:.+]] = arith.addf %[[X]]
// CHECK-NEXT:      tl.store %[[Y]], %[[C]][%[[I]]]
// CHECK-NEXT:    }
gpu.module @once {
  gpu.func @once(%C: memref<4xf32>, %i: index, %one: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.load %C[%i] : memref<4xf32>
    %y = arith.addf %x, %one : f32
    tl.store %y, %C[%i] : memref<4xf32>
    gpu.return
  }
}

// -----

// What others use too stays where it is, and is read before it is overwritten.
// CHECK-LABEL: gpu.func @used_by_others
// CHECK:         %[[X:.+]] = tl.load
// CHECK-NEXT:    tl.parallel (%{{.+}}) in (1) {
// CHECK-NEXT:      tl.store
// CHECK-NEXT:    }
// CHECK-NEXT:    tl.parallel (%{{.+}}) in (64) {
// CHECK-NEXT:      tl.store %[[X]]
gpu.module @used_by_others {
  gpu.func @used_by_others(%C: memref<64xf32>, %D: memref<64xf32>, %i: index, %v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.load %C[%i] : memref<64xf32>
    tl.store %v, %C[%i] : memref<64xf32>
    tl.parallel (%j) in (64) {
      tl.store %x, %D[%j] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// One thread does stores that follow each other, in order.
// CHECK-LABEL: gpu.func @in_a_row
// CHECK:         tl.parallel (%{{.+}}) in (1) {
// CHECK-NEXT:      tl.store %{{.+}}, %[[S:.+]][%[[I:.+]]]
// CHECK-NEXT:      %[[X:.+]] = tl.load %[[S]][%[[I]]]
// CHECK-NEXT:      tl.store %[[X]], %[[S]][%{{.+}}]
// CHECK-NEXT:    }
// CHECK-NOT:     tl.parallel
gpu.module @in_a_row {
  gpu.func @in_a_row(%i: index, %j: index, %v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %S = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    tl.store %v, %S[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    %x = tl.load %S[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    tl.store %x, %S[%j] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// A variable of the block has the same value in every thread: all assign it.
// CHECK-LABEL: gpu.func @variable
// CHECK-NOT:     tl.parallel
// CHECK:         scf.for
// CHECK:           tl.store %{{.+}}, %[[V:.+]][
gpu.module @variable {
  gpu.func @variable(%n: index, %v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    scf.for %i = %c0 to %n step %c1 {
      tl.store %v, %x[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    gpu.return
  }
}

// -----

// A branch on the thread's number is executed once for each thread, as a whole.
// CHECK-LABEL: gpu.func @branch
// CHECK-NOT:     gpu.thread_id
// CHECK:         tl.parallel (%[[T:.+]]) in (128) {
// CHECK-NEXT:      %[[IS:.+]] = arith.cmpi eq, %[[T]]
// CHECK-NEXT:      scf.if %[[IS]] {
// CHECK-NEXT:        %[[X:.+]] = tl.load
// CHECK-NEXT:        tl.store %[[X]]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.return
gpu.module @branch {
  gpu.func @branch(%A: memref<64xf32>, %B: memref<64xf32>, %i: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %is = arith.cmpi eq, %t, %c0 : index
    scf.if %is {
      %x = tl.load %A[%i] : memref<64xf32>
      tl.store %x, %B[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// Blocks of several dimensions: the last index is x, and y is 0 in blocks that
// are one thread high.
// CHECK-LABEL: gpu.func @dimensions
// CHECK:         tl.parallel (%[[Z:.+]], %[[X:.+]]) in (2, 32) {
// CHECK-NEXT:      %[[Y:.+]] = arith.constant 0 : index
// CHECK-NEXT:      tl.store %{{.+}}, %{{.+}}[%[[Z]], %[[Y]], %[[X]]]
gpu.module @dimensions {
  gpu.func @dimensions(%A: memref<2x4x32xf32>, %v: f32) kernel attributes {known_block_size = array<i32: 32, 1, 2>} {
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %z = gpu.thread_id z
    tl.store %v, %A[%z, %y, %x] : memref<2x4x32xf32>
    gpu.return
  }
}

// -----

// Statements that follow each other are one loop over threads, and a loop that all
// threads run alike is one in it; what a thread has in a variable is in its
// element of a fragment.
// CHECK-LABEL: gpu.func @sum
// CHECK:         %[[V:.+]] = tl.alloc : memref<128xf32, #tl.fragment>
// CHECK-NEXT:    tl.parallel (%[[T:.+]]) in (128) {
// CHECK-NEXT:      tl.store %{{.+}}, %[[V]][%[[T]]]
// CHECK-NEXT:      scf.for %[[K:.+]] =
// CHECK-NEXT:        %[[AT:.+]] = arith.addi %[[K]], %[[T]]
// CHECK-NEXT:        %[[A:.+]] = tl.load %{{.+}}[%[[AT]]]
// CHECK-NEXT:        %[[O:.+]] = tl.load %[[V]][%[[T]]]
// CHECK-NEXT:        %[[S:.+]] = arith.addf %[[A]], %[[O]]
// CHECK-NEXT:        tl.store %[[S]], %[[V]][%[[T]]]
gpu.module @sum {
  gpu.func @sum(%A: memref<?xf32>, %n: index, %zero: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    tl.store %zero, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    scf.for %k = %c0 to %n step %c1 {
      %p = arith.addi %k, %t : index
      %a = tl.load %A[%p] : memref<?xf32>
      %o = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
      %s = arith.addf %a, %o : f32
      tl.store %s, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    }
    gpu.return
  }
}

// -----

// Of an array with computed indices each thread holds its row.
// CHECK-LABEL: gpu.func @array
// CHECK:         %[[V:.+]] = tl.alloc layout(#tl.fragment_layout<shape = [128, 4], thread = [128] : [4], value = [4] : [1]>) : memref<128x4xi32, #tl.fragment>
// CHECK:         tl.parallel (%[[T:.+]]) in (128) {
// CHECK:           tl.store %{{.+}}, %[[V]][%[[T]], %{{.+}}]
gpu.module @array {
  gpu.func @array(%i: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %x = arith.index_cast %t : index to i32
    %v = tl.alloc : memref<4xi32, #gpu.address_space<private>>
    tl.store %x, %v[%i] : memref<4xi32, #gpu.address_space<private>>
    gpu.return
  }
}

// -----

// A value is read where the program reads it: in front of the store to the same
// buffer, in a loop of its own. One that is not overwritten is read where it is
// used.
// CHECK-LABEL: gpu.func @order
// CHECK-SAME:    (%[[A:.+]]: memref<128xf32>, %[[B:.+]]: memref<128xf32>,
// CHECK:         %[[F:.+]] = tl.alloc : memref<128xf32, #tl.fragment>
// CHECK-NEXT:    tl.parallel (%[[T:.+]]) in (128) {
// CHECK-NEXT:      %[[X:.+]] = tl.load %[[A]][%[[T]]]
// CHECK-NEXT:      tl.store %[[X]], %[[F]][%[[T]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tl.parallel (%[[U:.+]]) in (128) {
// CHECK-NEXT:      tl.store %{{.+}}, %[[A]][%[[U]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tl.parallel (%[[W:.+]]) in (128) {
// CHECK-DAG:       %[[Y:.+]] = tl.load %[[B]][%[[W]]]
// CHECK-DAG:       %[[Z:.+]] = tl.load %[[F]][%[[W]]]
// CHECK:           arith.addf %[[Z]], %[[Y]]
gpu.module @order {
  gpu.func @order(%A: memref<128xf32>, %B: memref<128xf32>, %v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %x = tl.load %A[%t] : memref<128xf32>
    %y = tl.load %B[%t] : memref<128xf32>
    tl.store %v, %A[%t] : memref<128xf32>
    %z = arith.addf %x, %y : f32
    tl.store %z, %B[%t] : memref<128xf32>
    gpu.return
  }
}

// -----

// Threads that read each other's elements do so before any is overwritten.
// CHECK-LABEL: gpu.func @shift
// CHECK:         tl.parallel (%[[T:.+]]) in (128) {
// CHECK-NEXT:      %[[N:.+]] = arith.addi %[[T]]
// CHECK-NEXT:      %[[X:.+]] = tl.load %[[A:.+]][%[[N]]]
// CHECK-NEXT:      tl.store %[[X]], %[[F:.+]][%[[T]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tl.parallel (%[[U:.+]]) in (128) {
// CHECK-NEXT:      %[[Y:.+]] = tl.load %[[F]][%[[U]]]
// CHECK-NEXT:      tl.store %[[Y]], %[[A]][%[[U]]]
gpu.module @shift {
  gpu.func @shift(%A: memref<128xf32>, %one: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %n = arith.addi %t, %one : index
    %x = tl.load %A[%n] : memref<128xf32>
    tl.store %x, %A[%t] : memref<128xf32>
    gpu.return
  }
}

// -----

// An element that a thread changes is its own.
// CHECK-LABEL: gpu.func @change
// CHECK:         tl.parallel (%[[T:.+]]) in (128) {
// CHECK-NEXT:      %[[X:.+]] = tl.load %[[A:.+]][%[[T]]]
// CHECK-NEXT:      %[[Y:.+]] = arith.addf %[[X]]
// CHECK-NEXT:      tl.store %[[Y]], %[[A]][%[[T]]]
gpu.module @change {
  gpu.func @change(%A: memref<128xf32>, %v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %x = tl.load %A[%t] : memref<128xf32>
    %y = arith.addf %x, %v : f32
    tl.store %y, %A[%t] : memref<128xf32>
    gpu.return
  }
}

// -----

// An index that is kept is 32 bits wide, a condition one byte.
// CHECK-LABEL: gpu.func @kept_types
// CHECK-DAG:     tl.alloc : memref<128xi32, #tl.fragment>
// CHECK-DAG:     tl.alloc : memref<128xi8, #tl.fragment>
gpu.module @kept_types {
  gpu.func @kept_types(%I: memref<128xi32>, %B: memref<128xi32>, %v: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %is = arith.cmpi eq, %t, %c0 : index
    %at, %c = scf.if %is -> (index, i1) {
      %i = tl.load %I[%t] : memref<128xi32>
      %x = arith.index_cast %i : i32 to index
      %y = arith.cmpi eq, %i, %zero : i32
      scf.yield %x, %y : index, i1
    } else {
      %no = arith.constant false
      scf.yield %t, %no : index, i1
    }
    tl.store %v, %I[%t] : memref<128xi32>
    scf.if %c {
      tl.store %v, %B[%at] : memref<128xi32>
    }
    gpu.return
  }
}

// -----

// Arrays are filled and copied by loads and stores where scalars stand, and
// copied to so that each thread has all of it.
// CHECK-LABEL: gpu.func @arrays
// CHECK-NOT:     tl.copy
// CHECK:         scf.for
// CHECK:           tl.load %{{.+}} : memref<64xf32>
// CHECK:         tl.parallel (%{{.+}}) in (64) {
// CHECK-COUNT-4:   tl.store %{{.+}} : memref<4xf32, #gpu.address_space<private>>
// CHECK-NOT:     tl.fill
gpu.module @arrays {
  gpu.func @arrays(%A: memref<64xf32>, %zero: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %v = tl.alloc : memref<64xf32, #gpu.address_space<private>>
    tl.copy %A to %v tile(64) : memref<64xf32> to memref<64xf32, #gpu.address_space<private>>
    tl.parallel (%i) in (64) {
      %w = tl.alloc : memref<4xf32, #gpu.address_space<private>>
      tl.fill %w, %zero : memref<4xf32, #gpu.address_space<private>>
    }
    gpu.return
  }
}

// -----

// An element of a fragment reaches all threads: the only one by a copy to a
// variable, others through shared memory.
// CHECK-LABEL: gpu.func @elements
// CHECK:         %[[VARIABLE:.+]] = tl.alloc : memref<1xf32, #gpu.address_space<private>>
// CHECK-NEXT:    tl.copy %{{.+}} to %[[VARIABLE]] tile(1)
// CHECK-NEXT:    tl.load %[[VARIABLE]][%c0
// CHECK:         %[[CELL:.+]] = tl.alloc : memref<1xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:    tl.parallel (%[[ONE:.+]]) in (1) {
// CHECK-NEXT:      %[[X:.+]] = tl.load %{{.+}}[%arg0] : memref<64xf32, #tl.fragment>
// CHECK-NEXT:      tl.store %[[X]], %[[CELL]][%[[ONE]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    tl.load %[[CELL]][%c0
// CHECK:         tl.parallel (%{{.+}}) in (1) {
// CHECK-NEXT:      tl.store %{{.+}}, %{{.+}}[%arg0] : memref<64xf32, #tl.fragment>
gpu.module @elements {
  gpu.func @elements(%i: index, %D: memref<64xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %one = tl.alloc : memref<1xf32, #tl.fragment>
    %many = tl.alloc : memref<64xf32, #tl.fragment>
    %x = tl.load %one[%c0] : memref<1xf32, #tl.fragment>
    %y = tl.load %many[%i] : memref<64xf32, #tl.fragment>
    %z = arith.addf %x, %y : f32
    tl.store %z, %many[%i] : memref<64xf32, #tl.fragment>
    tl.parallel (%j) in (64) {
      tl.store %z, %D[%j] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// Elements of a fragment reach the arrays of all threads through shared memory.
// CHECK-LABEL: gpu.func @copied_to_an_array
// CHECK:         %[[TILE:.+]] = tl.alloc : memref<2xf16, #gpu.address_space<workgroup>>
// CHECK-NEXT:    tl.copy %{{.+}}[%{{.+}}] to %[[TILE]] tile(2)
// CHECK:         %[[X:.+]] = tl.load %[[TILE]][%c0
// CHECK:         %[[W:.+]] = arith.extf %[[X]] : f16 to f32
// CHECK:         tl.store %[[W]], %{{.+}}[%c0{{.*}}] : memref<2xf32, #gpu.address_space<private>>
// CHECK:         tl.load %[[TILE]][%c1
// CHECK-NOT:     tl.copy
gpu.module @copied_to_an_array {
  gpu.func @copied_to_an_array(%i: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %many = tl.alloc : memref<64xf16, #tl.fragment>
    %array = tl.alloc : memref<2xf32, #gpu.address_space<private>>
    tl.copy %many[%i] to %array tile(2) : memref<64xf16, #tl.fragment> to memref<2xf32, #gpu.address_space<private>>
    gpu.return
  }
}

// -----

// An atomic operation of the block is done by one thread. What it found, all
// threads read where that one left it.
// CHECK-LABEL: gpu.func @atomic_once
// CHECK-SAME:    (%[[C:.+]]: memref<4xi32>, %[[I:.+]]: index, %[[ONE:.+]]: i32)
// CHECK:         tl.parallel (%{{.+}}) in (1) {
// CHECK-NEXT:      tl.atomic add %[[ONE]], %[[C]][%[[I]]]
// CHECK-NEXT:    }
// CHECK:         %[[CELL:.+]] = tl.alloc : memref<1xi32, #gpu.address_space<workgroup>>
// CHECK:         tl.parallel (%{{.+}}) in (1) {
// CHECK-NEXT:      %[[OLD:.+]] = tl.atomic add %[[ONE]], %[[C]][%[[I]]] order(acquire)
// CHECK-NEXT:      tl.store %[[OLD]], %[[CELL]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[X:.+]] = tl.load %[[CELL]]
// CHECK-NEXT:    tl.parallel (%{{.+}}) in (64) {
// CHECK-NEXT:      tl.atomic max %[[X]]
gpu.module @atomic_once {
  gpu.func @atomic_once(%C: memref<4xi32>, %i: index, %one: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %0 = tl.atomic add %one, %C[%i] : memref<4xi32>
    gpu.barrier
    %old = tl.atomic add %one, %C[%i] order(acquire) : memref<4xi32>
    tl.parallel (%k) in (64) {
      %1 = tl.atomic max %old, %C[%k] : memref<4xi32>
    }
    gpu.return
  }
}

// -----

// One that depends on the thread is done once for each; what each found, it keeps.
// CHECK-LABEL: gpu.func @atomic_of_threads
// CHECK:         %[[KEPT:.+]] = tl.alloc : memref<128xi32, #tl.fragment>
// CHECK:         tl.parallel (%[[T:.+]]) in (128) {
// CHECK-NEXT:      %[[OLD:.+]] = tl.atomic add %{{.+}}, %{{.+}}[%[[T]]]
// CHECK-NEXT:      tl.store %[[OLD]], %[[KEPT]][%[[T]]]
// CHECK:         tl.parallel (%[[U:.+]]) in (128) {
// CHECK-NEXT:      %[[X:.+]] = tl.load %[[KEPT]][%[[U]]]
// CHECK-NEXT:      tl.atomic max %[[X]], %{{.+}}[%[[U]]]
gpu.module @atomic_of_threads {
  gpu.func @atomic_of_threads(%C: memref<128xi32>, %one: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %old = tl.atomic add %one, %C[%t] : memref<128xi32>
    %0 = tl.atomic max %old, %C[%t] : memref<128xi32>
    gpu.return
  }
}

// -----

// What another thread's operation may change is read before any of them.
// CHECK-LABEL: gpu.func @atomic_overwrites
// CHECK:         tl.parallel (%[[T:.+]]) in (128) {
// CHECK-NEXT:      tl.load
// CHECK:         tl.parallel
// CHECK-NOT:       tl.load %{{.+}} : memref<128xi32>
// CHECK:           tl.atomic add
gpu.module @atomic_overwrites {
  gpu.func @atomic_overwrites(%C: memref<128xi32>, %i: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %x = tl.load %C[%t] : memref<128xi32>
    %0 = tl.atomic add %x, %C[%i] : memref<128xi32>
    gpu.return
  }
}

// -----

// A branch whose result is another one for each thread is computed as a whole,
// with its variables, in the statement that uses it.
// CHECK-LABEL: gpu.func @branch_with_a_variable
// CHECK:         tl.parallel (%{{.+}}) in (32) {
// CHECK:           scf.if
// CHECK-NEXT:        tl.load
// CHECK-NEXT:        tl.alloc
// CHECK-NEXT:        tl.store
// CHECK:           tl.store
// CHECK-NOT:     scf.if
gpu.module @branch_with_a_variable {
  gpu.func @branch_with_a_variable(%A: memref<32xf32>, %C: memref<32xf32>, %c: i1, %v: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %zero = arith.constant 0 : index
    %r = scf.if %c -> f32 {
      %x = tl.load %A[%t] : memref<32xf32>
      %local = tl.alloc : memref<1xf32, #gpu.address_space<private>>
      tl.store %x, %local[%zero] : memref<1xf32, #gpu.address_space<private>>
      %y = tl.load %local[%zero] : memref<1xf32, #gpu.address_space<private>>
      scf.yield %y : f32
    } else {
      scf.yield %v : f32
    }
    tl.store %r, %C[%t] : memref<32xf32>
    gpu.return
  }
}

// -----

// Threads that keep to their own rows of a tile go on without the others.
// CHECK-LABEL: gpu.func @own_rows
// CHECK:         tl.parallel (%[[T:.+]]) in (64) {
// CHECK-NEXT:      scf.for %[[K:.+]] =
// CHECK:             tl.store %{{.+}}, %[[S:.+]][%[[T]], %[[K]]]
// CHECK:           scf.for %[[L:.+]] =
// CHECK:             tl.load %[[S]][%[[T]], %[[L]]]
// CHECK-NOT:     tl.parallel
gpu.module @own_rows {
  gpu.func @own_rows(%A: memref<64x8xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %S = tl.alloc : memref<64x8xf32, #gpu.address_space<workgroup>>
    %v = tl.alloc : memref<8xf32, #gpu.address_space<private>>
    scf.for %k = %c0 to %c8 step %c1 {
      %a = tl.load %A[%t, %k] : memref<64x8xf32>
      tl.store %a, %S[%t, %k] : memref<64x8xf32, #gpu.address_space<workgroup>>
    }
    scf.for %k = %c0 to %c8 step %c1 {
      %a = tl.load %S[%t, %k] : memref<64x8xf32, #gpu.address_space<workgroup>>
      tl.store %a, %v[%k] : memref<8xf32, #gpu.address_space<private>>
    }
    gpu.return
  }
}

// -----

// A thread that reads what another one has written waits for it: the sequence is
// cut there. Within each part threads go on.
// CHECK-LABEL: gpu.func @others_rows
// CHECK:         tl.parallel (%[[T:.+]]) in (64) {
// CHECK:           scf.for
// CHECK:             tl.load %[[V:.+]][%[[T]], %{{.+}}] : memref<64x8xf32, #tl.fragment>
// CHECK:             tl.store %{{.+}}, %[[S:.+]][%[[T]], %{{.+}}]
// CHECK:         tl.parallel (%[[U:.+]]) in (64) {
// CHECK:           %[[O:.+]] = arith.xori %[[U]]
// CHECK:           scf.for
// CHECK:             tl.load %[[S]][%[[O]], %{{.+}}]
// CHECK:             tl.store %{{.+}}, %[[V]][%[[U]], %{{.+}}]
// CHECK-NOT:     tl.parallel
gpu.module @others_rows {
  gpu.func @others_rows(%A: memref<64x8xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %o = arith.xori %t, %c1 : index
    %S = tl.alloc : memref<64x8xf32, #gpu.address_space<workgroup>>
    %v = tl.alloc : memref<8xf32, #gpu.address_space<private>>
    scf.for %k = %c0 to %c8 step %c1 {
      %a = tl.load %A[%t, %k] : memref<64x8xf32>
      tl.store %a, %v[%k] : memref<8xf32, #gpu.address_space<private>>
    }
    scf.for %k = %c0 to %c8 step %c1 {
      %a = tl.load %v[%k] : memref<8xf32, #gpu.address_space<private>>
      tl.store %a, %S[%t, %k] : memref<64x8xf32, #gpu.address_space<workgroup>>
    }
    scf.for %k = %c0 to %c8 step %c1 {
      %a = tl.load %S[%o, %k] : memref<64x8xf32, #gpu.address_space<workgroup>>
      tl.store %a, %v[%k] : memref<8xf32, #gpu.address_space<private>>
    }
    gpu.return
  }
}

// -----

// Not in one loop: threads that write each other's elements in the iterations of a
// loop, whose last one wins.
// CHECK-LABEL: gpu.func @around
// CHECK:         scf.for
// CHECK:           tl.parallel
// CHECK:             tl.store %{{.+}}, %{{.+}}[%{{.+}}] : memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @around {
  gpu.func @around(%x: f32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %S = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    %v = tl.alloc : memref<8xf32, #gpu.address_space<private>>
    scf.for %k = %c0 to %c8 step %c1 {
      %p = arith.addi %t, %k : index
      %q = arith.remui %p, %c64 : index
      %y = arith.index_cast %p : index to i32
      %z = arith.sitofp %y : i32 to f32
      tl.store %z, %v[%k] : memref<8xf32, #gpu.address_space<private>>
      tl.store %z, %S[%q] : memref<64xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}

// -----

// What the block does once, in a loop of a sequence, its first thread does.
// CHECK-LABEL: gpu.func @first
// CHECK:         tl.parallel (%[[T:.+]]) in (64) {
// CHECK:           %[[IS:.+]] = arith.cmpi eq, %[[T]], %c0
// CHECK:           scf.for %[[K:.+]] =
// CHECK:             scf.if %[[IS]] {
// CHECK-NEXT:          tl.store %{{.+}}, %{{.+}}[%[[K]], %{{.+}}]
// CHECK-NEXT:        }
// CHECK:             tl.store %{{.+}}, %{{.+}}[%[[T]], %[[K]]] : memref<64x8xf32, #tl.fragment>
// CHECK-NOT:     tl.parallel
gpu.module @first {
  gpu.func @first(%A: memref<64x8xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    %S = tl.alloc : memref<64x8xf32, #gpu.address_space<workgroup>>
    %v = tl.alloc : memref<8xf32, #gpu.address_space<private>>
    scf.for %k = %c0 to %c8 step %c1 {
      %a = tl.load %A[%k, %c0] : memref<64x8xf32>
      tl.store %a, %S[%k, %c0] : memref<64x8xf32, #gpu.address_space<workgroup>>
      %b = tl.load %A[%t, %k] : memref<64x8xf32>
      tl.store %b, %v[%k] : memref<8xf32, #gpu.address_space<private>>
    }
    gpu.return
  }
}

// -----

// A read of what threads share stays on its side of a cut: behind it the sequence
// writes elements that others read.
// CHECK-LABEL: gpu.func @reads_stay
// CHECK:         tl.fill
// CHECK:         tl.parallel (%[[T:.+]]) in (64) {
// CHECK-NEXT:      %[[READ:.+]] = tl.load %[[S:.+]][%[[T]]]
// CHECK-NEXT:      tl.store %[[READ]], %[[KEPT:.+]][%[[T]]] : memref<64xf32, #tl.fragment>
// CHECK:         tl.copy
// CHECK:         tl.parallel (%[[T:.+]]) in (64) {
// CHECK-NOT:       tl.load %[[S]]
// CHECK:           tl.load %[[KEPT]][%[[T]]]
// CHECK:           tl.store %{{.+}}, %[[S]]
gpu.module @reads_stay {
  gpu.func @reads_stay(%C: memref<64xf32>, %x: f32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %S = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    %R = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    %v = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    tl.fill %S, %x : memref<64xf32, #gpu.address_space<workgroup>>
    %a = tl.load %S[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    tl.copy %C to %R tile(64) : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    tl.store %a, %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    %b = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    %other = arith.subi %c63, %t : index
    tl.store %b, %S[%other] : memref<64xf32, #gpu.address_space<workgroup>>
    %c = tl.load %v[%c0] : memref<1xf32, #gpu.address_space<private>>
    tl.store %c, %C[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

// Reads of a thread's variables that a statement behind a cut uses move there, and
// leave nothing in front of it.
// CHECK-LABEL: gpu.func @reads_alone
// CHECK:         gpu.barrier
// CHECK-NEXT:    tl.fill
// CHECK-NEXT:    tl.parallel (%[[T:.+]]) in (64) {
// CHECK:           tl.load %[[A:.+]][%[[T]]]
// CHECK:           tl.load %[[B:.+]][%[[T]]]
// CHECK:           arith.addf
// CHECK:           tl.store
gpu.module @reads_alone {
  gpu.func @reads_alone(%C: memref<64xf32>, %x: f32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %y = arith.index_cast %t : index to i32
    %z = arith.sitofp %y : i32 to f32
    %S = tl.alloc : memref<64xf32, #gpu.address_space<workgroup>>
    %v = tl.alloc : memref<2xf32, #gpu.address_space<private>>
    tl.store %z, %v[%c0] : memref<2xf32, #gpu.address_space<private>>
    tl.store %z, %v[%c1] : memref<2xf32, #gpu.address_space<private>>
    gpu.barrier
    %a = tl.load %v[%c0] : memref<2xf32, #gpu.address_space<private>>
    %b = tl.load %v[%c1] : memref<2xf32, #gpu.address_space<private>>
    tl.fill %S, %x : memref<64xf32, #gpu.address_space<workgroup>>
    %s = arith.addf %a, %b : f32
    tl.store %s, %C[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

// A loop in a sequence that asks for the thread itself.
// CHECK-LABEL: gpu.func @asks_itself
// CHECK-NOT:     gpu.thread_id
// CHECK:         tl.parallel (%[[T:.+]]) in (64) {
// CHECK:           scf.for
// CHECK:             tl.load %{{.+}}[%[[T]], %{{.+}}]
// CHECK-NOT:     gpu.thread_id
gpu.module @asks_itself {
  gpu.func @asks_itself(%A: memref<64x8xf32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %v = tl.alloc : memref<8xf32, #gpu.address_space<private>>
    scf.for %k = %c0 to %c8 step %c1 {
      %t = gpu.thread_id x
      %a = tl.load %A[%t, %k] : memref<64x8xf32>
      tl.store %a, %v[%k] : memref<8xf32, #gpu.address_space<private>>
    }
    gpu.return
  }
}
