// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-normalize-statements))' --verify-diagnostics

// Which loop the threads of a block are must be known.
gpu.module @no_size {
  // expected-error @below {{'gpu.func' op does not say how many threads a block has; run `tl-outline-kernels` first}}
  gpu.func @no_size() kernel {
    gpu.return
  }
}
