// Pipelined loops whose copies stand behind a guard.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-enter-guards))' --split-input-file | FileCheck %s

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!M = memref<64xi1>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @hopper attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK-LABEL: gpu.func @guarded(
  // CHECK:         scf.for %[[K:.+]] = %c0 to %{{.+}} step
  // CHECK:           %[[MASK:.+]] = tl.load %{{.+}}[%[[K]]]
  // CHECK:           scf.if %[[MASK]] {
  // CHECK:             tl.pipelined %{{.+}} = %{{.+}} to %{{.+}} stages(3) attributes {tl.guarded} {
  // CHECK:               tl.copy
  // CHECK:               tl.gemm
  gpu.func @guarded(%A: !A {tl.align = 16 : i64}, %M: !M, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %mask = tl.load %M[%k] : !M
      scf.if %mask {
        %kk = arith.muli %k, %c64 : index
        tl.copy %A[%c0, %kk] to %a tile(64, 64) : !A to !tile
        tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      }
    }
    gpu.return
  }

  // Not if a copy stands elsewhere, or there is another branch.
  // CHECK-LABEL: gpu.func @others(
  // CHECK-COUNT-2: tl.pipelined {{.*}} stages(3) {
  // CHECK-NOT:     tl.guarded
  gpu.func @others(%A: !A {tl.align = 16 : i64}, %M: !M, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : !acc
    tl.pipelined %k = %c0 to %n stages(3) {
      %mask = tl.load %M[%k] : !M
      tl.copy %A[%c0, %k] to %b tile(64, 64) : !A to !tile
      scf.if %mask {
        tl.copy %A[%c0, %k] to %a tile(64, 64) : !A to !tile
        tl.gemm %a, %b, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
      }
    }
    tl.pipelined %k = %c0 to %n stages(3) {
      %mask = tl.load %M[%k] : !M
      scf.if %mask {
        tl.copy %A[%c0, %k] to %a tile(64, 64) : !A to !tile
      } else {
        tl.copy %A[%k, %c0] to %a tile(64, 64) : !A to !tile
      }
      tl.gemm %a, %a, %acc plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    }
    gpu.return
  }
}

// -----

#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!A = memref<4096x4096xf16>
!M = memref<64xi1>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>

// Nor without a bulk copy engine.
gpu.module @ampere attributes {tl.target = #tl.target<chip = "sm_80">} {
  // CHECK-LABEL: gpu.func @guarded(
  // CHECK:         tl.pipelined {{.*}} stages(3) {
  gpu.func @guarded(%A: !A {tl.align = 16 : i64}, %M: !M, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#swizzled) : !tile
    tl.pipelined %k = %c0 to %n stages(3) {
      %mask = tl.load %M[%k] : !M
      scf.if %mask {
        tl.copy %A[%c0, %k] to %a tile(64, 64) : !A to !tile
      }
    }
    gpu.return
  }
}
