// RUN: tl-opt %s --split-input-file --convert-tl-to-cpu | FileCheck %s
// RUN: tl-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(convert-tl-to-cpu,tl-lower-host-to-llvm))' | FileCheck %s --check-prefix=LLVM

// Device memory is what the threads of the host share.
// CHECK-LABEL: func.func @device(
// CHECK:         %[[INSIDE:.+]] = arith.cmpi ult
// CHECK:         scf.if %[[INSIDE]] -> (i32) {
// CHECK:           %[[PLACE:.+]] = memref.extract_aligned_pointer_as_index
// CHECK:           %[[P:.+]] = llvm.inttoptr
// CHECK-NEXT:      %[[OLD:.+]] = llvm.atomicrmw umax %[[P]], %{{.+}} monotonic : !llvm.ptr, i32
// CHECK-NEXT:      scf.yield %[[OLD]]
// CHECK:         llvm.cmpxchg %{{.+}}, %{{.+}}, %{{.+}} seq_cst seq_cst : !llvm.ptr, i32
// CHECK:         llvm.load %{{.+}} atomic seq_cst {alignment = 4 : i64} : !llvm.ptr -> i32
// LLVM-LABEL: llvm.func @device(
// LLVM:         llvm.atomicrmw umax
// LLVM:         llvm.cmpxchg
gpu.module @device attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @device(%A: memref<?xi32>, %i: index, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    tl.parallel (%k) in (1) {
      %0 = tl.atomic umax %n, %A[%i] : memref<?xi32>
      %1 = tl.atomic compare_exchange %n, %A[%i] expected(%0) order(acq_rel) : memref<?xi32>
      %2 = tl.atomic load %A[%i] order(acquire) : memref<?xi32>
      tl.store %2, %A[%k] : memref<?xi32>
    }
    gpu.return
  }
}

// -----

// The processor has no operations on floats.
// CHECK-LABEL: func.func @floats(
// CHECK:         %[[FIRST:.+]] = llvm.load %[[P:.+]] atomic monotonic {alignment = 2 : i64} : !llvm.ptr -> i16
// CHECK:         scf.while (%[[FOUND:.+]] = %[[FIRST]]) : (i16) -> i16 {
// CHECK:           %[[SUM:.+]] = arith.addf %{{.+}}, %{{.+}} : bf16
// CHECK:           llvm.cmpxchg %[[P]], %[[FOUND]], %{{.+}} monotonic monotonic : !llvm.ptr, i16
// LLVM-LABEL: llvm.func @floats(
// LLVM:         llvm.cmpxchg
gpu.module @floats attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @floats(%A: memref<8xbf16>, %x: bf16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    tl.parallel (%k) in (8) {
      %0 = tl.atomic add %x, %A[%k] : memref<8xbf16>
    }
    gpu.return
  }
}

// -----

// On-chip memory belongs to the thread that runs the block.
// CHECK-LABEL: func.func @on_chip(
// CHECK-NOT:     llvm.atomicrmw
// CHECK-NOT:     llvm.cmpxchg
// CHECK:         %[[OLD:.+]] = memref.load %[[S:.+]][%{{.+}}] : memref<8xi32, #gpu.address_space<workgroup>>
// CHECK-NEXT:    %[[NEW:.+]] = arith.xori %[[OLD]], %{{.+}} : i32
// CHECK-NEXT:    memref.store %[[NEW]], %[[S]][
gpu.module @on_chip attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @on_chip(%A: memref<8xi32>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %s = tl.alloc : memref<8xi32, #gpu.address_space<workgroup>>
    tl.copy %A to %s tile(8) : memref<8xi32> to memref<8xi32, #gpu.address_space<workgroup>>
    tl.parallel (%k) in (8) {
      %0 = tl.atomic xor %n, %s[%k] : memref<8xi32, #gpu.address_space<workgroup>>
    }
    tl.copy %s to %A tile(8) : memref<8xi32, #gpu.address_space<workgroup>> to memref<8xi32>
    gpu.return
  }
}

// -----

// A loop that waits for another block lets others go on in each round, and says
// where it comes to do nothing but that.
// CHECK-LABEL: func.func @waits(
// CHECK:         %[[COMES:.+]] = llvm.mlir.constant(0 : i32)
// CHECK-NEXT:    llvm.call @sched_yield(%[[COMES]])
// CHECK-NEXT:    scf.while
// CHECK-NOT:       llvm.call
// CHECK:           llvm.load %{{.+}} atomic seq_cst
// CHECK:         } do {
// CHECK-NEXT:      %[[WAITS:.+]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT:      llvm.call @sched_yield(%[[WAITS]])
// CHECK-NEXT:      scf.yield
// LLVM:       llvm.func @sched_yield(i32) -> i32
// LLVM-LABEL: llvm.func @waits(
gpu.module @waits attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @waits(%A: memref<8xi32>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    scf.while : () -> () {
      %0 = tl.atomic load %A[%c0] order(acquire) : memref<8xi32>
      %1 = arith.cmpi slt, %0, %n : i32
      scf.condition(%1)
    } do {
      scf.yield
    }
    gpu.return
  }
}

