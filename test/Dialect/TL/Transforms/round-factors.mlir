// Tiles of f32 that matrix instructions would cut to tf32 are rounded first, unless the engine has done so, or
// they hold narrower numbers.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-round-factors))' | FileCheck %s

#layout = #tl.shared_layout<swizzle = 128, chunk = 32>
!A = memref<4096x4096xf32>
!tile = memref<64x32xf32, #gpu.address_space<workgroup>>
!ring = memref<2x64x32xf32, #gpu.address_space<workgroup>>
!acc = memref<64x64xf32, #tl.fragment>

gpu.module @kernels {
  // Threads have written the tile: what is multiplied is a rounded copy of it.
  // CHECK-LABEL: gpu.func @by_threads(
  // CHECK-DAG:     %[[S:.+]] = tl.alloc layout(#[[L:.+]]) {tl.name = "S"}
  // CHECK-DAG:     %[[R:.+]] = tl.alloc layout(#[[L]]) : memref<64x32xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.copy %{{.+}} to %[[S]]
  // CHECK:         tl.parallel (%[[I:.+]], %[[J:.+]]) in (64, 32) layout
  // CHECK-NEXT:      %[[X:.+]] = tl.load %[[S]][%[[I]], %[[J]]]
  // CHECK:           %[[B:.+]] = arith.bitcast %[[X]] : f32 to i32
  // CHECK:           %[[F:.+]] = arith.bitcast %[[B]] : i32 to f32
  // CHECK:           %[[N:.+]] = arith.cmpf uno, %[[F]], %[[F]]
  // CHECK:           arith.addi %[[B]], %{{.+}} : i32
  // CHECK:           arith.select %[[N]]
  // CHECK:           tl.store %{{.+}}, %[[R]][%[[I]], %[[J]]]
  // CHECK:         tl.gemm %[[R]], %{{.+}}, %{{.+}} transpose_b
  gpu.func @by_threads(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#layout) {tl.name = "S"} : !tile
    %acc = tl.alloc : !acc
    tl.copy %A[%c0, %c0] to %s tile(64, 32) : !A to !tile
    tl.gemm %s, %s, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }

  // Of a window what is multiplied is rounded, and nothing else.
  // CHECK-LABEL: gpu.func @a_window(
  // CHECK:         tl.parallel (%[[I:.+]], %[[J:.+]]) in (64, 16) layout
  // CHECK:           %[[K:.+]] = arith.addi %[[J]], %{{.+}}
  // CHECK:           tl.load %{{.+}}[%{{.+}}, %[[K]]]
  // CHECK:           tl.store %{{.+}}, %[[R:.+]][%[[I]], %[[J]]] : memref<64x16xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.parallel
  // CHECK:           tl.store %{{.+}}, %[[S:.+]][%{{.+}}, %{{.+}}] : memref<64x16xf32, #gpu.address_space<workgroup>>
  // CHECK:         tl.gemm %[[R]], %[[S]], %{{.+}} transpose_b plan
  gpu.func @a_window(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#layout) : !tile
    %acc = tl.alloc : !acc
    tl.copy %A[%c0, %c0] to %s tile(64, 32) : !A to !tile
    tl.gemm %s, %s, %acc transpose_b a_at [0, 16] b_at [0, 0] depth(16) plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }

  // The engine writes the slots of a ring, and rounds.
  // CHECK-LABEL: gpu.func @by_the_engine(
  // CHECK-NOT:     tl.parallel
  // CHECK:         tl.copy {{.+}} async bulk round_tf32 :
  // CHECK-NOT:     tl.parallel
  // CHECK:         gpu.return
  gpu.func @by_the_engine(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %ring = tl.alloc layout(#layout) {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <bulk, 2>
    %acc = tl.alloc : !acc
    %s = tl.slot %ring[%c0] : !ring to !tile
    tl.copy %A[%c0, %c0] to %s tile(64, 32) async bulk : !A to !tile
    tl.gemm %s, %s, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }

  // It does not where somebody else reads them, as they are.
  // CHECK-LABEL: gpu.func @read_elsewhere(
  // CHECK:         tl.copy {{.+}} async bulk :
  // CHECK:         tl.parallel
  // CHECK:         tl.gemm
  // CHECK:         gpu.return
  gpu.func @read_elsewhere(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %ring = tl.alloc layout(#layout) {tl.ring} : !ring
    %acc = tl.alloc : !acc
    %s = tl.slot %ring[%c0] : !ring to !tile
    tl.copy %A[%c0, %c0] to %s tile(64, 32) async bulk : !A to !tile
    tl.gemm %s, %s, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : !tile, !tile, !acc
    tl.copy %s to %A[%c0, %c0] tile(64, 32) : !tile to !A
    gpu.return
  }

  // `mma` has its factors in registers, which it rounds itself.
  // CHECK-LABEL: gpu.func @in_registers(
  // CHECK-NOT:     tl.parallel
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %{{.+}} transpose_b plan
  gpu.func @in_registers(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#layout) : !tile
    %acc = tl.alloc : !acc
    tl.copy %A[%c0, %c0] to %s tile(64, 32) : !A to !tile
    tl.gemm %s, %s, %acc transpose_b plan(<mma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }

  // What the engine fills it need not round.
  // CHECK-LABEL: gpu.func @in_registers_by_the_engine(
  // CHECK:         tl.copy {{.+}} async bulk round_tf32 :
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %{{.+}} transpose_b narrow_a narrow_b plan
  gpu.func @in_registers_by_the_engine(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %ring = tl.alloc layout(#layout) {tl.ring} : !ring
    %pipe = tl.pipe rings(%ring : !ring) : <bulk, 2>
    %acc = tl.alloc : !acc
    %s = tl.slot %ring[%c0] : !ring to !tile
    tl.copy %A[%c0, %c0] to %s tile(64, 32) async bulk : !A to !tile
    tl.gemm %s, %s, %acc transpose_b plan(<mma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }

  // A product without tensor cores has all bits, and so has the other one.
  // CHECK-LABEL: gpu.func @all_bits(
  // CHECK:         tl.copy {{.+}} async bulk :
  // CHECK-NOT:     narrow
  // CHECK:         gpu.return
  gpu.func @all_bits(%A: !A) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %ring = tl.alloc layout(#layout) {tl.ring} : !ring
    %acc = tl.alloc : !acc
    %s = tl.slot %ring[%c0] : !ring to !tile
    tl.copy %A[%c0, %c0] to %s tile(64, 32) async bulk : !A to !tile
    tl.gemm %s, %s, %acc transpose_b plan(<mma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    tl.gemm %s, %s, %acc transpose_b plan(<fma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }

  // What was extended from 16 bits, or is a constant of few bits, has no lower ones: nobody rounds it.
  // CHECK-LABEL: gpu.func @extended(
  // CHECK-NOT:     arith.cmpf
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %{{.+}} transpose_b narrow_a narrow_b plan(<wgmma
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %{{.+}} transpose_b narrow_a narrow_b plan(<mma
  gpu.func @extended(%A: memref<64x32xbf16>, %B: memref<64x32xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %half = arith.constant 0.5 : f32
    %s = tl.alloc layout(#layout) : !tile
    %f = tl.alloc : memref<64x32xf32, #tl.fragment>
    %acc = tl.alloc : !acc
    tl.fill %s, %half : !tile
    tl.copy %A to %s tile(64, 32) : memref<64x32xbf16> to !tile
    tl.parallel (%i, %j) in (64, 32) {
      %x = tl.load %B[%i, %j] : memref<64x32xf16>
      %wide = arith.extf %x : f16 to f32
      tl.store %wide, %f[%i, %j] : memref<64x32xf32, #tl.fragment>
    }
    tl.gemm %f, %s, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<64x32xf32, #tl.fragment>, !tile, !acc
    tl.gemm %f, %s, %acc transpose_b plan(<mma, warps_m = 4, warps_n = 1>) : memref<64x32xf32, #tl.fragment>, !tile, !acc
    gpu.return
  }

  // One of such numbers has none either, nor has what is left of a tile under a mask.
  // CHECK-LABEL: gpu.func @chosen(
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %{{.+}} transpose_b narrow_a narrow_b plan(<mma
  gpu.func @chosen(%A: memref<64x32xbf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %s = tl.alloc layout(#layout) : !tile
    %f = tl.alloc : memref<64x32xf32, #tl.fragment>
    %acc = tl.alloc : !acc
    tl.copy %A to %s tile(64, 32) : memref<64x32xbf16> to !tile
    tl.parallel (%i, %j) in (64, 32) {
      %isBelow = arith.cmpi uge, %i, %j : index
      %x = scf.if %isBelow -> (f32) {
        %kept = tl.load %s[%i, %j] : !tile
        scf.yield %kept : f32
      } else {
        scf.yield %zero : f32
      }
      tl.store %x, %s[%i, %j] : !tile
      %y = arith.select %isBelow, %x, %zero : f32
      tl.store %y, %f[%i, %j] : memref<64x32xf32, #tl.fragment>
    }
    tl.gemm %f, %s, %acc transpose_b plan(<mma, warps_m = 4, warps_n = 1>) : memref<64x32xf32, #tl.fragment>, !tile, !acc
    gpu.return
  }

  // Of two tiles that are written to each other one may have more bits, and what comes from outside has them.
  // CHECK-LABEL: gpu.func @chosen_from_others(
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %{{.+}} transpose_b plan(<mma
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %{{.+}} transpose_b plan(<mma
  gpu.func @chosen_from_others(%A: memref<64x32xbf16>, %B: memref<64x32xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %third = arith.constant 0.3 : f32
    %s = tl.alloc layout(#layout) : !tile
    %t = tl.alloc layout(#layout) : !tile
    %u = tl.alloc layout(#layout) : !tile
    %acc = tl.alloc : !acc
    tl.copy %A to %s tile(64, 32) : memref<64x32xbf16> to !tile
    tl.fill %t, %third : !tile
    tl.copy %A to %u tile(64, 32) : memref<64x32xbf16> to !tile
    tl.copy %t to %s tile(64, 32) : !tile to !tile
    tl.copy %s to %t tile(64, 32) : !tile to !tile
    tl.parallel (%i, %j) in (64, 32) {
      %isBelow = arith.cmpi uge, %i, %j : index
      %old = tl.load %u[%i, %j] : !tile
      %x = tl.load %B[%i, %j] : memref<64x32xf32>
      %kept = arith.select %isBelow, %x, %old : f32
      tl.store %kept, %u[%i, %j] : !tile
    }
    tl.gemm %s, %t, %acc transpose_b plan(<mma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    tl.gemm %u, %u, %acc transpose_b plan(<mma, warps_m = 4, warps_n = 1>) : !tile, !tile, !acc
    gpu.return
  }

  // A constant with lower bits, and what was computed, do.
  // CHECK-LABEL: gpu.func @computed(
  // CHECK:         tl.gemm %{{.+}}, %{{.+}}, %{{.+}} transpose_b plan
  gpu.func @computed(%A: memref<64x32xbf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %third = arith.constant 0.333333343 : f32
    %s = tl.alloc layout(#layout) : !tile
    %f = tl.alloc : memref<64x32xf32, #tl.fragment>
    %acc = tl.alloc : !acc
    tl.copy %A to %s tile(64, 32) : memref<64x32xbf16> to !tile
    tl.fill %s, %third : !tile
    tl.copy %A to %f tile(64, 32) : memref<64x32xbf16> to memref<64x32xf32, #tl.fragment>
    tl.parallel (%i, %j) in (64, 32) {
      %x = tl.load %f[%i, %j] : memref<64x32xf32, #tl.fragment>
      %y = arith.addf %x, %x : f32
      tl.store %y, %f[%i, %j] : memref<64x32xf32, #tl.fragment>
    }
    tl.gemm %f, %s, %acc transpose_b plan(<mma, warps_m = 4, warps_n = 1>) : memref<64x32xf32, #tl.fragment>, !tile, !acc
    gpu.return
  }
}
