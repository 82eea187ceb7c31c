// RUN: tl-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level))'

// expected-error @below {{module `m` has no `tl.target`}}
gpu.module @m {
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{function `f` of a thread-level module is not a kernel}}
  gpu.func @f() {
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{kernel `f` has no `known_block_size`}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{kernel `f` has no `tl.shared`, its bytes of shared memory}}
  gpu.func @f() kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{argument 1 of kernel `f` has no `tl.param`}}
  gpu.func @f(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: i32) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{kernel `f` has memory attributions; use `tl.shared_base`}}
  gpu.func @f() workgroup(%s: memref<4xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @f() kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{`memref.alloca` is not a thread-level op}}
    %a = memref.alloca() : memref<4xf32>
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @f() kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{`arith.constant` has a result of type 'vector<2x2xf32>', which is not a thread-level type}}
    %a = arith.constant dense<0.0> : vector<2x2xf32>
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{`gpu.func` has an argument of type 'i7', which is not a thread-level type}}
  gpu.func @f(%a: i7 {tl.param = #tl.param<scalar, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    gpu.return
  }
}
