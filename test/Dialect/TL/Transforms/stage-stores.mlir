// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-stage-stores))' | FileCheck %s

!a = memref<64x32xf16, #gpu.address_space<workgroup>>
!b = memref<32x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels {
  // An accumulator goes through shared memory, in the type and to the place of
  // its destination. The buffer is allocated at the kernel's start.
  // CHECK-LABEL: gpu.func @accumulator(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<?x?xf16>, %[[I:[^:]+]]: index
  // CHECK-NEXT:    %[[S:.+]] = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.copy %[[ACC]] to %[[S]] tile(64, 64) :
  // CHECK-NEXT:    tl.copy %[[S]] to %[[C]][%[[I]], %[[I]]] tile(64, 64) :
  gpu.func @accumulator(%C: memref<?x?xf16>, %i: index) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.copy %acc to %C[%i, %i] tile(64, 64) : !acc to memref<?x?xf16>
    gpu.return
  }

  // The destination may have more dimensions than the tile.
  // CHECK-LABEL: gpu.func @batch(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<8x?x?xf32>, %[[I:[^:]+]]: index
  // CHECK:         %[[S:.+]] = tl.alloc : memref<64x64xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %[[S]] to %[[C]][%[[I]], %[[I]], %[[I]]] tile(64, 64) :
  gpu.func @batch(%C: memref<8x?x?xf32>, %i: index) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.copy %acc to %C[%i, %i, %i] tile(64, 64) : !acc to memref<8x?x?xf32>
    gpu.return
  }

  // A fragment that no gemm accumulates into is stored directly.
  // CHECK-LABEL: gpu.func @other_fragment(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<64x64xf16>
  // CHECK-NEXT:    %[[F:.+]] = tl.alloc
  // CHECK-NEXT:    tl.copy %[[F]] to %[[C]]
  gpu.func @other_fragment(%C: memref<64x64xf16>) kernel {
    %f = tl.alloc : !acc
    tl.copy %f to %C tile(64, 64) : !acc to memref<64x64xf16>
    gpu.return
  }

  // Rows of 24 elements of two bytes are no whole 32-byte sectors.
  // CHECK-LABEL: gpu.func @short_rows(
  // CHECK-SAME:      %[[C:[^:]+]]: memref<64x24xf16>
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.copy %[[ACC]] to %[[C]]
  gpu.func @short_rows(%C: memref<64x24xf16>) kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : memref<32x24xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc : memref<64x24xf32, #tl.fragment>
    tl.gemm %a, %b, %acc : !a, memref<32x24xf16, #gpu.address_space<workgroup>>, memref<64x24xf32, #tl.fragment>
    tl.copy %acc to %C tile(64, 24) : memref<64x24xf32, #tl.fragment> to memref<64x24xf16>
    gpu.return
  }

  // A copy to shared memory is there already.
  // CHECK-LABEL: gpu.func @to_shared
  // CHECK:         %[[S:.+]] = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %[[ACC:[^ ]+]] :
  // CHECK-NEXT:    tl.copy %[[ACC]] to %[[S]]
  // CHECK-NEXT:    gpu.return
  gpu.func @to_shared() kernel {
    %a = tl.alloc : !a
    %b = tl.alloc : !b
    %acc = tl.alloc : !acc
    %s = tl.alloc : memref<64x64xf16, #gpu.address_space<workgroup>>
    tl.gemm %a, %b, %acc : !a, !b, !acc
    tl.copy %acc to %s tile(64, 64) : !acc to memref<64x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}
