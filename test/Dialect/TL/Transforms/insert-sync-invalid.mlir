// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-insert-sync))' --verify-diagnostics --split-input-file

// Buffers conflict where their bytes meet.
gpu.module @offsets {
  gpu.func @no_offset(%v: f32) kernel {
    // expected-error @below {{has no offset: run `tl-plan-shared-memory` first}}
    %s = tl.alloc : memref<128xf32, #gpu.address_space<workgroup>>
    tl.fill %s, %v : memref<128xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @barriers {
  gpu.func @no_offset() kernel {
    // expected-error @below {{has no offset: run `tl-plan-shared-memory` first}}
    %full = tl.alloc_barriers arrivals(1) : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// Copies that run ahead conflict in other places than the loop says.
gpu.module @pipelines {
  gpu.func @pipelined(%n: index) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @below {{is not a plain loop yet: run `tl-expand-pipeline` first}}
    tl.pipelined %k = %c0 to %n stages(2) {
    }
    gpu.return
  }
}
