// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-infer-layouts,tl-mark-bulk-stores))' --split-input-file | FileCheck %s

!a = memref<128x64xf16, #gpu.address_space<workgroup>>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // A whole tile in shared memory is stored by the bulk copy engine, if the
  // destination is aligned.
  // CHECK-LABEL: gpu.func @bulk_store
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(128, 64) bulk :
  gpu.func @bulk_store(%A: memref<128x64xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    tl.copy %a to %A tile(128, 64) : !a to memref<128x64xf16>
    gpu.return
  }
}

// -----

!a = memref<128x64xf16, #gpu.address_space<workgroup>>

gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // Stores by threads are no bulk copies.
  // CHECK-LABEL: gpu.func @no_bulk_store
  // CHECK:         tl.copy %{{.+}} to %{{.+}} tile(128, 64) :
  gpu.func @no_bulk_store(%A: memref<128x64xf16> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc : !a
    tl.copy %a to %A tile(128, 64) : !a to memref<128x64xf16>
    gpu.return
  }
}
