// Copies, by the way in which they are done: the bulk copy engine, `cp.async`,
// `stmatrix`, and loads and stores of the threads.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))' | FileCheck %s

gpu.module @copies attributes {tl.target = #tl.target<chip = "sm_90a">} {
  //===--------------------------------------------------------------------===//
  // The bulk copy engine
  //===--------------------------------------------------------------------===//

  // A bulk load is issued by the first thread, one instruction for each panel of
  // the layout, after the barrier was told how many bytes to expect. Coordinates
  // are innermost first; the second panel is 64 columns and 8 KiB further.
  // No map describes an empty tensor: the thread writes the zeros itself.
  // CHECK-LABEL: gpu.func @bulk_load(
  // CHECK-SAME:    %[[MAP:[^ ]+]]: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 64], swizzle = 128, type = f16>}
  // CHECK:         %[[FIRST:.+]] = arith.cmpi eq, %thread_id_x
  // CHECK:         gpu.barrier
  // CHECK:         %[[K:.+]] = arith.muli
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK:           %[[EMPTY:.+]] = arith.cmpi eq, %{{.+}}, %{{.+}} : index
  // CHECK:           scf.if %[[EMPTY]] {
  // CHECK:             %[[SIZE:.+]] = arith.constant 16384 : index
  // CHECK:             scf.for %{{.+}} = %{{.+}} to %[[SIZE]] step
  // CHECK:               llvm.store %{{.+}}, %{{.+}} {alignment = 16 : i64} : vector<16xi8>, !llvm.ptr<3>
  // CHECK:             nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK:             %[[NOTHING:.+]] = arith.constant 0 : i32
  // CHECK:             nvvm.mbarrier.arrive.expect_tx %[[BARRIER:.+]], %[[NOTHING]]
  // CHECK:           } else {
  // CHECK:           %[[BYTES:.+]] = arith.constant 16384 : i32
  // CHECK:           nvvm.mbarrier.arrive.expect_tx %[[BARRIER]], %[[BYTES]]
  // CHECK:           %[[COLUMN:.+]] = arith.index_cast %[[K]] : index to i32
  // CHECK:           %[[ROW:.+]] = arith.index_cast %{{.+}} : index to i32
  // CHECK:           %[[AT:.+]] = arith.constant 1024 : i32
  // CHECK:           %[[TO:.+]] = llvm.getelementptr %{{.+}}[%[[AT]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  // CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global %[[TO]], %[[MAP]], %[[BARRIER]], box[%[[COLUMN]], %[[ROW]]]
  // CHECK:           %[[C64:.+]] = arith.constant 64 : index
  // CHECK:           %[[NEXT:.+]] = arith.addi %[[K]], %[[C64]]
  // CHECK:           %[[NEXT_COLUMN:.+]] = arith.index_cast %[[NEXT]] : index to i32
  // CHECK:           arith.constant 9216 : i32
  // CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global {{.+}}box[%[[NEXT_COLUMN]],
  // CHECK-NOT:       nvvm.cp.async
  // CHECK:         gpu.return
  gpu.func @bulk_load(%A: memref<?x512xf16> {tl.align = 16 : i64}, %m: index, %k: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(1024) : memref<64x128xf16, #gpu.address_space<workgroup>>
    %bars = tl.alloc_barriers arrivals(1) offset(0) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %column = arith.muli %k, %c8 : index
    tl.copy %A[%m, %column] to %tile tile(64, 128) async bulk barrier(%bars[%c0] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<?x512xf16> to memref<64x128xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // The box has an extent of one where the tensor is indexed, and so has its
  // place among the coordinates.
  // CHECK-LABEL: gpu.func @bulk_load_of_rows_apart(
  // CHECK-SAME:    %[[MAP:[^ ]+]]: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 1, 32, 1], swizzle = 128, type = f16>}
  // CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP]], %{{.+}}, box[%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}]
  gpu.func @bulk_load_of_rows_apart(%A: memref<2x512x8x64xf16> {tl.align = 16 : i64}, %b: index, %m: index, %h: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(1024) : memref<32x64xf16, #gpu.address_space<workgroup>>
    %bars = tl.alloc_barriers arrivals(1) offset(0) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    %c0 = arith.constant 0 : index
    tl.copy %A[%b, %m, %h, %c0] to %tile tile(32, 1, 64) async bulk barrier(%bars[%c0] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<2x512x8x64xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Rows that are gathered begin where the first of them does, or behind the
  // tensor where none exists; whether those outside of it do nobody asks.
  // CHECK-LABEL: gpu.func @bulk_load_of_gathered_rows(
  // CHECK-SAME:    %[[MAP:[^ ]+]]: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 16, 2, 1], swizzle = 128, type = f16>}
  // CHECK:         gpu.barrier
  // CHECK:         scf.if
  // CHECK:         %[[IMAGE:.+]] = arith.divui %{{.+}}, %{{.+}} : index
  // CHECK:         %[[THERE:.+]] = arith.cmpi slt
  // CHECK:         %[[BEHIND:.+]] = arith.constant 8 : index
  // CHECK:         %[[FIRST:.+]] = arith.select %[[THERE]], %[[IMAGE]], %[[BEHIND]] : index
  // CHECK:         %[[FIRST32:.+]] = arith.index_cast %[[FIRST]] : index to i32
  // CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.+}}, %[[MAP]], %{{.+}}, box[%{{.+}}, %{{.+}}, %{{.+}}, %[[FIRST32]]]
  gpu.func @bulk_load_of_gathered_rows(%A: memref<8x16x16x64xf16> {tl.align = 16 : i64}, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(1024) : memref<32x64xf16, #gpu.address_space<workgroup>>
    %bars = tl.alloc_barriers arrivals(1) offset(0) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %b = gpu.block_id x
    tl.copy %A to %tile tile(32, 64) places {
    ^bb0(%i: index):
      %start = arith.muli %b, %c32 : index
      %p = arith.addi %start, %i : index
      %image = arith.divui %p, %c256 : index
      %inside = arith.remui %p, %c256 : index
      %row = arith.divui %inside, %c16 : index
      %y = arith.addi %row, %n : index
      %x = arith.remui %inside, %c16 : index
      %there = arith.cmpi slt, %b, %n : index
      %below = arith.cmpi slt, %y, %c16 : index
      %all = arith.andi %there, %below : i1
      tl.places %image, %y, %x, %c0 if %all
    } async bulk barrier(%bars[%c0] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<8x16x16x64xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Pieces of rows that do not exist are not copied, where they are to stay.
  // CHECK-LABEL: gpu.func @kept_rows(
  // CHECK:         %[[THERE:.+]] = arith.cmpi slt
  // CHECK:         scf.if %[[THERE]] {
  // CHECK-NOT:     }
  // CHECK:           nvvm.cp.async.shared.global %{{[^,]+}}, %{{[^,]+}}, 16, cache =  cg :
  // CHECK-NEXT:    }
  gpu.func @kept_rows(%A: memref<64x64xf16> {tl.align = 16 : i64}, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(1024) : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.copy %A to %tile tile(32, 64) places {
    ^bb0(%i: index):
      %c0 = arith.constant 0 : index
      %there = arith.cmpi slt, %i, %n : index
      tl.places %i, %c0 if %there else keep
    } async : memref<64x64xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // A thread looks up the rows of all its pieces before it waits for one.
  // CHECK-LABEL: gpu.func @rows_of_a_table(
  // CHECK-COUNT-2: llvm.load %{{.+}} : !llvm.ptr<1> -> i32
  // CHECK-NOT:     llvm.load
  // CHECK-COUNT-2: nvvm.cp.async.shared.global
  // CHECK-NOT:     llvm.load
  // CHECK:         gpu.return
  gpu.func @rows_of_a_table(%A: memref<64x64xf16> {tl.align = 16 : i64}, %T: memref<32xi32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(1024) : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.copy %A to %tile tile(32, 64) places {
    ^bb0(%i: index):
      %c0 = arith.constant 0 : index
      %number = tl.load %T[%i] : memref<32xi32>
      %row = arith.index_cast %number : i32 to index
      tl.places %row, %c0
    } async : memref<64x64xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // The same without `cp.async`.
  // CHECK-LABEL: gpu.func @kept_rows_by_threads(
  // CHECK-NOT:     cp.async
  // CHECK:         scf.if
  // CHECK:           llvm.load
  // CHECK:         llvm.store
  gpu.func @kept_rows_by_threads(%A: memref<64x64xf16> {tl.align = 16 : i64}, %n: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(1024) : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.copy %A to %tile tile(32, 64) places {
    ^bb0(%i: index):
      %c0 = arith.constant 0 : index
      %there = arith.cmpi slt, %i, %n : index
      tl.places %i, %c0 if %there else keep
    } : memref<64x64xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Zero is a multiple of everything, also divided: the place of a first copy
  // of those at `k * 512 / 8`.
  // CHECK-LABEL: gpu.func @bulk_load_at_a_quotient(
  // CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global
  gpu.func @bulk_load_at_a_quotient(%A: memref<32x512xf16> {tl.align = 16 : i64}, %k: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(1024) : memref<2x32x64xf16, #gpu.address_space<workgroup>>
    %bars = tl.alloc_barriers arrivals(1) offset(0) : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c512 = arith.constant 512 : index
    %first = tl.slot %tile[%c0] : memref<2x32x64xf16, #gpu.address_space<workgroup>> to memref<32x64xf16, #gpu.address_space<workgroup>>
    %second = tl.slot %tile[%c1] : memref<2x32x64xf16, #gpu.address_space<workgroup>> to memref<32x64xf16, #gpu.address_space<workgroup>>
    %none = arith.muli %c0, %c512 : index
    %start = arith.divui %none, %c8 : index
    tl.copy %A[%c0, %start] to %first tile(32, 64) async bulk barrier(%bars[%c0] : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<32x512xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
    %some = arith.muli %k, %c512 : index
    %next = arith.divui %some, %c8 : index
    tl.copy %A[%c0, %next] to %second tile(32, 64) async bulk barrier(%bars[%c1] : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<32x512xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Pieces are as wide as every one of them may be: here a tile begins at a
  // multiple of two elements, and there at an odd one, which `cp.async` cannot.
  // CHECK-LABEL: gpu.func @misplaced(
  // CHECK-COUNT-2: nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 8, cache = 
  // CHECK-NOT:     nvvm.cp.async.shared.global
  // CHECK:         llvm.load
  // CHECK:         gpu.return
  gpu.func @misplaced(%A: memref<64x64xf32> {tl.align = 16 : i64}, %B: memref<64x64xf16> {tl.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 72>) offset(0) : memref<8x72xf32, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 72>) offset(4096) : memref<8x72xf16, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %a[%c0, %c2] tile(8, 64) async : memref<64x64xf32> to memref<8x72xf32, #gpu.address_space<workgroup>>
    tl.copy %B[%c0, %c0] to %b[%c0, %c1] tile(8, 64) async : memref<64x64xf16> to memref<8x72xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // A thread's part of a copy may be a loop over rounds: of whole pieces, here
  // five of 16 bytes, which are half of a row.
  // CHECK-LABEL: gpu.func @rounds(
  // CHECK:         scf.for %{{.+}} = %{{.+}} to %c32{{.*}} step
  // CHECK-COUNT-5:   nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 16, cache = 
  // CHECK-NOT:     nvvm.cp.async.shared.global
  // CHECK:         gpu.return
  gpu.func @rounds(%A: memref<16x40xi32> {tl.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 40>) offset(0) : memref<16x40xi32, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %a tile(16, 40) async : memref<16x40xi32> to memref<16x40xi32, #gpu.address_space<workgroup>>
    gpu.return
  }

  // A bulk store ends when the engine has read the tile: its memory may be used
  // again, and the block may end. An empty tensor takes nothing.
  // CHECK-LABEL: gpu.func @bulk_store(
  // CHECK:         %[[FIRST:.+]] = arith.cmpi eq, %thread_id_x
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK:           scf.if %{{.+}} {
  // CHECK-NEXT:      } else {
  // CHECK:           nvvm.cp.async.bulk.tensor.global.shared.cta %arg1, %{{.+}}, box[%{{.+}}, %{{.+}}]
  // CHECK-NEXT:      nvvm.cp.async.bulk.commit.group
  // CHECK-NEXT:      nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK-NEXT:    }
  gpu.func @bulk_store(%A: memref<?x512xf16> {tl.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<64x64xf16, #gpu.address_space<workgroup>>
    %c8 = arith.constant 8 : index
    %m = gpu.block_id y
    %n = gpu.block_id x
    %column = arith.muli %n, %c8 : index
    tl.copy %tile to %A[%m, %column] tile(64, 64) bulk : memref<64x64xf16, #gpu.address_space<workgroup>> to memref<?x512xf16>
    gpu.return
  }

  // A store that accumulates is a reduction of each panel. An asynchronous one
  // is a group that nothing waits for here.
  // CHECK-LABEL: gpu.func @bulk_sum(
  // CHECK-SAME:    #tl.param<tensor_map, 0, box = [32, 64], swizzle = 128, type = f32>
  // CHECK:         scf.if
  // CHECK-COUNT-2:   nvvm.cp.async.bulk.tensor.reduce %arg0, %{{.+}}, box[%{{.+}}, %{{.+}}] {redKind = #nvvm.tma_redux_kind<add>}
  // CHECK-NEXT:      nvvm.cp.async.bulk.commit.group
  // CHECK-NEXT:    }
  gpu.func @bulk_sum(%A: memref<512x64xf32> {tl.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) offset(0) : memref<64x64xf32, #gpu.address_space<workgroup>>
    %c0 = arith.constant 0 : index
    %m = gpu.block_id y
    tl.copy %tile to %A[%m, %c0] tile(64, 64) async bulk accumulate : memref<64x64xf32, #gpu.address_space<workgroup>> to memref<512x64xf32>
    gpu.return
  }

  // A load that is marked has the engine round to tf32, on the way in.
  // CHECK-LABEL: gpu.func @bulk_load_tf32(
  // CHECK-SAME:    #tl.param<tensor_map, 0, box = [32, 64], swizzle = 128, type = tf32>
  gpu.func @bulk_load_tf32(%A: memref<64x32xf32> {tl.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) offset(0) : memref<64x32xf32, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) offset(8192) : memref<32x32xf32, #gpu.address_space<workgroup>>
    %bars = tl.alloc_barriers arrivals(1) offset(16384) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [64, 32], thread = [4, 8, 4] : [2, 32, 512], value = [2, 2, 4] : [1, 256, 8]>) : memref<64x32xf32, #tl.fragment>
    %c0 = arith.constant 0 : index
    tl.copy %A to %a tile(64, 32) async bulk round_tf32 barrier(%bars[%c0] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<64x32xf32> to memref<64x32xf32, #gpu.address_space<workgroup>>
    tl.gemm %a, %b, %acc transpose_b plan(<wgmma, warps_m = 1, warps_n = 1>) : memref<64x32xf32, #gpu.address_space<workgroup>>, memref<32x32xf32, #gpu.address_space<workgroup>>, memref<64x32xf32, #tl.fragment>
    gpu.return
  }

  // Any other brings what was stored.
  // CHECK-LABEL: gpu.func @bulk_load_f32(
  // CHECK-SAME:    #tl.param<tensor_map, 0, box = [32, 64], swizzle = 128, type = f32>
  gpu.func @bulk_load_f32(%A: memref<64x32xf32> {tl.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) offset(0) : memref<64x32xf32, #gpu.address_space<workgroup>>
    %bars = tl.alloc_barriers arrivals(1) offset(8192) : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tl.fragment_layout<shape = [64, 32], thread = [8, 16] : [4, 32], value = [4, 4] : [1, 512]>) : memref<64x32xf32, #tl.fragment>
    %c0 = arith.constant 0 : index
    tl.copy %A to %a tile(64, 32) async bulk barrier(%bars[%c0] : memref<1x!tl.mbarrier, #gpu.address_space<workgroup>>) : memref<64x32xf32> to memref<64x32xf32, #gpu.address_space<workgroup>>
    tl.parallel (%i, %j) in (64, 32) layout(#tl.fragment_layout<shape = [64, 32], thread = [8, 16] : [4, 32], value = [4, 4] : [1, 512]>) {
      %v = tl.load %a[%i, %j] : memref<64x32xf32, #gpu.address_space<workgroup>>
      tl.store %v, %x[%i, %j] : memref<64x32xf32, #tl.fragment>
    }
    gpu.return
  }

  //===--------------------------------------------------------------------===//
  // cp.async
  //===--------------------------------------------------------------------===//

  // Each thread starts 16-byte pieces, here two. A piece outside of the tensor is
  // of size zero, which writes zeros. The target is swizzled: bits 7 to 9 of the
  // byte offset are added to bits 4 to 6.
  // CHECK-LABEL: gpu.func @cp_async(
  // CHECK-SAME:    %[[ROWS:[^ ]+]]: i64 {tl.param = #tl.param<dim, 0>}, %[[BASE:[^ ]+]]: !llvm.ptr<1> {tl.align = {{[0-9]+}} : i64, tl.param = #tl.param<base, 0>}
  // CHECK:         %[[EXTENT:.+]] = arith.index_cast %[[ROWS]] : i64 to index
  // CHECK:         %[[BELOW:.+]] = arith.cmpi ult, %{{.+}}, %[[EXTENT]]
  // CHECK:         %[[INSIDE:.+]] = arith.andi %[[BELOW]]
  // CHECK:         %[[C16:.+]] = arith.constant 16 : i32
  // CHECK:         %[[C0:.+]] = arith.constant 0 : i32
  // CHECK:         %[[SIZE:.+]] = arith.select %[[INSIDE]], %[[C16]], %[[C0]]
  // CHECK:         %[[C8:.+]] = arith.constant 8 : index
  // CHECK-NEXT:    %[[DOWN:.+]] = arith.divui %[[OFFSET:.+]], %[[C8]]
  // CHECK-NEXT:    %[[MASK:.+]] = arith.constant 112 : index
  // CHECK-NEXT:    %[[BITS:.+]] = arith.andi %[[DOWN]], %[[MASK]]
  // CHECK-NEXT:    arith.xori %[[OFFSET]], %[[BITS]]
  // CHECK:         %[[FROM:.+]] = llvm.getelementptr %[[BASE]][%{{.+}}] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
  // CHECK:         nvvm.cp.async.shared.global %{{.+}}, %[[FROM]], 16, cache = cg, %[[SIZE]]
  // CHECK:         nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %{{.+}} :
  // CHECK-NOT:     nvvm.cp.async.shared.global
  // CHECK:         gpu.return
  gpu.func @cp_async(%A: memref<?x512xf16> {tl.align = 16 : i64}, %m: index, %k: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c64 = arith.constant 64 : index
    %kk = arith.muli %k, %c64 : index
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.copy %A[%m, %kk] to %tile tile(32, 64) async : memref<?x512xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Columns that may start anywhere leave 4-byte pieces, which only the cache of
  // all levels takes.
  // CHECK-LABEL: gpu.func @cp_async_narrow(
  // CHECK:         nvvm.cp.async.shared.global {{.+}}, 4, cache = ca,
  gpu.func @cp_async_narrow(%A: memref<?x512xf32> {tl.align = 16 : i64}, %m: index, %k: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 32>) offset(0) : memref<4x32xf32, #gpu.address_space<workgroup>>
    tl.copy %A[%m, %k] to %tile tile(4, 32) async : memref<?x512xf32> to memref<4x32xf32, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Pieces of 2 bytes are too small: threads copy.
  // CHECK-LABEL: gpu.func @cp_async_too_narrow(
  // CHECK-NOT:     nvvm.cp.async
  // CHECK:         llvm.load {{.*}} : !llvm.ptr<1> -> f16
  // CHECK:         llvm.store {{.*}} : f16, !llvm.ptr<3>
  gpu.func @cp_async_too_narrow(%A: memref<?x512xf16> {tl.align = 16 : i64}, %m: index, %k: index) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<2x64xf16, #gpu.address_space<workgroup>>
    tl.copy %A[%m, %k] to %tile tile(2, 64) async : memref<?x512xf16> to memref<2x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  //===--------------------------------------------------------------------===//
  // stmatrix
  //===--------------------------------------------------------------------===//

  // An accumulator is narrowed and stored four 8x8 matrices at a time.
  // CHECK-LABEL: gpu.func @stmatrix(
  // CHECK:         %[[ACC:.+]] = memref.load %{{.+}}[] : memref<vector<8xf32>>
  // CHECK:         %[[HALVES:.+]] = arith.truncf %[[ACC]] : vector<8xf32> to vector<8xf16>
  // CHECK:         %[[PIECE:.+]] = vector.extract_strided_slice %[[HALVES]]
  // CHECK:         %[[PACKED:.+]] = vector.bitcast %[[PIECE]] : vector<8xf16> to vector<4xi32>
  // CHECK:         tl.stmatrix %[[PACKED]], %{{.+}} : vector<4xi32>, <3>
  gpu.func @stmatrix() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [64, 16], thread = [4, 8, 4] : [2, 16, 256], value = [2, 2, 2] : [1, 128, 8]>) : memref<64x16xf32, #tl.fragment>
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 16>) offset(0) : memref<64x16xf16, #gpu.address_space<workgroup>>
    tl.copy %acc to %tile tile(64, 16) : memref<64x16xf32, #tl.fragment> to memref<64x16xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Also into a part of a tile, if it begins where a row of a matrix may.
  // CHECK-LABEL: gpu.func @stmatrix_part(
  // CHECK:         tl.stmatrix
  gpu.func @stmatrix_part() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %at = arith.constant 16 : index
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [64, 16], thread = [4, 8, 4] : [2, 16, 256], value = [2, 2, 2] : [1, 128, 8]>) : memref<64x16xf32, #tl.fragment>
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 64, chunk = 32>) offset(0) : memref<64x32xf16, #gpu.address_space<workgroup>>
    tl.copy %acc to %tile[%c0, %at] tile(64, 16) : memref<64x16xf32, #tl.fragment> to memref<64x32xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @stmatrix_unaligned(
  // CHECK-NOT:     tl.stmatrix
  gpu.func @stmatrix_unaligned() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %at = arith.constant 4 : index
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [64, 16], thread = [4, 8, 4] : [2, 16, 256], value = [2, 2, 2] : [1, 128, 8]>) : memref<64x16xf32, #tl.fragment>
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 64, chunk = 32>) offset(0) : memref<64x32xf16, #gpu.address_space<workgroup>>
    tl.copy %acc to %tile[%c0, %at] tile(64, 16) : memref<64x16xf32, #tl.fragment> to memref<64x32xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  //===--------------------------------------------------------------------===//
  // Threads
  //===--------------------------------------------------------------------===//

  // Aligned rows of whole vectors are read as vectors, into a fragment as it is.
  // CHECK-LABEL: gpu.func @vectors(
  // CHECK:         %[[SLOT:.+]] = memref.alloca() : memref<vector<4xf32>>
  // CHECK:         llvm.load {{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NOT:     llvm.load
  // CHECK:         memref.store %{{.+}}, %[[SLOT]][] : memref<vector<4xf32>>
  gpu.func @vectors(%A: memref<512xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [512], thread = [128] : [4], value = [4] : [1]>) : memref<512xf32, #tl.fragment>
    tl.copy %A to %x tile(512) : memref<512xf32> to memref<512xf32, #tl.fragment>
    gpu.return
  }

  // Rows apart are read as vectors too: the stride of a dimension has the extents
  // behind it as factors, whatever their number.
  // CHECK-LABEL: gpu.func @rows_apart(
  // CHECK:         llvm.load {{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
  // CHECK-NOT:     llvm.load
  // CHECK:         gpu.return
  gpu.func @rows_apart(%A: memref<?x?x4x32xf32> {tl.align = 16 : i64}, %b: index, %m: index, %h: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [16, 32], thread = [16, 8] : [32, 4], value = [4] : [1]>) : memref<16x32xf32, #tl.fragment>
    %c0 = arith.constant 0 : index
    tl.copy %A[%b, %m, %h, %c0] to %x tile(16, 1, 32) : memref<?x?x4x32xf32> to memref<16x32xf32, #tl.fragment>
    gpu.return
  }

  // An address that is not known to be aligned is read one element at a time.
  // CHECK-LABEL: gpu.func @scalars(
  // CHECK-COUNT-4: llvm.load {{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
  // CHECK-NOT:     llvm.load
  // CHECK:         gpu.return
  gpu.func @scalars(%A: memref<512xf32> {tl.align = 4 : i64}) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [512], thread = [128] : [4], value = [4] : [1]>) : memref<512xf32, #tl.fragment>
    tl.copy %A to %x tile(512) : memref<512xf32> to memref<512xf32, #tl.fragment>
    gpu.return
  }

  // At ragged edges each dimension is compared with its extent, unsigned, so that
  // negative positions are outside too; outside reads as zero.
  // CHECK-LABEL: gpu.func @ragged(
  // CHECK-SAME:    #tl.param<dim, 0>}, {{.*}}#tl.param<dim, 0, index = 1>}, %[[BASE:[^ ]+]]: !llvm.ptr<1> {{.*}}, %[[STRIDE:[^ ]+]]: i64 {tl.param = #tl.param<stride, 0>}
  // CHECK:         %[[ROW_INSIDE:.+]] = arith.cmpi ult, %[[ROW:.+]], %[[ROWS:.+]] : index
  // CHECK:         %[[COLUMN_INSIDE:.+]] = arith.cmpi ult, %[[COLUMN:.+]], %[[COLUMNS:.+]] : index
  // CHECK:         %[[INSIDE:.+]] = arith.andi %[[ROW_INSIDE]], %[[COLUMN_INSIDE]]
  // CHECK:         scf.if %[[INSIDE]] -> (f32) {
  // CHECK:           %[[LINE:.+]] = arith.muli %{{.+}}, %[[STRIDE]] : i64
  // CHECK:           %[[VALUE:.+]] = llvm.load
  // CHECK:           scf.yield %[[VALUE]]
  // CHECK:         } else {
  // CHECK:           %[[ZERO:.+]] = arith.constant 0.0
  // CHECK:           scf.yield %[[ZERO]]
  gpu.func @ragged(%A: memref<?x?xf32>, %m: index, %n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [1, 32], thread = [32] : [1], value = [1] : [1]>) : memref<1x32xf32, #tl.fragment>
    tl.copy %A[%m, %n] to %x tile(1, 32) : memref<?x?xf32> to memref<1x32xf32, #tl.fragment>
    gpu.return
  }

  // A copy converts; the wide side decides nothing about how the narrow one is
  // read. What is seen to be in bounds has no guard.
  // CHECK-LABEL: gpu.func @converts(
  // CHECK:         llvm.load {{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf16>
  // CHECK:         arith.extf %{{.+}} : vector<8xf16> to vector<8xf32>
  // CHECK-NOT:     scf.if
  // CHECK:         llvm.store {{.+}} : vector<4xf32>, !llvm.ptr<1>
  // CHECK-NOT:     scf.if
  // CHECK:         llvm.store {{.+}} : vector<4xf32>, !llvm.ptr<1>
  gpu.func @converts(%A: memref<256xf16> {tl.align = 16 : i64}, %B: memref<256xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [256], thread = [32] : [8], value = [8] : [1]>) : memref<256xf32, #tl.fragment>
    tl.copy %A to %x tile(256) : memref<256xf16> to memref<256xf32, #tl.fragment>
    tl.copy %x to %B tile(256) : memref<256xf32, #tl.fragment> to memref<256xf32>
    gpu.return
  }
  // Of a grid with a limit, the blocks inside of it are seen to be: along rows, and
  // not along columns, which the last block would leave.
  // CHECK-LABEL: gpu.func @blocks(
  // CHECK:         %[[LAST:.+]] = arith.constant 1000 : index
  // CHECK:         %[[INSIDE:.+]] = arith.cmpi ult, %{{.+}}, %[[LAST]] : index
  // CHECK-NOT:     arith.cmpi
  // CHECK:         scf.if %[[INSIDE]]
  gpu.func @blocks(%A: memref<256x1000xf32> {tl.align = 16 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.grid_limit = array<i64: 8, 256, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [1, 128], thread = [32] : [4], value = [4] : [1]>) : memref<1x128xf32, #tl.fragment>
    %bx = gpu.block_id x
    %by = gpu.block_id y
    %c128 = arith.constant 128 : index
    %column = arith.muli %bx, %c128 : index
    tl.copy %A[%by, %column] to %x tile(1, 128) : memref<256x1000xf32> to memref<1x128xf32, #tl.fragment>
    gpu.return
  }

  // Rows of odd strides are moved by elements: as many are under way as there are registers for, 32 of 4 bytes.
  // CHECK-LABEL: gpu.func @odd_rows(
  // CHECK-NOT:     scf.for
  // CHECK-COUNT-32: llvm.load {{.+}} : !llvm.ptr<1> -> f16
  // CHECK-NOT:     llvm.load
  // CHECK-COUNT-32: llvm.store {{.+}} : f16, !llvm.ptr<3>
  // CHECK-NOT:     llvm.store
  // CHECK:         gpu.return
  gpu.func @odd_rows(%A: memref<531x783xf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<128x32xf16, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %s tile(128, 32) : memref<531x783xf16> to memref<128x32xf16, #gpu.address_space<workgroup>>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @odd_rows_of_f64(
  // CHECK:         scf.for
  // CHECK-COUNT-16: llvm.load {{.+}} : !llvm.ptr<1> -> f64
  // CHECK-NOT:     llvm.load
  // CHECK:         gpu.return
  gpu.func @odd_rows_of_f64(%A: memref<531x783xf64>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<128x32xf64, #gpu.address_space<workgroup>>
    tl.copy %A[%c0, %c0] to %s tile(128, 32) : memref<531x783xf64> to memref<128x32xf64, #gpu.address_space<workgroup>>
    gpu.return
  }
}
