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