// -----

// A loop that writes in its rounds, or counts them, may end by itself.
// CHECK-LABEL: func.func @turns(
// CHECK-NOT:     llvm.call
// CHECK:         scf.while
// CHECK:         } do {
// CHECK-NEXT:      %[[TURNS:.+]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:      llvm.call @sched_yield(%[[TURNS]])
// CHECK:         scf.while
// CHECK:         } do {
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      %[[AGAIN:.+]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:      llvm.call @sched_yield(%[[AGAIN]])
gpu.module @turns attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @turns(%A: memref<8xi32>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : i32
    scf.while : () -> () {
      %0 = tl.atomic load %A[%c0] order(acquire) : memref<8xi32>
      %1 = arith.cmpi slt, %0, %n : i32
      scf.condition(%1)
    } do {
      tl.store %c1, %A[%c0] : memref<8xi32>
      scf.yield
    }
    %2 = scf.while (%i = %c1) : (i32) -> i32 {
      %0 = tl.atomic load %A[%c0] order(acquire) : memref<8xi32>
      %1 = arith.cmpi slt, %0, %i : i32
      scf.condition(%1) %i : i32
    } do {
    ^bb0(%i: i32):
      %0 = arith.subi %i, %c1 : i32
      scf.yield %0 : i32
    }
    gpu.return
  }
}

// -----

// No round of a loop is one of a wait if its condition changes something.
// CHECK-LABEL: func.func @takes(
// CHECK-NOT:     llvm.call
// CHECK:         scf.while
// CHECK:         } do {
// CHECK-NEXT:      %[[TURNS:.+]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:      llvm.call @sched_yield(%[[TURNS]])
gpu.module @takes attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @takes(%A: memref<8xi32>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    scf.while : () -> () {
      %0 = tl.atomic load %A[%c0] order(acquire) : memref<8xi32>
      %1 = tl.atomic add %n, %A[%c0] order(acq_rel) : memref<8xi32>
      %2 = arith.cmpi slt, %0, %1 : i32
      scf.condition(%2)
    } do {
      scf.yield
    }
    gpu.return
  }
}

// -----

// What is loaded comes to the condition by a tile, which nobody else reads.
// CHECK-LABEL: func.func @by_a_tile(
// CHECK:         %[[COMES:.+]] = llvm.mlir.constant(0 : i32)
// CHECK-NEXT:    llvm.call @sched_yield(%[[COMES]])
// CHECK-NEXT:    scf.while
// CHECK:         } do {
// CHECK-NEXT:      %[[WAITS:.+]] = llvm.mlir.constant(1 : i32)
// CHECK-NEXT:      llvm.call @sched_yield(%[[WAITS]])
// CHECK-NEXT:      scf.yield
// But a tile that lives longer may tell rounds apart.
// CHECK-NOT:     llvm.call
// CHECK:         scf.while
// CHECK:         } do {
// CHECK-NEXT:      %[[TURNS:.+]] = llvm.mlir.constant(2 : i32)
// CHECK-NEXT:      llvm.call @sched_yield(%[[TURNS]])
gpu.module @by_a_tile attributes {tl.target = #tl.target<chip = "cpu">} {
  gpu.func @by_a_tile(%A: memref<8xi32>, %n: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %kept = tl.alloc : memref<1xi32, #gpu.address_space<workgroup>>
    scf.while : () -> () {
      %own = tl.alloc : memref<1xi32, #gpu.address_space<workgroup>>
      tl.parallel (%k) in (1) {
        %0 = tl.atomic load %A[%c0] order(acquire) : memref<8xi32>
        tl.store %0, %own[%c0] : memref<1xi32, #gpu.address_space<workgroup>>
      }
      %1 = tl.load %own[%c0] : memref<1xi32, #gpu.address_space<workgroup>>
      %2 = arith.cmpi slt, %1, %n : i32
      scf.condition(%2)
    } do {
      scf.yield
    }
    scf.while : () -> () {
      tl.parallel (%k) in (1) {
        %0 = tl.atomic load %A[%c0] order(acquire) : memref<8xi32>
        tl.store %0, %kept[%c0] : memref<1xi32, #gpu.address_space<workgroup>>
      }
      %1 = tl.load %kept[%c0] : memref<1xi32, #gpu.address_space<workgroup>>
      %2 = arith.cmpi slt, %1, %n : i32
      scf.condition(%2)
    } do {
      scf.yield
    }
    gpu.return
  }
}
