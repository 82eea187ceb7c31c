// The main loop of a GEMM keeps 128 accumulators of each thread in place, over
// four wgmma in flight across the back edge: ptxas neither copies nor spills a
// register, and serialises nothing.

// REQUIRES: ptxas
// RUN: python3 %S/wgmma_gemm.py | tl-opt --pass-pipeline='builtin.module(gpu.module(tl-verify-thread-level,convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))' --verify-diagnostics | FileCheck %s
// RUN: python3 %S/wgmma_gemm.py --n 128 | tl-opt --pass-pipeline='builtin.module(gpu.module(convert-tl-to-nvvm,tl-emit-ptx,tl-assemble{assembler=ptxas}))' --verify-diagnostics | FileCheck %s

// CHECK: tl.compiled_kernel @gemm
// CHECK-SAME: shared({{[0-9]+}})
// CHECK-SAME: kernel.cubin
// CHECK-SAME: tl.resources = {registers = {{[0-9]+}} : i64, spill_loads = 0 : i64, spill_stores = 0 : i64, stack = 0 : i64}
