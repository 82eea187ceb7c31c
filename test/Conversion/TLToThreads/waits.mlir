// Barriers, waits, fills and fences: one instruction each, or a few.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @waits attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // The first thread sets barriers up, makes them known to the copy engine, and the
  // block waits for that.
  // CHECK-LABEL: gpu.func @alloc_barriers(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi eq, %thread_id_x
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK-COUNT-2:   nvvm.mbarrier.init %{{.+}}, %c1_i32
  // CHECK-NOT:       nvvm.mbarrier.init
  // CHECK:           nvvm.fence.mbarrier.init
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.barrier
  gpu.func @alloc_barriers() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %bars = tl.alloc_barriers arrivals(1) offset(64) : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Barriers are 8 bytes apart.
  // CHECK-LABEL: gpu.func @wait_barrier(
  // CHECK-SAME:    %{{.+}}: i32 {{.*}}, %[[PARITY:.+]]: i32 {tl.param = #tl.param<scalar, 1, type = i32>})
  // CHECK:         gpu.barrier
  // CHECK:         %[[C8:.+]] = arith.constant 8 : index
  // CHECK:         arith.muli %{{.+}}, %[[C8]]
  // CHECK:         nvvm.mbarrier.try_wait.parity %{{.+}}, %[[PARITY]], %c10000000_i32
  gpu.func @wait_barrier(%i: index, %parity: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %bars = tl.alloc_barriers arrivals(1) offset(64) : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.wait_barrier %bars[%i] parity(%parity) : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Groups of `cp.async`, and the fence before the async proxy.
  // CHECK-LABEL: gpu.func @groups(
  // CHECK:         nvvm.cp.async.commit.group
  // CHECK-NEXT:    nvvm.cp.async.wait.group 2
  // CHECK:         nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  gpu.func @groups() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    tl.commit_copies
    tl.wait_copies 2
    tl.fence_async
    gpu.return
  }

  // Bulk stores: read, or arrived in device memory, of which the fence may be too.
  // CHECK-LABEL: gpu.func @stores(
  // CHECK:         nvvm.cp.async.bulk.wait_group 1 {read}
  // CHECK-NEXT:    nvvm.cp.async.bulk.wait_group 0{{$}}
  // CHECK-NEXT:    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
  gpu.func @stores() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    tl.wait_stores 1 read
    tl.wait_stores 0
    tl.fence_async device
    gpu.return
  }

  // A wait takes the registers that it completes and returns them, so that no
  // arithmetic can move before it.
  // CHECK-LABEL: gpu.func @wait_gemm(
  // CHECK:         %[[ACC:.+]] = memref.load %[[SLOT:.+]][] : memref<vector<16xf32>>
  // CHECK-NEXT:    %[[DONE:.+]] = tl.wgmma_wait 0 (%[[ACC]] : vector<16xf32>)
  // CHECK-NEXT:    memref.store %[[DONE]], %[[SLOT]][]
  gpu.func @wait_gemm() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [64, 32], thread = [4, 8, 4] : [2, 32, 512], value = [2, 2, 4] : [1, 256, 8]>) : memref<64x32xf32, #tl.fragment>
    tl.wait_gemm 0 (%acc : memref<64x32xf32, #tl.fragment>)
    gpu.return
  }

  // A fill of a fragment is one splat; of shared memory, a loop over the tile.
  // CHECK-LABEL: gpu.func @fills(
  // CHECK:         %[[SPLAT:.+]] = vector.broadcast %{{.+}} : f32 to vector<2xf32>
  // CHECK:         memref.store %[[SPLAT]], %{{.+}}[] : memref<vector<2xf32>>
  // CHECK:         llvm.store {{.+}} : f32, !llvm.ptr<3>
  gpu.func @fills(%x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %f = tl.alloc layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) : memref<64xf32, #tl.fragment>
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<32xf32, #gpu.address_space<workgroup>>
    tl.fill %f, %x : memref<64xf32, #tl.fragment>
    tl.fill %s, %x : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.return
  }

  // A role is a branch, of one thread or of whole warps, which have their number
  // in all lanes, beside that of the roles before: nobody decides about the last
  // warps. One lane arrives for its warp once all of them have come, and
  // the threads of a role meet at a barrier of their own.
  // CHECK-LABEL: gpu.func @roles(
  // CHECK:         %[[SHUFFLED:.+]], %{{.+}} = gpu.shuffle
  // CHECK:         %[[WARP:.+]] = arith.index_cast %[[SHUFFLED]]
  // CHECK:         %[[FEW:.+]] = arith.cmpi ult, %[[WARP]], %c4{{.*}} : index
  // CHECK-NEXT:    scf.if %[[FEW]] {
  // CHECK:           nvvm.bar.warp.sync %c-1_i32
  // CHECK:           scf.if
  // CHECK:             nvvm.mbarrier.arrive
  // CHECK:           nvvm.barrier id = %c2_i32{{.*}} number_of_threads = %c128_i32
  // CHECK-NEXT:    } else {
  // CHECK:           %[[ONE:.+]] = arith.cmpi eq, %thread_id_x, %c128{{.*}} : index
  // CHECK-NEXT:      scf.if %[[ONE]] {
  // CHECK-NOT:         bar.warp
  // CHECK:             nvvm.mbarrier.arrive %{{.+}} : !llvm.ptr<3> -> i64
  // CHECK-NOT:         barrier id
  // CHECK:           }
  // CHECK-NEXT:    }
  // CHECK-NEXT:    gpu.return
  gpu.func @roles(%i: index) kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    %bars = tl.alloc_barriers arrivals(4) offset(64) : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
    tl.role threads(128, 1) barrier(1) {
      tl.arrive_barrier %bars[%i] : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
      gpu.barrier
    }
    tl.role threads(0, 128) barrier(2) {
      tl.arrive_barrier %bars[%i] : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
      gpu.barrier
    }
    gpu.return
  }

  // Warps that have no role pass by: number 2 and 4 of five.
  // CHECK-LABEL: gpu.func @some_warps(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi ult, %[[WARP:.+]], %c2{{.*}} : index
  // CHECK-NEXT:    scf.if %[[FIRST]] {
  // CHECK:           nvvm.barrier id = %c1_i32{{.*}} number_of_threads = %c64_i32
  // CHECK-NEXT:    } else {
  // CHECK:           %[[BELOW:.+]] = arith.cmpi ult, %[[WARP]], %c4{{.*}} : index
  // CHECK:           %[[ABOVE:.+]] = arith.cmpi uge, %[[WARP]], %c3{{.*}} : index
  // CHECK-NEXT:      %[[SECOND:.+]] = arith.andi %[[BELOW]], %[[ABOVE]]
  // CHECK-NEXT:      scf.if %[[SECOND]] {
  // CHECK:             nvvm.barrier id = %c2_i32{{.*}} number_of_threads = %c32_i32
  // CHECK-NEXT:      }
  // CHECK-NEXT:    }
  gpu.func @some_warps() kernel attributes {known_block_size = array<i32: 160, 1, 1>} {
    tl.role threads(96, 32) barrier(2) {
      gpu.barrier
    }
    tl.role threads(0, 64) barrier(1) {
      gpu.barrier
    }
    gpu.return
  }

  // Registers are changed by the warp groups of a role, also by those of their
  // threads that then pass by. At the barrier of a warp group meet those of its own,
  // who wait for their turn, and those of the one before, who pass it on.
  // CHECK-LABEL: gpu.func @turns(
  // CHECK:         %[[FEW:.+]] = arith.cmpi ult, %{{.+}}, %c8{{.*}} : index
  // CHECK-NEXT:    scf.if %[[FEW]] {
  // CHECK-NEXT:      nvvm.setmaxregister increase 240
  // CHECK:           %[[GROUP:.+]] = arith.divui %{{.+}}, %c4
  // CHECK:           %[[ISLAST:.+]] = arith.cmpi uge, %[[GROUP]], %c1
  // CHECK-NEXT:      scf.if %[[ISLAST]] {
  // CHECK:             nvvm.barrier.arrive id = %c3_i32{{.*}} number_of_threads = %c256_i32
  // CHECK:           %[[MINE:.+]] = arith.addi %{{.+}}, %c3_i32
  // CHECK:           nvvm.barrier id = %[[MINE]] number_of_threads = %c256_i32
  // CHECK:           %[[NEXT:.+]] = arith.select %{{.+}}, %c0{{.*}}, %{{.+}} : index
  // CHECK:           nvvm.barrier.arrive id = %{{.+}} number_of_threads = %c256_i32
  // CHECK:           %[[ISFIRST:.+]] = arith.cmpi ult, %{{.+}}, %c1
  // CHECK-NEXT:      scf.if %[[ISFIRST]] {
  // CHECK:             nvvm.barrier id = %c3_i32{{.*}} number_of_threads = %c256_i32
  // CHECK:         } else {
  // CHECK-NEXT:      nvvm.setmaxregister decrease 24
  // CHECK:           %[[ONE:.+]] = arith.cmpi eq, %thread_id_x, %c256{{.*}} : index
  // CHECK-NEXT:      scf.if %[[ONE]] {
  gpu.func @turns() kernel attributes {known_block_size = array<i32: 384, 1, 1>} {
    tl.role threads(256, 1) barrier(1) registers(24) {
    }
    tl.role threads(0, 256) barrier(2) registers(240) {
      tl.open_turns barrier(3)
      tl.take_turn barrier(3)
      tl.pass_turn barrier(3)
      tl.close_turns barrier(3)
    }
    gpu.return
  }
}
