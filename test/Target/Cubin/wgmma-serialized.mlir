// Accumulators that are read while their wgmma is in flight make ptxas wait for
// them, or serialise. That is a warning.

// REQUIRES: ptxas
// RUN: tl-opt %s --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))'

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_90a">} {
  // expected-warning-re @below {{({{C75[0-9]+}}) {{.*}}in function 'k'}}
  gpu.func @k(%a: i64 {tl.param = #tl.param<scalar, 0>}, %p: !llvm.ptr<1> {tl.param = #tl.param<base, 1>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = tl.wgmma bf16 n(8) %a, %a, %zero acc_offsets([0]) a_offsets([0]) b_offsets([0]) : vector<4xf32>
    llvm.store %r, %p : vector<4xf32>, !llvm.ptr<1>
    tl.wgmma_wait 0
    gpu.return
  }
}
