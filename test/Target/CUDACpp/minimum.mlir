// Minima and maxima of `float64` take no branches: among the thousands of a reduction that is written out,
// two of each took NVRTC 13.0 and the assemblers minutes. Each is an instruction, and a NaN in its place.

// REQUIRES: nvrtc
// RUN: tl-opt %s --pass-pipeline='builtin.module(gpu.module(tl-emit-cuda,tl-compile-cuda{compiler=nvrtc}))' | FileCheck %s --implicit-check-not=bra

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // CHECK: .entry k(
  // CHECK: min.f64
  // CHECK: setp.nan.f64
  // CHECK: selp.f64
  // CHECK: max.f64
  // CHECK: selp.f64
  gpu.func @k(%a: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %b: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %a {alignment = 8 : i64} : !llvm.ptr<1> -> f64
    %y = llvm.load %b {alignment = 8 : i64} : !llvm.ptr<1> -> f64
    %least = arith.minimumf %x, %y : f64
    llvm.store %least, %a {alignment = 8 : i64} : f64, !llvm.ptr<1>
    %most = arith.maximumf %x, %y : f64
    llvm.store %most, %b {alignment = 8 : i64} : f64, !llvm.ptr<1>
    gpu.return
  }
}
