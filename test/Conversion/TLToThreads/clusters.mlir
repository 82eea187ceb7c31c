// What blocks of a cluster do to each other's shared memory.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

!s = memref<128xf32, #gpu.address_space<workgroup>>

gpu.module @clusters attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Each thread stores to the same place of the other block. A number that no
  // block has is that of some block.
  // CHECK-LABEL: gpu.func @send(
  // CHECK:         nvvm.cluster.arrive{{$}}
  // CHECK:         nvvm.cluster.wait{{$}}
  // CHECK:         %[[LAST:.+]] = arith.constant 1 : index
  // CHECK:         %[[RANK:.+]] = arith.minui %{{.+}}, %[[LAST]] : index
  // CHECK:         %[[NUMBER:.+]] = arith.index_cast %[[RANK]] : index to i32
  // CHECK:         %[[THERE:.+]] = nvvm.mapa %{{.+}}, %[[NUMBER]] : !llvm.ptr<3> -> !llvm.ptr<7>
  // CHECK:         llvm.store %{{.+}}, %[[THERE]] {alignment = 4 : i64} : f32, !llvm.ptr<7>
  // CHECK:         nvvm.cluster.arrive{{$}}
  // CHECK-NOT:     nvvm.cluster.wait
  // CHECK:         gpu.return
  gpu.func @send(%r: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.cluster = array<i64: 2, 1, 1>, tl.shared = 1024 : i64} {
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 128>) offset(0) : !s
    %t = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 128>) offset(512) : !s
    %there = tl.map_shared_rank %t[%r] : !s
    tl.cluster_barrier
    tl.copy %s to %there tile(128) : !s to !s
    tl.cluster_arrive
    gpu.return
  }
}
