// Every function of thread level becomes something that ptxas assembles without a
// library, for scalars and vectors and in each float type.

// REQUIRES: ptxas
// RUN: sed "s/TYPE/f32/g" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))' | FileCheck %s
// RUN: sed "s/TYPE/f16/g" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))' | FileCheck %s
// RUN: sed "s/TYPE/bf16/g" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))' | FileCheck %s
// RUN: sed "s/TYPE/vector<4xf32>/g" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))' | FileCheck %s
// RUN: sed "s/TYPE/vector<2xf16>/g" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))' | FileCheck %s

// CHECK: kernel.cubin

gpu.module @m attributes {tl.target = #tl.target<chip = "sm_80">} {
  gpu.func @functions(%p: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tl.shared = 0 : i64} {
    %x = llvm.load %p : !llvm.ptr<1> -> TYPE
    %acos = math.acos %x : TYPE
    %acosh = math.acosh %acos : TYPE
    %asin = math.asin %acosh : TYPE
    %asinh = math.asinh %asin : TYPE
    %atan = math.atan %asinh : TYPE
    %atanh = math.atanh %atan : TYPE
    %cbrt = math.cbrt %atanh : TYPE
    %cos = math.cos %cbrt : TYPE
    %cosh = math.cosh %cos : TYPE
    %erf = math.erf %cosh : TYPE
    %exp = math.exp %erf : TYPE
    %exp2 = math.exp2 %exp : TYPE
    %expm1 = math.expm1 %exp2 : TYPE
    %log = math.log %expm1 : TYPE
    %log10 = math.log10 %log : TYPE
    %log1p = math.log1p %log10 : TYPE
    %log2 = math.log2 %log1p : TYPE
    %rsqrt = math.rsqrt %log2 : TYPE
    %sin = math.sin %rsqrt : TYPE
    %sinh = math.sinh %sin : TYPE
    %sqrt = math.sqrt %sinh : TYPE
    %tan = math.tan %sqrt : TYPE
    %tanh = math.tanh %tan : TYPE
    %ceil = math.ceil %tanh : TYPE
    %floor = math.floor %ceil : TYPE
    %round = math.round %floor : TYPE
    %roundeven = math.roundeven %round : TYPE
    %trunc = math.trunc %roundeven : TYPE
    %absf = math.absf %trunc : TYPE
    %atan2 = math.atan2 %absf, %x : TYPE
    %powf = math.powf %atan2, %x : TYPE
    %copysign = math.copysign %powf, %x : TYPE
    %fma = math.fma %copysign, %x, %x : TYPE
    llvm.store %fma, %p : TYPE, !llvm.ptr<1>
    gpu.return
  }
}
