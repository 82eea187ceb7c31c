// Remarks of the nested pipeline are stored with the kernel: a hit says again why
// an optimisation was dropped, at the line where the copy stands today.

// RUN: rm -rf %t && mkdir %t
// RUN: sed 's/512xf16>/511xf16>/g' %S/Inputs/gemm.mlir > %t/odd.mlir
// RUN: sed 's/^  tl.kernel/\n\n&/' %t/odd.mlir > %t/moved.mlir
// DEFINE: %{compile} = tl-opt --remarks-filter="tl-.*" --tl-compile="chip=sm_90a assembler=none cache-dir=%t/cache" -o /dev/null
// RUN: %{compile} %t/odd.mlir 2>&1 | FileCheck %s -DLINE=21 -DWHAT=miss
// RUN: %{compile} %t/odd.mlir 2>&1 | FileCheck %s -DLINE=21 -DWHAT=hit
// RUN: %{compile} %t/moved.mlir 2>&1 | FileCheck %s -DLINE=23 -DWHAT=hit
// CHECK: .mlir:[[LINE]]:7: remark: {{.*}}the loop's copies do not use the bulk copy engine: a stride of its buffer is not known
// CHECK: kernel `gemm_kernel`: [[WHAT]]

// Who asked for no remarks gets none.
// RUN: tl-opt %t/odd.mlir --tl-compile="chip=sm_90a assembler=none cache-dir=%t/cache" -o /dev/null 2>&1 | count 0
