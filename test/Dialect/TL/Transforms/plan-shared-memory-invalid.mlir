// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-plan-shared-memory))' --verify-diagnostics --split-input-file

// expected-error @below {{has no target: run `tl-attach-target` first}}
gpu.module @no_target {
}

// -----

#plain = #tl.shared_layout<swizzle = 0, chunk = 16384>
!half = memref<16384xf64, #gpu.address_space<workgroup>>

// The chip's limit is 232448 bytes; each buffer is listed.
gpu.module @too_much attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error @below {{kernel `large` needs 262144 bytes of shared memory, and `sm_90a` has at most 232448 for a block; use smaller tiles or fewer stages}}
  gpu.func @large(%v: f64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-note @below {{131072 bytes are allocated here}}
    %a = tl.alloc layout(#plain) : !half
    // expected-note @below {{131072 bytes are allocated here}}
    %b = tl.alloc layout(#plain) : !half
    tl.copy %a to %b tile(16384) : !half to !half
    gpu.return
  }
}

// -----

#plain = #tl.shared_layout<swizzle = 0, chunk = 16384>
!half = memref<16384xf64, #gpu.address_space<workgroup>>

// What fits one chip does not fit another.
gpu.module @smaller_chip attributes {tl.target = #tl.target<chip = "sm_89">} {
  // expected-error @below {{kernel `large` needs 131072 bytes of shared memory, and `sm_89` has at most 101376 for a block}}
  gpu.func @large(%v: f64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-note @below {{131072 bytes are allocated here}}
    %a = tl.alloc layout(#plain) : !half
    tl.fill %a, %v : !half
    gpu.return
  }
}

// -----

// Where a buffer may start depends on its layout.
gpu.module @layouts attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @no_layout(%v: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{has no layout: run `tl-infer-layouts` first}}
    %s = tl.alloc : memref<32xf32, #gpu.address_space<workgroup>>
    tl.fill %s, %v : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// Which buffers become rings is decided before.
gpu.module @pipelines attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @pipelined(%n: index) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    // expected-error @below {{is not a plain loop yet: run `tl-expand-pipeline` first}}
    tl.pipelined %k = %c0 to %n stages(2) {
    }
    gpu.return
  }
}
