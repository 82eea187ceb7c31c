// Layouts that lowering must not be given. Each case breaks one thing that is proven.

// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-verify-layouts))' --verify-diagnostics --split-input-file

!f = memref<8xf32, #tl.fragment>

gpu.module @no_layout {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    %f = tl.alloc : !f
    gpu.return
  }
}

// -----

!f = memref<8xf32, #tl.fragment>

gpu.module @too_few_threads {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{has a layout for 8 threads in a block of 32}}
    %f = tl.alloc layout(#tl.fragment_layout<shape = [8], thread = [8] : [1], value = [] : []>) : !f
    gpu.return
  }
}

// -----

!f = memref<12xf32, #tl.fragment>

gpu.module @no_room {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    // expected-error @below {{has a layout that does not cover its tile: shape=[8] thread=[8:1] value=[]}}
    %f = tl.alloc layout(#tl.fragment_layout<shape = [8], thread = [8] : [1], value = [] : []>) : !f
    gpu.return
  }
}

// -----

gpu.module @broken_swizzle {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{has a layout that does not fit: a panel of 4 rows of 128 bytes is not a whole number of periods of a swizzle of 128 bytes}}
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) : memref<4x64xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @loop_without_layout {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    tl.parallel (%i) in (8) {
    }
    gpu.return
  }
}

// -----

#blocked = #tl.fragment_layout<shape = [8], thread = [8] : [1], value = [] : []>
#turned = #tl.fragment_layout<shape = [8], thread = [2, 4] : [4, 1], value = [] : []>
!f = memref<8xf32, #tl.fragment>

// Thread 1 runs iteration 4 and holds element 1.
gpu.module @foreign_element {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %f = tl.alloc layout(#blocked) : !f
    tl.parallel (%i) in (8) layout(#turned) {
      // expected-error @below {{touches a fragment that does not lie as its loop does: (R1) a thread does not hold the elements that its iterations touch}}
      %x = tl.load %f[%i] : !f
    }
    gpu.return
  }
}

// -----

#rows = #tl.fragment_layout<shape = [4], thread = [2, 4] : [0, 1], value = [] : []>
#tile = #tl.fragment_layout<shape = [4, 2], thread = [2, 4] : [1, 2], value = [] : []>
!f = memref<4xf32, #tl.fragment>

// The two copies of an element are written by two iterations.
gpu.module @racing_writes {
  gpu.func @kernel(%v: f32) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %f = tl.alloc layout(#rows) : !f
    tl.parallel (%i, %j) in (4, 2) layout(#tile) {
      // expected-error @below {{(R2) several iterations write one element}}
      tl.store %v, %f[%i] : !f
    }
    gpu.return
  }
}

// -----

#all = #tl.fragment_layout<shape = [4, 4], thread = [4] : [4], value = [4] : [1]>
#some = #tl.fragment_layout<shape = [4, 4], thread = [4] : [4], value = [4] : [1]>
!f = memref<4x4xf32, #tl.fragment>

// Lanes 2 and 3 stand for no iteration, and their registers hold elements.
gpu.module @writes_beyond {
  gpu.func @kernel(%v: f32) kernel attributes {known_block_size = array<i32: 4, 1, 1>} {
    %f = tl.alloc layout(#all) : !f
    tl.parallel (%i, %j) in (4, 2) layout(#some) {
      // expected-error @below {{(R3) threads without an iteration would write}}
      tl.store %v, %f[%i, %j] : !f
    }
    gpu.return
  }
}

// -----

#copies = #tl.fragment_layout<shape = [4], thread = [4, 2] : [1, 0], value = [] : []>
!f = memref<4xf32, #tl.fragment>
!s = memref<4xf32, #gpu.address_space<workgroup>>

// The second thread of each iteration reads what the first one has written.
gpu.module @copies_with_effects {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %f = tl.alloc layout(#copies) : !f
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 4>) : !s
    tl.parallel (%i) in (4) layout(#copies) {
      %x = tl.load %s[%i] : !s
      %y = arith.addf %x, %x : f32
      tl.store %y, %s[%i] : !s
      // expected-error @below {{(R4) several threads run an iteration that reads memory which the loop writes}}
      tl.store %y, %f[%i] : !f
    }
    gpu.return
  }
}

