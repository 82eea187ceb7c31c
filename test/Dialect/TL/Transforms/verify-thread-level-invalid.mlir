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

// -----

// The first threads of a warp are no warp.
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @f(%x: i32 {tl.param = #tl.param<scalar, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c16 = arith.constant 16 : index
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %thread = gpu.thread_id x
    // expected-note @below {{this decides, and differs between threads}}
    %some = arith.cmpi ult, %thread, %c16 : index
    scf.if %some {
      // expected-error @below {{`gpu.shuffle` needs all threads of a warp, and not all of them come here}}
      %y, %valid = gpu.shuffle xor %x, %c1, %c32 : i32
    }
    gpu.return
  }
}

// -----

// A loop that runs longer in some threads.
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @f() kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %thread = gpu.thread_id x
    // expected-note @below {{this decides, and differs between threads}}
    %warp = arith.divui %thread, %c32 : index
    scf.for %i = %c0 to %warp step %c1 {
      // expected-error @below {{`gpu.barrier` needs all threads of a block, and not all of them come here}}
      gpu.barrier
    }
    gpu.return
  }
}

// -----

// What a loop carries comes to differ in it.
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @f(%n: index {tl.param = #tl.param<scalar, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %end = scf.while (%i = %n) : (index) -> index {
      // expected-note @below {{this decides, and differs between threads}}
      %more = arith.cmpi ugt, %i, %c1 : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      // expected-error @below {{`gpu.barrier` needs all threads of a block, and not all of them come here}}
      gpu.barrier
      %next = arith.subi %i, %thread : index
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @f(%d: i64 {tl.param = #tl.param<scalar, 0>}) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, tl.shared = 0 : i64} {
    %c64 = arith.constant 64 : index
    %thread = gpu.thread_id x
    // expected-note @below {{this decides, and differs between threads}}
    %some = arith.cmpi ult, %thread, %c64 : index
    scf.if %some {
      // expected-error @below {{`tl.wgmma_wait` needs all threads of a warp group, and not all of them come here}}
      tl.wgmma_wait 0
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @f(%map: !llvm.ptr {tl.param = #tl.param<tensor_map, 0, box = [64, 128], swizzle = 128, type = f16>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %c0 = arith.constant 0 : i32
    %s = tl.shared_base : !llvm.ptr<3>
    // expected-error @below {{`nvvm.cp.async.bulk.tensor.global.shared.cta` goes through the async proxy, which `sm_80` does not have}}
    nvvm.cp.async.bulk.tensor.global.shared.cta %map, %s, box[%c0, %c0] : !llvm.ptr, !llvm.ptr<3>
    gpu.return
  }
}

// -----

// Whole warp groups change their registers.
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @f(%d: i64 {tl.param = #tl.param<scalar, 0>}) kernel
      attributes {known_block_size = array<i32: 256, 1, 1>, tl.shared = 0 : i64} {
    %c64 = arith.constant 64 : index
    %thread = gpu.thread_id x
    // expected-note @below {{this decides, and differs between threads}}
    %some = arith.cmpi ult, %thread, %c64 : index
    scf.if %some {
      // expected-error @below {{`nvvm.setmaxregister` needs all threads of a warp group, and not all of them come here}}
      nvvm.setmaxregister decrease 24
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @f(%n: i32 {tl.param = #tl.param<scalar, 0>}) kernel
      attributes {known_block_size = array<i32: 384, 1, 1>, tl.shared = 0 : i64} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      // expected-error @below {{registers are changed in a loop}}
      nvvm.setmaxregister decrease 24
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @f(%b: i1 {tl.param = #tl.param<scalar, 0>}) kernel
      attributes {known_block_size = array<i32: 384, 1, 1>, tl.shared = 0 : i64} {
    nvvm.setmaxregister decrease 24
    scf.if %b {
      // expected-error @below {{registers are changed a second time}}
      nvvm.setmaxregister increase 32
    }
    gpu.return
  }
}

// -----

// A kernel that is launched early waits before it sees what others write.
gpu.module @m attributes {tl.dependent, tl.target = #tl.target<chip = "sm_90a">} {
  gpu.func @f(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    // expected-error @below {{may touch device memory before the kernel has waited for those before it}}
    %x = llvm.load %p : !llvm.ptr<1> -> i32
    nvvm.griddepcontrol wait
    llvm.store %x, %p : i32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

// A wait of some threads is none of the kernel.
gpu.module @m attributes {tl.dependent, tl.target = #tl.target<chip = "sm_90a">} {
  // expected-error @below {{kernel `f` is launched before others are done, and does not wait for them}}
  gpu.func @f(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant 0 : index
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %zero : index
    scf.if %first {
      nvvm.griddepcontrol wait
    }
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_75">} {
  gpu.func @f(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 16 : i64} {
    %s = tl.shared_base : !llvm.ptr<3>
    // expected-error @below {{needs an instruction that `sm_75` does not have}}
    nvvm.cp.async.shared.global %s, %a, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_75">} {
  gpu.func @f() kernel attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %a = arith.constant dense<0> : vector<4xi32>
    %b = arith.constant dense<0> : vector<2xi32>
    %c = arith.constant dense<0.0> : vector<4xf32>
    // expected-error @below {{needs an instruction that `sm_75` does not have}}
    %d = tl.mma bf16 %a, %b, %c : vector<4xi32>, vector<2xi32>, vector<4xf32>
    gpu.return
  }
}
