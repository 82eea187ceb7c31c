// Every chip has a PTX version that its instructions and the assembler know.

// RUN: sed "s/CHIP/sm_80/" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s -DCHIP=sm_80 -DVERSION=8.0
// RUN: sed "s/CHIP/sm_86/" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s -DCHIP=sm_86 -DVERSION=8.0
// RUN: sed "s/CHIP/sm_89/" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s -DCHIP=sm_89 -DVERSION=8.4
// RUN: sed "s/CHIP/sm_90/" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s -DCHIP=sm_90 -DVERSION=8.6
// RUN: sed "s/CHIP/sm_90a/" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s -DCHIP=sm_90a -DVERSION=8.6
// RUN: sed "s/CHIP/sm_100a/" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s -DCHIP=sm_100a -DVERSION=8.6
// RUN: sed "s/CHIP/sm_103a/" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s -DCHIP=sm_103a -DVERSION=8.8
// RUN: sed "s/CHIP/sm_120a/" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s -DCHIP=sm_120a -DVERSION=8.7
// RUN: sed "s/CHIP/sm_121a/" %s | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx))' | FileCheck %s -DCHIP=sm_121a -DVERSION=8.8

// CHECK: .version [[VERSION]]\0A.target [[CHIP]]\0A

gpu.module @k attributes {tl.target = #tl.target<chip = "CHIP">} {
  gpu.func @k(%x: !llvm.ptr<1> {tl.param = #tl.param<base, 0>}, %n: i64 {tl.param = #tl.param<dim, 0>}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, tl.shared = 0 : i64} {
    %i = gpu.thread_id x
    %i32 = arith.index_cast %i : index to i32
    %p = llvm.getelementptr %x[%i32] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, bf16
    %v = llvm.load %p : !llvm.ptr<1> -> bf16
    %w = math.exp %v : bf16
    %y = arith.addf %v, %w : bf16
    llvm.store %y, %p : bf16, !llvm.ptr<1>
    gpu.return
  }
}
