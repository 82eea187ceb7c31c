// RUN: tl-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tl-lower-tile-ops))'

// Which iterations a thread runs is decided before.
gpu.module @no_layout attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: memref<32xi32>, %x: i32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    tl.parallel (%i) in (32) {
      tl.store %x, %A[%i] : memref<32xi32>
    }
    gpu.return
  }
}

// -----

// A body is a program of one iteration: it cannot wait for others.
gpu.module @barrier attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) {
      // expected-error @below {{is not supported inside `tl.parallel`, whose body is a scalar program}}
      gpu.barrier
    }
    gpu.return
  }
}

// -----

// Nor has it a tile of its own.
gpu.module @tile attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%x: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) {
      // expected-error @below {{is not supported inside `tl.parallel`, whose body is a scalar program}}
      %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) offset(0) : memref<32xf32, #gpu.address_space<workgroup>>
      tl.store %x, %s[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
}

// -----

// Thread t runs iteration t, and holds element 31 - t only if it is asked for that.
gpu.module @foreign attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: memref<32xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c31 = arith.constant 31 : index
    // expected-note @below {{the fragment is allocated here}}
    %x = tl.alloc layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) : memref<32xf32, #tl.fragment>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) {
      %j = arith.subi %c31, %i : index
      // expected-error @below {{touches an element of a fragment that another thread holds; index it by the loop's own indices, or go through workgroup memory}}
      %v = tl.load %x[%j] : memref<32xf32, #tl.fragment>
      tl.store %v, %A[%i] : memref<32xf32>
    }
    gpu.return
  }
}

// -----

// Nor one that is laid out otherwise.
gpu.module @other_layout attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: memref<64xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-note @below {{the fragment is allocated here}}
    %x = tl.alloc layout(#tl.fragment_layout<shape = [64], thread = [32] : [2], value = [2] : [1]>) : memref<64xf32, #tl.fragment>
    tl.parallel (%i) in (64) layout(#tl.fragment_layout<shape = [64], thread = [32] : [1], value = [2] : [32]>) {
      // expected-error @below {{touches an element of a fragment that another thread holds}}
      %v = tl.load %x[%i] : memref<64xf32, #tl.fragment>
      tl.store %v, %A[%i] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// All threads hold copies of the element, and only one would write its own.
gpu.module @copies attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: memref<32xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    // expected-note @below {{the fragment is allocated here}}
    %x = tl.alloc layout(#tl.fragment_layout<shape = [1], thread = [32] : [0], value = [] : []>) : memref<1xf32, #tl.fragment>
    tl.parallel (%i) in (32) layout(#tl.fragment_layout<shape = [32], thread = [32] : [1], value = [] : []>) {
      %third = arith.cmpi eq, %i, %c3 : index
      scf.if %third {
        %v = tl.load %A[%i] : memref<32xf32>
        // expected-error @below {{writes an element of a fragment from iterations that lie in different threads, each of which holds a copy; write it in a loop over its own indices, or keep it in workgroup memory}}
        tl.store %v, %x[%c0] : memref<1xf32, #tl.fragment>
      }
    }
    gpu.return
  }
}

// -----

// Threads that run copies of an iteration cannot be kept in step in a loop whose
// trips differ.
gpu.module @read_back attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%A: memref<1xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %x = tl.alloc layout(#tl.fragment_layout<shape = [1], thread = [32] : [0], value = [] : []>) : memref<1xf32, #tl.fragment>
    tl.parallel (%i) in (1) layout(#tl.fragment_layout<shape = [1], thread = [32] : [0], value = [] : []>) {
      %v = tl.load %A[%i] : memref<1xf32>
      %w = arith.addf %v, %v : f32
      // expected-error @below {{stands in a loop that reads memory which it writes, and writes a fragment of which several threads hold copies; do the two in loops of their own}}
      scf.while : () -> () {
        %u = tl.load %A[%i] : memref<1xf32>
        %more = arith.cmpf olt, %u, %w : f32
        scf.condition(%more)
      } do {
        tl.store %w, %A[%i] : memref<1xf32>
        scf.yield
      }
      tl.store %w, %x[%i] : memref<1xf32, #tl.fragment>
    }
    gpu.return
  }
}

