// On a miss each stage is looked up for itself. A stage is keyed by what it is
// given: as soon as that is what it was before, the rest is there.

// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{compile} = tl-opt -o /dev/null --remarks-filter=tl-cached --cache-stats=- --tl-compile="chip=sm_80 assembler=ptxas cache-dir=%t/cache"

// RUN: %{compile} %s > %t/cold 2>&1
// RUN: FileCheck %s --check-prefixes=KERNEL-MISS,PTX-MISS,CUBIN-MISS < %t/cold

// KERNEL-MISS: kernel `scale`: miss
// KERNEL-HIT:  kernel `scale`: hit
// PTX-MISS:    stage `tl-emit-ptx`: miss
// PTX-HIT:     stage `tl-emit-ptx`: hit
// CUBIN-MISS:  stage `tl-assemble`: miss
// CUBIN-HIT:   stage `tl-assemble`: hit

// That A lies better than anybody needs does not show in the PTX, which is
// therefore not assembled again. No pass but those before PTX runs.
// RUN: sed 's/tl.align = 16/tl.align = 32/' %s > %t/aligned.mlir
// RUN: %{compile} %t/aligned.mlir > %t/cutoff 2>&1
// RUN: FileCheck %s --check-prefixes=KERNEL-MISS,PTX-MISS,CUBIN-HIT,CUTOFF < %t/cutoff
// CUTOFF:      "compiled": 1,
// CUTOFF:      "misses": 1,
// CUTOFF:      "stages": {
// CUTOFF-NEXT:   "tl-assemble": {
// CUTOFF-NEXT:     "bytes": {{[1-9]}}
// CUTOFF-NEXT:     "hits": 1,
// CUTOFF-NEXT:     "misses": 0,
// CUTOFF:        "tl-emit-ptx": {
// CUTOFF-NEXT:     "bytes": 0,
// CUTOFF-NEXT:     "hits": 0,
// CUTOFF-NEXT:     "misses": 1,

// The record of the whole was made of both; next time it is all that is asked.
// RUN: %{compile} %t/aligned.mlir 2>&1 | FileCheck %s --check-prefixes=KERNEL-HIT --implicit-check-not="stage `"

// Another assembler, which says that it is of the same version, assembles.
// RUN: mkdir -p %t/cuda/bin
// RUN: printf '#!/bin/sh\nexec %ptxas "$@"\n' > %t/cuda/bin/ptxas
// RUN: chmod +x %t/cuda/bin/ptxas
// RUN: env CUDA_HOME=%t/cuda %{compile} %s > %t/assembler 2>&1
// RUN: FileCheck %s --check-prefixes=KERNEL-MISS,PTX-HIT,CUBIN-MISS < %t/assembler

// Without one, what was assembled is no part of the question.
// RUN: tl-opt %s -o /dev/null --remarks-filter=tl-cached --tl-compile="chip=sm_80 assembler=none cache-dir=%t/cache" 2>&1 | FileCheck %s --check-prefix=KERNEL-HIT

func.func @host(%A: memref<4096xf32> {tl.align = 16 : i64}, %B: memref<4096xf32> {tl.align = 16 : i64}, %grid: index) attributes {tl.entry} {
  tl.kernel @scale blocks(%b) in (%grid) threads(128) {
    %c512 = arith.constant 512 : index
    %two = arith.constant 2.0 : f32
    %start = arith.muli %b, %c512 : index
    tl.parallel (%i) in (512) {
      %at = arith.addi %start, %i : index
      %x = tl.load %A[%at] : memref<4096xf32>
      %twice = arith.mulf %x, %two : f32
      tl.store %twice, %B[%at] : memref<4096xf32>
    }
  }
  return
}
