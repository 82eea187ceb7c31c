// Post-processors belong to the program that compiles; `tl-opt` has none.

// RUN: tl-opt %s -split-input-file -verify-diagnostics --pass-pipeline="builtin.module(gpu.module(tl-post-process{id=shout}))"
// RUN: not tl-opt %s --tl-compile="chip=cpu post-process=shout" 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: backend `cpu` generates no source to post-process

// expected-error @below {{there is no post-processor `shout` in this process}}
gpu.module @k {
}
