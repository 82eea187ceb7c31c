// CUDA C++ for people has names and statements of the source, which are then
// part of its key and come out of the cache as they come out without it. Where
// they stand, and where the project lies, does not matter.

// RUN: rm -rf %t && mkdir %t
// DEFINE: %{lower} = gpu.module(tl-stage-stores,tl-plan-gemms,tl-infer-layouts,tl-stage-fragments,tl-add-workspaces,tl-mark-bulk-stores,tl-verify-layouts,tl-assign-stages,tl-expand-pipeline,tl-overlap-gemms,tl-lower-pipes,tl-plan-shared-memory,tl-insert-sync,tl-lower-tile-ops,tl-promote-fragments,canonicalize,cse,tl-emit-cuda)
// DEFINE: %{front} = tl-outline-kernels,tl-attach-target{chip=sm_80}
// DEFINE: %{cached} = tl-opt --remarks-filter=tl-cached --pass-pipeline="builtin.module(%{front},tl-cached{dir=%t/cache pipeline=%{lower}})"
// DEFINE: %{strip} = sed 's/tl.cache_hit = [a-z]*, tl.cache_key = "[^"]*", tl.cache_path = "[^"]*", //'

// RUN: tl-opt %s -o %t/uncached --pass-pipeline="builtin.module(%{front},%{lower})"
// RUN: FileCheck %s < %t/uncached
// CHECK: tl.cuda_unit
// CHECK-SAME: // B[i] = A[i] + A[i]\0A
// CHECK-SAME: twice
// RUN: %{cached} %s -o %t/cold 2>&1 | FileCheck %s --check-prefix=MISS
// RUN: %{cached} %s -o %t/warm 2>&1 | FileCheck %s --check-prefix=HIT
// RUN: %{strip} %t/cold | diff %t/uncached -
// RUN: %{strip} %t/warm | diff %t/uncached -

// Another line of another file has the same text.
// RUN: sed 's|"/home/ann/the.py":35|"/srv/the.py":77|; s/^func.func/\n&/' %s > %t/moved.mlir
// RUN: %{cached} %t/moved.mlir -o %t/moved 2>&1 | FileCheck %s --check-prefix=HIT
// RUN: %{strip} %t/moved | diff %t/uncached -

// Another name, and another way to write the statement, are other text.
// RUN: sed 's/"twice"/"doubled"/' %s > %t/renamed.mlir
// RUN: %{cached} %t/renamed.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISS
// RUN: sed 's/= "B\[i\] = A/= "B[i]=A/' %s > %t/rewritten.mlir
// RUN: %{cached} %t/rewritten.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=MISS
// MISS: kernel `scale`: miss
// HIT:  kernel `scale`: hit

func.func @host(%A: memref<4096xf32>, %grid: index) attributes {tl.entry} {
  tl.kernel @scale blocks(%b) in (%grid) threads(128) {
    %c128 = arith.constant 128 : index
    %start = arith.muli %b, %c128 : index
    tl.parallel (%i) in (128) {
      %at = arith.addi %start, %i : index
      %x = tl.load %A[%at] : memref<4096xf32>
      %y = arith.addf %x, %x : f32 loc("twice"(fused<{tl.statement = "B[i] = A[i] + A[i]"}>["/home/ann/the.py":35:7]))
      tl.store %y, %A[%at] : memref<4096xf32>
    }
  }
  return
}