// -----

#blocked = #tl.fragment_layout<shape = [8], thread = [8] : [1], value = [] : []>
#turned = #tl.fragment_layout<shape = [8], thread = [2, 4] : [4, 1], value = [] : []>
!f = memref<8xf32, #tl.fragment>

gpu.module @copies {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %f = tl.alloc layout(#blocked) : !f
    %g = tl.alloc layout(#turned) : !f
    // expected-error @below {{copies between fragments that lie differently}}
    tl.copy %f to %g tile(8) : !f to !f
    gpu.return
  }
}

// -----

#blocked = #tl.fragment_layout<shape = [8], thread = [8] : [1], value = [] : []>
!f = memref<8xf32, #tl.fragment>

gpu.module @part_of_a_fragment {
  gpu.func @kernel(%A: memref<4xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %f = tl.alloc layout(#blocked) : !f
    // expected-error @below {{reaches a part of a fragment}}
    tl.copy %f to %A tile(4) : !f to memref<4xf32>
    gpu.return
  }
}

// -----

#tile = #tl.fragment_layout<shape = [8, 4], thread = [4, 8] : [1, 4], value = [] : []>
#rows = #tl.fragment_layout<shape = [8], thread = [4, 8] : [0, 1], value = [] : []>
#other = #tl.fragment_layout<shape = [8], thread = [8, 4] : [1, 0], value = [] : []>

gpu.module @reductions {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tile) : memref<8x4xf32, #tl.fragment>
    %r = tl.alloc layout(#other) : memref<8xf32, #tl.fragment>
    // expected-error @below {{has a target that does not lie as its source}}
    tl.reduce sum %x to %r dim(1) : memref<8x4xf32, #tl.fragment> to memref<8xf32, #tl.fragment>
    gpu.return
  }
}

// -----

#tile = #tl.fragment_layout<shape = [1, 64], thread = [64] : [1], value = [] : []>
#rows = #tl.fragment_layout<shape = [1], thread = [64] : [0], value = [] : []>

gpu.module @workspaces {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %x = tl.alloc layout(#tile) : memref<1x64xf32, #tl.fragment>
    %r = tl.alloc layout(#rows) : memref<1xf32, #tl.fragment>
    // expected-error @below {{has no workspace for 2 groups of threads: run `tl-add-workspaces` first}}
    tl.reduce sum %x to %r dim(1) : memref<1x64xf32, #tl.fragment> to memref<1xf32, #tl.fragment>
    gpu.return
  }
}

// -----

#tile = #tl.fragment_layout<shape = [8, 4], thread = [4, 8] : [1, 4], value = [] : []>
#other = #tl.fragment_layout<shape = [8, 4], thread = [8, 4] : [4, 1], value = [] : []>

gpu.module @scans {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tile) : memref<8x4xf32, #tl.fragment>
    %y = tl.alloc layout(#other) : memref<8x4xf32, #tl.fragment>
    // expected-error @below {{has a target that does not lie as its source}}
    tl.scan sum %x to %y dim(1) : memref<8x4xf32, #tl.fragment>
    gpu.return
  }
}

// -----

#tile = #tl.fragment_layout<shape = [64], thread = [32, 2] : [1, 32], value = [] : []>

gpu.module @scans_of_groups {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %x = tl.alloc layout(#tile) : memref<64xf32, #tl.fragment>
    // expected-error @below {{has no workspace for 2 groups of threads: run `tl-add-workspaces` first}}
    tl.scan sum %x to %x dim(0) : memref<64xf32, #tl.fragment>
    gpu.return
  }
}

// -----

#tile = #tl.fragment_layout<shape = [64], thread = [32, 2] : [1, 32], value = [] : []>

gpu.module @scans_in_little_memory {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %w = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) : memref<1x1xf32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tile) : memref<64xf32, #tl.fragment>
    // expected-error @below {{needs a workspace of type 'memref<2x1xf32, #gpu.address_space<workgroup>>' for 2 groups of threads}}
    tl.scan sum %x to %x dim(0) workspace(%w : memref<1x1xf32, #gpu.address_space<workgroup>>) : memref<64xf32, #tl.fragment>
    gpu.return
  }
}