// -----

// Registers are counted by twos and then by threes, elements the other way round.
gpu.module @no_formula attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1.0 : f32
    %x = tl.alloc layout(#tl.fragment_layout<shape = [6], thread = [32] : [0], value = [2, 3] : [3, 1]>) : memref<6xf32, #tl.fragment>
    tl.parallel (%i) in (6) layout(#tl.fragment_layout<shape = [6], thread = [32] : [0], value = [6] : [1]>) {
      scf.for %k = %c0 to %i step %c1 {
        // expected-error @below {{touches a fragment in an order that its layout has no formula for; go through workgroup memory}}
        tl.store %one, %x[%i] : memref<6xf32, #tl.fragment>
      }
    }
    gpu.return
  }
}

// -----

// A gemm's instruction is chosen before.
gpu.module @gemm attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @no_plan() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %a = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 16>) offset(0) : memref<16x16xf16, #gpu.address_space<workgroup>>
    %b = tl.alloc layout(#tl.shared_layout<swizzle = 32, chunk = 16>) offset(1024) : memref<16x16xf16, #gpu.address_space<workgroup>>
    %acc = tl.alloc layout(#tl.fragment_layout<shape = [16, 16], thread = [4, 8] : [2, 16], value = [2, 2, 2] : [1, 128, 8]>) : memref<16x16xf32, #tl.fragment>
    // expected-error @below {{has no plan: run `tl-plan-gemms` first}}
    tl.gemm %a, %b, %acc : memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf16, #gpu.address_space<workgroup>>, memref<16x16xf32, #tl.fragment>
    gpu.return
  }
}

// -----

// A copy marked for the bulk engine that the engine cannot do: 4-byte aligned.
gpu.module @bulk attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @unaligned(%A: memref<64x64xf16> {tl.align = 4 : i64}) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tile = tl.alloc layout(#tl.shared_layout<swizzle = 128, chunk = 64>) offset(0) : memref<64x64xf16, #gpu.address_space<workgroup>>
    // expected-error @below {{cannot be done by the bulk copy engine: the address of its buffer is not known to be a multiple of 16 bytes}}
    tl.copy %tile to %A tile(64, 64) bulk : memref<64x64xf16, #gpu.address_space<workgroup>> to memref<64x64xf16>
    gpu.return
  }
}

// -----

// What a kernel is lowered to depends on the chip.
// expected-error @below {{has no target: run `tl-attach-target` first}}
gpu.module @no_target {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}

// -----

// Which thread holds what, and where buffers lie, is decided before, and loops
// are plain ones.
gpu.module @fragments attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @no_layout(%v: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    %f = tl.alloc : memref<32xf32, #tl.fragment>
    tl.fill %f, %v : memref<32xf32, #tl.fragment>
    gpu.return
  }
}

// -----

gpu.module @loops attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @no_layout(%v: f32, %A: memref<32xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    tl.parallel (%i) in (32) {
      tl.store %v, %A[%i] : memref<32xf32>
    }
    gpu.return
  }
}

// -----

gpu.module @pipelines attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @pipelined(%n: index) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{is not a plain loop yet: run `tl-expand-pipeline` first}}
    tl.pipelined %k = %c0 to %n stages(2) {
    }
    gpu.return
  }
}

// -----

gpu.module @offsets attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @no_offset(%v: f32) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    // expected-error @below {{has no offset: run `tl-plan-shared-memory` first}}
    %s = tl.alloc layout(#tl.shared_layout<swizzle = 0, chunk = 32>) : memref<32xf32, #gpu.address_space<workgroup>>
    tl.fill %s, %v : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
