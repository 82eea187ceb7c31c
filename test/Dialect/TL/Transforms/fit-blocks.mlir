// Blocks whose fragments take more registers than their threads have, and those whose
// threads cannot share a product.

// RUN: tl-opt %s --tl-fit-blocks --remarks-filter='tl-.*' --verify-diagnostics | FileCheck %s
// RUN: tl-opt %s --tl-fit-blocks --tl-outline-kernels | FileCheck %s --check-prefix=OUTLINED
// RUN: tl-opt %s --pass-pipeline='builtin.module(tl-fit-blocks,tl-outline-kernels,gpu.module(tl-normalize-statements))' | FileCheck %s --check-prefix=NORMAL

!tile = memref<128x64xf16, #gpu.address_space<workgroup>>
!rows = memref<64x128xf16, #gpu.address_space<workgroup>>
!acc = memref<128x128xf32, #tl.fragment>
!half = memref<64x128xf32, #tl.fragment>
!A = memref<128x128xf32>

// Two accumulators of 128 registers each are more than 128 threads have.
// CHECK-LABEL: func.func @two
// CHECK:         tl.kernel @two blocks(%{{.+}}) in (%{{.+}}) threads(128) attributes {tl.launched = array<i32: 256, 1, 1>}
// OUTLINED:      tl.launch @two{{.*}} threads(256)
// OUTLINED:      gpu.func @two{{.*}}known_block_size = array<i32: 128, 1, 1>{{.*}}tl.launched = array<i32: 256, 1, 1>
func.func @two(%A: !A) attributes {tl.entry} {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  // expected-remark @below {{the block gets 256 threads, whose registers its fragments need}}
  tl.kernel @two blocks(%b) in (%one) threads(128) {
    %zero = arith.constant 0.0 : f32
    %s = tl.alloc : !tile
    %t = tl.alloc : !rows
    %part = tl.alloc : !acc
    %sum = tl.alloc : !acc
    tl.fill %sum, %zero : !acc
    scf.for %k = %c0 to %c9 step %one {
      tl.fill %part, %zero : !acc
      tl.gemm %s, %t, %part : !tile, !rows, !acc
      tl.parallel (%i, %j) in (128, 128) {
        %x = tl.load %part[%i, %j] : !acc
        %y = tl.load %sum[%i, %j] : !acc
        %z = arith.addf %x, %y : f32
        tl.store %z, %sum[%i, %j] : !acc
      }
    }
    tl.copy %sum to %A[%c0, %c0] tile(128, 128) : !acc to !A
  }
  return
}

// One after the other they are not.
// CHECK-LABEL: func.func @by_turns
// CHECK:         threads(128)
func.func @by_turns(%A: !A) attributes {tl.entry} {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  tl.kernel @by_turns blocks(%b) in (%one) threads(128) {
    %zero = arith.constant 0.0 : f32
    %first = tl.alloc : !acc
    %second = tl.alloc : !acc
    scf.for %k = %c0 to %c9 step %one {
      tl.fill %first, %zero : !acc
      tl.copy %first to %A[%c0, %c0] tile(128, 128) : !acc to !A
      tl.fill %second, %zero : !acc
      tl.copy %second to %A[%c0, %c0] tile(128, 128) : !acc to !A
    }
  }
  return
}

// Nor where the threads that there are matter, or a multiprocessor has no
// registers for more.
// CHECK-LABEL: func.func @of_threads
// CHECK:         tl.kernel @by_thread {{.*}} threads(128)
// CHECK:         tl.kernel @many {{.*}} threads(256)
// CHECK:         tl.kernel @grid {{.*}} threads(128) cooperative
func.func @of_threads(%A: !A) attributes {tl.entry} {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  tl.kernel @by_thread blocks(%b) in (%one) threads(128) {
    %zero = arith.constant 0.0 : f32
    %x = tl.alloc : !acc
    %y = tl.alloc : !acc
    %t = gpu.thread_id x
    tl.store %zero, %A[%t, %t] : !A
    tl.fill %x, %zero : !acc
    tl.fill %y, %zero : !acc
    tl.copy %x to %A[%c0, %c0] tile(128, 128) : !acc to !A
    tl.copy %y to %A[%c0, %c0] tile(128, 128) : !acc to !A
  }
  tl.kernel @many blocks(%b) in (%one) threads(256) {
    %zero = arith.constant 0.0 : f32
    %x = tl.alloc : !acc
    %y = tl.alloc : !acc
    %z = tl.alloc : !acc
    %w = tl.alloc : !acc
    tl.fill %x, %zero : !acc
    tl.fill %y, %zero : !acc
    tl.fill %z, %zero : !acc
    tl.fill %w, %zero : !acc
    tl.copy %x to %A[%c0, %c0] tile(128, 128) : !acc to !A
    tl.copy %y to %A[%c0, %c0] tile(128, 128) : !acc to !A
    tl.copy %z to %A[%c0, %c0] tile(128, 128) : !acc to !A
    tl.copy %w to %A[%c0, %c0] tile(128, 128) : !acc to !A
  }
  tl.kernel @grid blocks(%b) in (%one) threads(128) cooperative {
    %zero = arith.constant 0.0 : f32
    %x = tl.alloc : !acc
    %y = tl.alloc : !acc
    tl.fill %x, %zero : !acc
    tl.fill %y, %zero : !acc
    tl.copy %x to %A[%c0, %c0] tile(128, 128) : !acc to !A
    tl.copy %y to %A[%c0, %c0] tile(128, 128) : !acc to !A
  }
  return
}

