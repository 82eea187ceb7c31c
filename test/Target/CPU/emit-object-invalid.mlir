// RUN: tl-opt %s --split-input-file --tl-emit-object="cpu=z80" --verify-diagnostics

// expected-error @below {{has no host function: run `convert-tl-to-cpu` and `tl-lower-host-to-llvm` first}}
gpu.module @empty {
}

// -----

// expected-error @below {{expects one kernel, got `a` and `b`}}
gpu.module @two {
  llvm.func @a() attributes {tl.block = array<i64: 1, 1, 1>, tl.params = []} {
    llvm.return
  }
  llvm.func @b() attributes {tl.block = array<i64: 1, 1, 1>, tl.params = []} {
    llvm.return
  }
}

// -----

// expected-error @below {{unknown processor `z80`; `llc -mcpu=help` lists those of}}
gpu.module @processor {
  llvm.func @k() attributes {tl.block = array<i64: 1, 1, 1>, tl.params = []} {
    llvm.return
  }
}