// -----

#tile = #tl.fragment_layout<shape = [128], thread = [64] : [1], value = [2] : [64]>

gpu.module @scans_that_meet_twice {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    %w = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 1>) : memref<2x1xf32, #gpu.address_space<workgroup>>
    %x = tl.alloc layout(#tile) : memref<128xf32, #tl.fragment>
    // expected-error @below {{has groups of threads whose places are no neighbours}}
    tl.scan sum %x to %x dim(0) workspace(%w : memref<2x1xf32, #gpu.address_space<workgroup>>) : memref<128xf32, #tl.fragment>
    gpu.return
  }
}

// -----

#plain = #tl.shared_layout<swizzle = 0, chunk = 64>
#acc = #tl.fragment_layout<shape = [16, 64], thread = [32] : [2], value = [2, 16] : [1, 64]>
!a = memref<16x64xf16, #gpu.address_space<workgroup>>
!b = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<16x64xf32, #tl.fragment>

gpu.module @gemms {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#plain) : !a
    %b = tl.alloc layout(#plain) : !b
    %acc = tl.alloc layout(#acc) : !acc
    // expected-error @below {{has an accumulator that does not lie as its instruction has it}}
    tl.gemm %a, %b, %acc plan(<mma, warps_m = 1, warps_n = 1>) : !a, !b, !acc
    gpu.return
  }
}

// -----

#plain = #tl.shared_layout<swizzle = 0, chunk = 64>
#acc = #tl.fragment_layout<shape = [16, 64], thread = [32] : [2], value = [2, 16] : [1, 64]>
!a = memref<16x64xf16, #gpu.address_space<workgroup>>
!b = memref<64x64xf16, #gpu.address_space<workgroup>>
!acc = memref<16x64xf32, #tl.fragment>

gpu.module @no_plan {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#plain) : !a
    %b = tl.alloc layout(#plain) : !b
    %acc = tl.alloc layout(#acc) : !acc
    // expected-error @below {{has no plan: run `tl-plan-gemms` first}}
    tl.gemm %a, %b, %acc : !a, !b, !acc
    gpu.return
  }
}

// -----

// Two elements in each of half of the threads.
gpu.module @shuffle_of_others {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %f = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [2, 16] : [0, 2], value = [2] : [1]>) : memref<32xf32, #tl.fragment>
    %l = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) : memref<32xi32, #tl.fragment>
    // expected-error @below {{has an element that lies in another thread than the one that it belongs to}}
    tl.shuffle %f, %l to %f : memref<32xf32, #tl.fragment>, memref<32xi32, #tl.fragment>
    gpu.return
  }
}

// -----

gpu.module @vote_of_others {
  gpu.func @kernel() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %f = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [2, 16] : [0, 2], value = [2] : [1]>) : memref<32xi32, #tl.fragment>
    // expected-error @below {{has an element that lies in another thread than the one that it belongs to}}
    tl.vote %f to %f : memref<32xi32, #tl.fragment>
    gpu.return
  }
}

// -----

// Each thread has a row, but not the iteration of its number.
gpu.module @row_of_another {
  gpu.func @kernel(%k: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %f = tl.alloc layout(#tl.fragment_layout<shape = [32, 4], thread = [32] : [4], value = [4] : [1]>) : memref<32x4xf32, #tl.fragment>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [2, 16] : [16, 1], value = [] : []>) {
      // expected-error @below {{touches a fragment that does not lie as its loop does: (R1)}}
      %x = tl.load %f[%i, %k] : memref<32x4xf32, #tl.fragment>
    }
    gpu.return
  }
}

// -----

// The loop lies well, and the thread has a row in two parts.
gpu.module @row_in_parts {
  gpu.func @kernel(%k: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %f = tl.alloc layout(#tl.fragment_layout<shape = [32, 4], thread = [32] : [4], value = [2, 2] : [2, 1]>) : memref<32x4xf32, #tl.fragment>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) {
      // expected-error @below {{touches a fragment that does not lie as its loop does: (R1)}}
      %x = tl.load %f[%i, %k] : memref<32x4xf32, #tl.fragment>
    }
    gpu.return
  }
}
