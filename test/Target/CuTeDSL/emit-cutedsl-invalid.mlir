// RUN: tl-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tl-emit-cutedsl))'

// The level below is for other generators.
gpu.module @tile attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{`memref.alloca` is not a thread-level op}}
    %x = memref.alloca() : memref<vector<4xf32>>
    gpu.return
  }
}

// -----

gpu.module @op attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{'nvvm.cp.async.commit.group' op has no form in CuTe DSL here; the backends `nvptx` and `nvrtc` have one}}
    nvvm.cp.async.commit.group
    gpu.return
  }
}

// -----

gpu.module @counts attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %p : !llvm.ptr<1> -> i32
    // expected-error @below {{'math.ctpop' op has no form in CuTe DSL here}}
    %y = math.ctpop %x : i32
    llvm.store %y, %p : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @atomic attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %one = arith.constant 1 : i32
    // expected-error @below {{'llvm.store' op has no form in CuTe DSL here}}
    llvm.store %one, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @wide attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%n: i64 {tl.param = #tl.param<dim, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    // expected-error @below {{'scf.for' op counts in 'i64'; `cutlass.range` counts in 32 bits with sign}}
    scf.for %i = %zero to %n step %one : i64 {
      gpu.barrier
    }
    gpu.return
  }
}

// -----

gpu.module @pointers attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i32 {tl.param = #tl.param<scalar, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    // expected-error @below {{'scf.for' op carries a pointer, which has no form in CuTe DSL here}}
    %end = scf.for %i = %zero to %n step %one iter_args(%at = %p) -> (!llvm.ptr<1>) : i32 {
      llvm.store %i, %at : i32, !llvm.ptr<1>
      %next = llvm.getelementptr %at[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
      scf.yield %next : !llvm.ptr<1>
    }
    gpu.return
  }
}

// -----

gpu.module @map attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error @below {{copies through a tensor map, which has no form in CuTe DSL here}}
  gpu.func @k(%map: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 128], swizzle = 128, type = f16>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    gpu.return
  }
}

// -----

gpu.module @cluster attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error @below {{is launched in clusters, which have no form in CuTe DSL here}}
  gpu.func @k() kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64, tl.cluster = array<i64: 2, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @small attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %p : !llvm.ptr<1> -> i8
    %y = arith.bitcast %x : i8 to f8E5M2
    // expected-error @below {{'arith.extf' op has no form in CuTe DSL here}}
    %z = arith.extf %y : f8E5M2 to f32
    llvm.store %z, %p : f32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// What tells the simulator of iterations is in no code.
gpu.module @iterations attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{is for the simulator alone; `tl-lower-tile-ops` leaves it out unless it is told `iterations`}}
    tl.begin_iterations [64]
    gpu.return
  }
}
