// What the compiler said of a kernel it says again on a hit, at the lines that
// the kernel has today. `--verify-diagnostics` sees the line.

// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{compile} = tl-opt --verify-diagnostics --pass-pipeline="builtin.module(tl-cached{dir=%t/cache pipeline=gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas})})"
// RUN: %{compile} %s -o %t/miss.mlir
// RUN: %{compile} %s -o %t/hit.mlir
// RUN: FileCheck %s --check-prefix=MISS < %t/miss.mlir
// RUN: FileCheck %s --check-prefix=HIT < %t/hit.mlir
// MISS: tl.cache_hit = false
// HIT: tl.cache_hit = true

// The same kernel a few lines further down.
// RUN: sed 's/^gpu.module/\n\n\n&/' %s > %t/moved.mlir
// RUN: %{compile} %t/moved.mlir | FileCheck %s --check-prefix=HIT

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-warning-re @below {{{{C75[0-9]+.*in function 'k'}}}}
  gpu.func @k(%a: i64 {tl.param = #tl.param<scalar, 0>}, %p: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = tl.wgmma bf16 n(8) %a, %a, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
    llvm.store %r, %p : vector<4xf32>, !llvm.ptr<1>
    tl.wgmma_wait 0
    gpu.return
  }
}
