// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @slots attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // The slot before the current one is that of the last iteration.
  // CHECK-LABEL: gpu.func @carried(
  // CHECK:         %[[LAST:.+]] = arith.select
  // CHECK:         scf.for %{{.+}} iter_args(%[[SLOT:[^ ]+]] = %{{[^,]+}}, %[[BEFORE:[^ ]+]] = %[[LAST]])
  // CHECK:           arith.index_cast %[[BEFORE]] : index to i32
  // CHECK:           %[[NEXT:.+]] = arith.select
  // CHECK:           scf.yield %[[NEXT]], %[[SLOT]]
  gpu.func @carried(%C: memref<64xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c1 iter_args(%slot = %c0) -> index {
      %before = tl.rotate %slot by 3 of 4
      %number = arith.index_cast %before : index to i32
      tl.store %number, %C[%k] : memref<64xi32>
      %next = tl.rotate %slot by 1 of 4
      scf.yield %next : index
    }
    gpu.return
  }

  // A loop that leaves slots out does not tell.
  // CHECK-LABEL: gpu.func @leaves_slots_out(
  // CHECK:         scf.for %{{.+}} iter_args(%[[SLOT:.+]] = %{{[^,]+}}) ->
  // CHECK:           arith.cmpi ne, %[[SLOT]]
  gpu.func @leaves_slots_out(%C: memref<64xi32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    scf.for %k = %c0 to %c64 step %c1 iter_args(%slot = %c0) -> index {
      %before = tl.rotate %slot by 3 of 4
      %number = arith.index_cast %before : index to i32
      tl.store %number, %C[%k] : memref<64xi32>
      %next = tl.rotate %slot by 2 of 4
      scf.yield %next : index
    }
    gpu.return
  }
}
