// RUN: tl-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(tl-emit-ptx))'

// expected-error @below {{module `m` has 0 kernels in the LLVM dialect instead of one}}
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
}

// -----

// expected-error @below {{module `m` has no `tl.target`}}
gpu.module @m {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>, tl.shared = 0 : i64} {
    llvm.return
  }
}

// -----

// expected-error @below {{chip `sm_52` has no PTX code generator}}
gpu.module @m attributes {tl.target = #tl.target<chip = "sm_52">} {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>, tl.shared = 0 : i64} {
    llvm.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{argument 0 of kernel `k` has no `tl.param`}}
  llvm.func @k(%p: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>, tl.shared = 0 : i64} {
    llvm.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{kernel `k` has no `nvvm.reqntid`}}
  llvm.func @k() attributes {nvvm.kernel, tl.shared = 0 : i64} {
    llvm.return
  }
}

// -----

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  // expected-error @below {{kernel `k` has no `tl.shared`}}
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
    llvm.return
  }
}
