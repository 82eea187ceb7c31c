// The code of a kernel in each form, of a module at tile level or at thread level.

// CUDA C++ in one file, with the support header in it, for `nvcc -arch=sm_90a -cubin`. No compiler of CUDA C++ is needed.
// RUN: env PATH= %tl_obj/bin/tl-translate --emit=cuda --chip=sm_90a %s -o %t.cu
// RUN: FileCheck %s --check-prefix=CUDA --input-file=%t.cu
// CUDA-NOT:   {{^}}#include
// CUDA:       namespace tl {
// CUDA:       zero_all({{.*}}arg0
// RUN: %if nvcc %{ %nvcc -arch=sm_90a -std=c++17 -cubin %t.cu -o %t.cubin %}

// RUN: tl-translate --emit=cutedsl --chip=sm_90a %s | FileCheck %s --check-prefix=CUTEDSL
// CUTEDSL:      @cute.kernel
// CUTEDSL-NEXT: def zero_all(arg0: cute.Pointer):

// What has no form in CuTe DSL says which has.
// RUN: not tl-translate --emit=cutedsl --chip=sm_90a %S/../Pipeline/Inputs/gemm.mlir 2>&1 | FileCheck %s --check-prefix=NO-FORM
// NO-FORM: gemm.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}} has no form in CuTe DSL here; the backends `nvptx` and `nvrtc` have one

// RUN: %if nvjitlink %{ tl-translate --emit=cubin --chip=sm_90a %s -o %t.cubin && head -c 4 %t.cubin | FileCheck %s --check-prefix=CUBIN %}
// CUBIN: ELF

// Machine code as text is by `nvdisasm`, which is asked for where it is not. Nothing is written then.
// RUN: %if nvdisasm %{ env CUDA_HOME=%nvdisasm_home %tl_obj/bin/tl-translate --emit=sass --chip=sm_90a %s | FileCheck %s --check-prefix=SASS %}
// SASS: .text.zero_all
// SASS: STG
// SASS: EXIT
// RUN: rm -f %t.sass
// RUN: %if nvjitlink %{ not env PATH= CUDA_HOME=/nowhere %tl_obj/bin/tl-translate --emit=sass --chip=sm_90a %s -o %t.sass 2>&1 | FileCheck %s --check-prefix=NO-TOOL %}
// NO-TOOL: error: kernel `zero_all`: `nvdisasm` is not on this machine; install the CUDA toolkit, or `pip install nvidia-cuda-nvdisasm`
// RUN: not ls %t.sass

// A module at thread level goes on from there, to the same code, with its host function or without.
// DEFINE: %{tiles} = tl-stage-stores,tl-plan-gemms,tl-infer-layouts,tl-stage-fragments,tl-add-workspaces,tl-mark-bulk-stores,tl-verify-layouts,tl-assign-stages,tl-expand-pipeline,tl-overlap-gemms,tl-specialize-warps,tl-lower-pipes,tl-plan-shared-memory,tl-insert-sync,tl-verify-sync
// DEFINE: %{threads} = tl-lower-tile-ops,tl-promote-fragments,tl-prefetch-operands,canonicalize,cse,tl-prefetch-maps,tl-wait-for-kernels
// DEFINE: %{module} = tl-outline-kernels,tl-attach-target{chip=sm_90a},tl-overlap-launches,canonicalize,cse
// DEFINE: %{to-threads} = --pass-pipeline="builtin.module(%{module},gpu.module(%{tiles},%{threads}))"
// RUN: tl-opt %S/../Pipeline/Inputs/gemm.mlir %{to-threads} -o %t.threads.mlir
// RUN: tl-translate --emit=ptx --chip=sm_90a %t.threads.mlir -o %t.threads.ptx
// RUN: tl-translate --emit=ptx --chip=sm_90a %S/../Pipeline/Inputs/gemm.mlir -o %t.tiles.ptx
// RUN: diff %t.threads.ptx %t.tiles.ptx
// RUN: tl-translate --emit=cuda --chip=sm_90a %t.threads.mlir | FileCheck %s --check-prefix=THREADS
// THREADS: gemm_kernel(
// RUN: tl-translate --emit=plan --chip=sm_90a %t.threads.mlir | FileCheck %s --check-prefix=PLAN
// PLAN: "kernel": "gemm_kernel"

// What passes decided for one chip holds for that chip.
// RUN: not tl-translate --emit=ptx --chip=sm_80 %t.threads.mlir 2>&1 | FileCheck %s --check-prefix=OTHER-CHIP
// OTHER-CHIP: error: kernel `gemm_kernel` is for chip `sm_90a` by its `tl.target`, and `sm_80` is asked for; ask for that chip, or start from the module before `tl-attach-target`

// RUN: not tl-opt %t.threads.mlir --tl-compile="chip=cpu from-threads" 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: error: kernels at thread level are for GPUs; compile them for `cpu` from tile level
// RUN: not tl-opt %t.threads.mlir --tl-compile="checks from-threads" 2>&1 | FileCheck %s --check-prefix=CHECKS
// CHECKS: error: checks are of tiles, and the kernels are at thread level; add them to the module at tile level

func.func @zero(%A: memref<1024xf32>) attributes {tl.entry} {
  %g = arith.constant 8 : index
  tl.kernel @zero_all blocks(%b) in (%g) threads(128) {
    %z = arith.constant 0.0 : f32
    tl.parallel (%i) in (128) {
      %c = arith.constant 128 : index
      %o = arith.muli %b, %c : index
      %x = arith.addi %o, %i : index
      tl.store %z, %A[%x] : memref<1024xf32>
    }
  }
  return
}
