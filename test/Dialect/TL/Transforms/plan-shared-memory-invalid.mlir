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
