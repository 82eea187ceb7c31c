// RUN: tl-opt %s --split-input-file --convert-tl-to-cpu --verify-diagnostics

gpu.module @threads {
  gpu.func @threads(%A: memref<?xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{`gpu.thread_id` speaks of threads: thread-level programs do not run on `cpu`; use tile ops instead}}
    %t = gpu.thread_id x
    %x = tl.load %A[%t] : memref<?xf32>
    tl.store %x, %A[%t] : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @mbarriers {
  gpu.func @mbarriers() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{`tl.alloc_barriers` speaks of threads}}
    %b = tl.alloc_barriers arrivals(1) : memref<2x!tl.mbarrier, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @branches {
  // expected-error @below {{expects structured control flow}}
  gpu.func @branches() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    cf.br ^exit
  ^exit:
    gpu.return
  }
}

// -----

gpu.module @depth {
  gpu.func @depth(%A: memref<?xf32>, %x: f32) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    // expected-error @below {{of `z` is not known on `cpu`; pass the extent as an argument}}
    %z = gpu.grid_dim z
    tl.store %x, %A[%z] : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @pointer {
  // expected-error @below {{argument 0 of type 'vector<4xf32>' cannot be passed to a kernel on `cpu`}}
  gpu.func @pointer(%v: vector<4xf32>, %A: memref<4xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %x = vector.extract %v[0] : f32 from vector<4xf32>
    tl.store %x, %A[%c0] : memref<4xf32>
    gpu.return
  }
}
