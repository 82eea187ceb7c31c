// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-shared-memory))' | FileCheck %s

#plain = #tl.shared_layout<swizzle = 0, chunk = 128>
#swizzled = #tl.shared_layout<swizzle = 128, chunk = 64>
!row = memref<128xf32, #gpu.address_space<workgroup>>
!large = memref<24576xf32, #gpu.address_space<workgroup>>
!small = memref<32xf32, #gpu.address_space<workgroup>>
!tile = memref<64x64xf16, #gpu.address_space<workgroup>>
!ring = memref<3x64x64xf16, #gpu.address_space<workgroup>>
!bars = memref<3x!tl.mbarrier, #gpu.address_space<workgroup>>

gpu.module @kernels attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // Buffers that are used by turns lie side by side.
  // CHECK-LABEL: gpu.func @together
  // CHECK-SAME:      tl.shared = 1024 : i64
  // CHECK:         tl.alloc layout({{.*}}) offset(0) : memref<128xf32
  // CHECK:         tl.alloc layout({{.*}}) offset(512) : memref<128xf32
  gpu.func @together(%v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#plain) : !row
    %b = tl.alloc layout(#plain) : !row
    tl.fill %a, %v : !row
    tl.fill %b, %v : !row
    tl.copy %a to %b tile(128) : !row to !row
    gpu.return
  }

  // One that is used only after the other share its bytes.
  // CHECK-LABEL: gpu.func @one_after_the_other
  // CHECK-SAME:      tl.shared = 512 : i64
  // CHECK:         tl.alloc layout({{.*}}) offset(0) : memref<128xf32
  // CHECK:         tl.alloc layout({{.*}}) offset(0) : memref<128xf32
  gpu.func @one_after_the_other(%v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#plain) : !row
    %b = tl.alloc layout(#plain) : !row
    tl.fill %a, %v : !row
    tl.fill %b, %v : !row
    gpu.return
  }

  // Within a loop buffers keep apart, because to take turns costs barriers.
  // CHECK-LABEL: gpu.func @in_a_loop
  // CHECK-SAME:      tl.shared = 1024 : i64
  gpu.func @in_a_loop(%v: f32, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc layout(#plain) : !row
    %b = tl.alloc layout(#plain) : !row
    scf.for %i = %c0 to %n step %c1 {
      tl.fill %a, %v : !row
      tl.fill %b, %v : !row
    }
    gpu.return
  }

  // Where they would not fit they take turns there too, but for the one that
  // the next iteration reads: `%kept` is read before it is written.
  // CHECK-LABEL: gpu.func @turns_in_a_loop
  // CHECK-SAME:      tl.shared = 196608 : i64
  // CHECK:         tl.alloc layout({{.*}}) offset(0) : memref<24576xf32
  // CHECK:         tl.alloc layout({{.*}}) offset(0) : memref<24576xf32
  // CHECK:         tl.alloc layout({{.*}}) offset(98304) : memref<24576xf32
  gpu.func @turns_in_a_loop(%A: memref<24576xf32>, %v: f32, %n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = tl.alloc layout(#plain) : !large
    %b = tl.alloc layout(#plain) : !large
    %kept = tl.alloc layout(#plain) : !large
    tl.fill %kept, %v : !large
    scf.for %i = %c0 to %n step %c1 {
      tl.copy %A to %a tile(24576) : memref<24576xf32> to !large
      tl.copy %a to %A tile(24576) : !large to memref<24576xf32>
      tl.copy %A to %b tile(24576) : memref<24576xf32> to !large
      tl.copy %b to %A tile(24576) : !large to memref<24576xf32>
      tl.copy %kept to %A tile(24576) : !large to memref<24576xf32>
      tl.copy %A to %kept tile(24576) : memref<24576xf32> to !large
    }
    gpu.return
  }

  // Both buffers of one parallel loop hold something while it runs.
  // CHECK-LABEL: gpu.func @in_one_parallel_loop
  // CHECK-SAME:      tl.shared = 1024 : i64
  gpu.func @in_one_parallel_loop(%A: memref<128xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#plain) : !row
    %b = tl.alloc layout(#plain) : !row
    tl.copy %A to %a tile(128) : memref<128xf32> to !row
    tl.parallel (%i) in (128) {
      %c127 = arith.constant 127 : index
      %j = arith.subi %c127, %i : index
      %x = tl.load %a[%i] : !row
      tl.store %x, %b[%j] : !row
    }
    tl.copy %b to %A tile(128) : !row to memref<128xf32>
    gpu.return
  }

  // What a gemm under way reads is held until the wait for it.
  // CHECK-LABEL: gpu.func @until_the_wait
  // CHECK-SAME:      tl.shared = 16384 : i64
  gpu.func @until_the_wait(%v: f16) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#swizzled) : !tile
    %b = tl.alloc layout(#swizzled) : !tile
    %acc = tl.alloc : memref<64x64xf32, #tl.fragment>
    tl.fill %a, %v : !tile
    tl.gemm %a, %a, %acc async plan(<wgmma, warps_m = 4, warps_n = 1>) : !tile, !tile, memref<64x64xf32, #tl.fragment>
    tl.fill %b, %v : !tile
    tl.wait_gemm 0 (%acc : memref<64x64xf32, #tl.fragment>)
    gpu.return
  }

  // A branch is no loop.
  // CHECK-LABEL: gpu.func @in_a_branch
  // CHECK-SAME:      tl.shared = 512 : i64
  gpu.func @in_a_branch(%v: f32, %c: i1) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#plain) : !row
    %b = tl.alloc layout(#plain) : !row
    scf.if %c {
      tl.fill %a, %v : !row
      tl.fill %b, %v : !row
    }
    gpu.return
  }

  // A ring is used through its slots. The tile that is staged after the loop
  // takes its place; barriers keep theirs, because nobody invalidates them.
  // CHECK-LABEL: gpu.func @after_a_pipeline
  // CHECK-SAME:      tl.shared = 24600 : i64
  // CHECK:         tl.alloc layout({{.*}}) offset(0) : memref<3x64x64xf16
  // CHECK:         tl.alloc_barriers arrivals(1) offset(24576)
  // CHECK:         tl.alloc layout({{.*}}) offset(0) : memref<64x64xf16
  gpu.func @after_a_pipeline(%A: memref<64x64xf16>, %v: f16, %n: index, %p: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ring = tl.alloc layout(#swizzled) : !ring
    %full = tl.alloc_barriers arrivals(1) : !bars
    %out = tl.alloc layout(#swizzled) : !tile
    scf.for %i = %c0 to %n step %c1 {
      %slot = tl.slot %ring[%c0] : !ring to !tile
      tl.wait_barrier %full[%c0] parity(%p) : !bars
      tl.copy %slot to %A tile(64, 64) : !tile to memref<64x64xf16>
    }
    tl.fill %out, %v : !tile
    gpu.return
  }

  // A ring ends with the last wait for its own mbarriers: the next one takes its
  // place, whatever that one waits for.
  // CHECK-LABEL: gpu.func @rings_in_turn
  // CHECK-SAME:      tl.shared = 24624 : i64
  // CHECK:         tl.alloc layout({{.*}}) offset(0) : memref<3x64x64xf16
  // CHECK:         tl.alloc layout({{.*}}) offset(0) : memref<3x64x64xf16
  gpu.func @rings_in_turn(%A: memref<64x64xf16>, %n: index, %p: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = tl.alloc layout(#swizzled) : !ring
    %second = tl.alloc layout(#swizzled) : !ring
    %full = tl.alloc_barriers arrivals(1) : !bars
    %other = tl.alloc_barriers arrivals(1) : !bars
    scf.for %i = %c0 to %n step %c1 {
      %slot = tl.slot %first[%c0] : !ring to !tile
      tl.copy %A to %slot tile(64, 64) async bulk barrier(%full[%c0] : !bars) : memref<64x64xf16> to !tile
      tl.wait_barrier %full[%c0] parity(%p) : !bars
      tl.copy %slot to %A tile(64, 64) : !tile to memref<64x64xf16>
    }
    scf.for %i = %c0 to %n step %c1 {
      %slot = tl.slot %second[%c0] : !ring to !tile
      tl.copy %A to %slot tile(64, 64) async bulk barrier(%other[%c0] : !bars) : memref<64x64xf16> to !tile
      tl.wait_barrier %other[%c0] parity(%p) : !bars
      tl.copy %slot to %A tile(64, 64) : !tile to memref<64x64xf16>
    }
    gpu.return
  }

  // Not where the first one is still waited for when the second one is filled,
  // as it is where a role runs ahead. Nor where a loop comes back to both.
  // CHECK-LABEL: gpu.func @rings_at_once
  // CHECK-SAME:      tl.shared = 49200 : i64
  gpu.func @rings_at_once(%A: memref<64x64xf16>, %n: index, %p: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = tl.alloc layout(#swizzled) : !ring
    %second = tl.alloc layout(#swizzled) : !ring
    %full = tl.alloc_barriers arrivals(1) : !bars
    %other = tl.alloc_barriers arrivals(1) : !bars
    %a = tl.slot %first[%c0] : !ring to !tile
    tl.copy %A to %a tile(64, 64) async bulk barrier(%full[%c0] : !bars) : memref<64x64xf16> to !tile
    %b = tl.slot %second[%c0] : !ring to !tile
    tl.copy %A to %b tile(64, 64) async bulk barrier(%other[%c0] : !bars) : memref<64x64xf16> to !tile
    scf.for %i = %c0 to %n step %c1 {
      tl.wait_barrier %full[%c0] parity(%p) : !bars
    }
    tl.wait_barrier %other[%c0] parity(%p) : !bars
    gpu.return
  }

  // CHECK-LABEL: gpu.func @rings_in_a_loop
  // CHECK-SAME:      tl.shared = 49200 : i64
  gpu.func @rings_in_a_loop(%A: memref<64x64xf16>, %n: index, %p: i32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = tl.alloc layout(#swizzled) : !ring
    %second = tl.alloc layout(#swizzled) : !ring
    %full = tl.alloc_barriers arrivals(1) : !bars
    %other = tl.alloc_barriers arrivals(1) : !bars
    scf.for %i = %c0 to %n step %c1 {
      %a = tl.slot %first[%c0] : !ring to !tile
      tl.copy %A to %a tile(64, 64) async bulk barrier(%full[%c0] : !bars) : memref<64x64xf16> to !tile
      tl.wait_barrier %full[%c0] parity(%p) : !bars
      %b = tl.slot %second[%c0] : !ring to !tile
      tl.copy %A to %b tile(64, 64) async bulk barrier(%other[%c0] : !bars) : memref<64x64xf16> to !tile
      tl.wait_barrier %other[%c0] parity(%p) : !bars
    }
    gpu.return
  }

  // A swizzle repeats every 1024 bytes: such buffers start there, so they are
  // placed first, and small ones fill up behind them.
  // CHECK-LABEL: gpu.func @alignment
  // CHECK-SAME:      tl.shared = 8320 : i64
  // CHECK:         tl.alloc layout(#{{.*}}) offset(8192) : memref<32xf32
  // CHECK:         tl.alloc layout(#{{.*}}) offset(0) : memref<64x64xf16
  gpu.func @alignment(%v: f32, %w: f16, %A: memref<64x64xf16>, %B: memref<32xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) : !small
    %b = tl.alloc layout(#swizzled) : !tile
    tl.fill %a, %v : !small
    tl.copy %A to %b tile(64, 64) : memref<64x64xf16> to !tile
    tl.copy %a to %B tile(32) : !small to memref<32xf32>
    tl.copy %b to %A tile(64, 64) : !tile to memref<64x64xf16>
    gpu.return
  }

  // A copy that leaves rows alone needs what the tile holds: nothing else may be
  // there between the fill and the copy, as it may where all rows are written.
  // CHECK-LABEL: gpu.func @kept_rows
  // CHECK:         %[[A:.+]] = tl.alloc {{.*}}offset([[#FIRST:]])
  // CHECK-NOT:     offset([[#FIRST]])
  // CHECK:         tl.copy
  gpu.func @kept_rows(%K: memref<64x64xf16> {tl.align = 16 : i64}, %C: memref<32x64xf16>, %n: index, %v: f16, %w: f16) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#plain) : memref<32x64xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#plain) : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.fill %a, %v : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.fill %b, %w : memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.copy %b to %C tile(32, 64) : memref<32x64xf16, #gpu.address_space<workgroup>> to memref<32x64xf16>
    tl.copy %K to %a tile(32, 64) places {
    ^bb0(%i: index):
      %c0 = arith.constant 0 : index
      %there = arith.cmpi slt, %i, %n : index
      tl.places %i, %c0 if %there else keep
    } : memref<64x64xf16> to memref<32x64xf16, #gpu.address_space<workgroup>>
    tl.copy %a to %C tile(32, 64) : memref<32x64xf16, #gpu.address_space<workgroup>> to memref<32x64xf16>
    gpu.return
  }

  // What nothing uses takes no room.
  // CHECK-LABEL: gpu.func @unused
  // CHECK-SAME:      tl.shared = 0 : i64
  // CHECK-NOT:     tl.alloc
  gpu.func @unused() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#plain) : !row
    %full = tl.alloc_barriers arrivals(1) : !bars
    gpu.return
  }

  // Names that the program gave are told with the places, for source text.
  // CHECK-LABEL: gpu.func @named
  // CHECK-SAME:      tl.shared_tiles = {{\[\[}}"A_shared", 0, 512]]
  gpu.func @named(%v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %a = tl.alloc layout(#plain) : !row loc("A_shared"("kernel.py":1:1))
    tl.fill %a, %v : !row
    gpu.return
  }

  // Fragments are in registers.
  // CHECK-LABEL: gpu.func @fragment
  // CHECK-SAME:      tl.shared = 0 : i64
  // CHECK-NOT:     offset
  gpu.func @fragment(%v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %f = tl.alloc : memref<128xf32, #tl.fragment>
    tl.fill %f, %v : memref<128xf32, #tl.fragment>
    gpu.return
  }
}