// Three warp groups would each hold all of a product, and two share it. What a statement
// says of threads is done for those of the program.
// CHECK-LABEL: func.func @three
// CHECK:         tl.kernel @three {{.*}} threads(384) attributes {tl.launched = array<i32: 256, 1, 1>}
// CHECK:         tl.kernel @shared {{.*}} threads(384) {
// CHECK:         tl.kernel @rows {{.*}} threads(384) {
// CHECK:         tl.kernel @row {{.*}} threads(384) {

// NORMAL-LABEL: gpu.func @three_2
// NORMAL-SAME:    known_block_size = array<i32: 256, 1, 1>
// NORMAL-NOT:     tl.launched
// NORMAL:         tl.parallel (%{{.+}}) in (384)
// NORMAL-LABEL: gpu.func @shared
// NORMAL-SAME:    known_block_size = array<i32: 384, 1, 1>
func.func @three(%A: !A) attributes {tl.entry} {
  %one = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  // expected-remark @below {{the block gets 256 threads, which can share its products}}
  tl.kernel @three blocks(%b) in (%one) threads(384) {
    %zero = arith.constant 0.0 : f32
    %s = tl.alloc : !tile
    %t = tl.alloc : !rows
    %x = tl.alloc : !acc
    %i = gpu.thread_id x
    %inside = arith.cmpi ult, %i, %c128 : index
    scf.if %inside {
      tl.store %zero, %A[%i, %i] : !A
    }
    tl.gemm %s, %t, %x : !tile, !rows, !acc
    tl.copy %x to %A[%c0, %c0] tile(128, 128) : !acc to !A
  }
  tl.kernel @shared blocks(%b) in (%one) threads(384) {
    %s = tl.alloc : memref<192x64xf16, #gpu.address_space<workgroup>>
    %t = tl.alloc : !rows
    %x = tl.alloc : memref<192x128xf32, #tl.fragment>
    tl.gemm %s, %t, %x : memref<192x64xf16, #gpu.address_space<workgroup>>, !rows, memref<192x128xf32, #tl.fragment>
    tl.copy %x to %A[%c0, %c0] tile(192, 128) : memref<192x128xf32, #tl.fragment> to !A
  }
  tl.kernel @rows blocks(%b) in (%one) threads(384) {
    %zero = arith.constant 0.0 : f32
    %s = tl.alloc : !tile
    %t = tl.alloc : !rows
    %x = tl.alloc : !acc
    %own = tl.alloc : memref<4xf32, #gpu.address_space<private>>
    %i = gpu.thread_id x
    tl.store %zero, %own[%c0] : memref<4xf32, #gpu.address_space<private>>
    tl.gemm %s, %t, %x : !tile, !rows, !acc
    %y = tl.load %own[%c0] : memref<4xf32, #gpu.address_space<private>>
    tl.store %y, %A[%i, %c0] : !A
    tl.copy %x to %A[%c0, %c0] tile(128, 128) : !acc to !A
  }
  tl.kernel @row blocks(%b) in (%one) threads(384) {
    %zero = arith.constant 0.0 : f32
    %s = tl.alloc : !tile
    %t = tl.alloc : !rows
    %x = tl.alloc : !acc
    %own = tl.alloc : memref<1xf32, #gpu.address_space<private>>
    %i = gpu.thread_id x
    %j = arith.minui %b, %c0 : index
    tl.store %zero, %own[%j] : memref<1xf32, #gpu.address_space<private>>
    tl.gemm %s, %t, %x : !tile, !rows, !acc
    %y = tl.load %own[%j] : memref<1xf32, #gpu.address_space<private>>
    tl.store %y, %A[%i, %c0] : !A
    tl.copy %x to %A[%c0, %c0] tile(128, 128) : !acc to !A
  }
  return
}
