// Where nothing may be compiled a kernel comes from the cache, or is an error at
// its place; a note says what differs from the nearest kernel that is there. The
// whole record of a kernel is what counts, not those of its stages.

// RUN: rm -rf %t && mkdir %t
// DEFINE: %{fill} = tl-opt -o /dev/null --tl-compile="chip=cpu cache-dir=%t/cache"
// DEFINE: %{require} = tl-opt -o /dev/null --mlir-print-op-on-diagnostic=false --tl-compile="chip=cpu cache-dir=%t/cache require-cached"

// Into an empty directory nothing is written.
// RUN: not %{require} %s 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: require-cached.mlir:[[#]]:3: error: kernel `scale` is not in the cache, and nothing may be compiled
// EMPTY: note: cache `{{.*}}/cache`: holds no entry to compare with
// RUN: find %t -name manifest.json | count 0

// What is there is used, and the option is no part of a key.
// RUN: %{fill} %s
// RUN: tl-opt %s --remarks-filter=tl-cached --tl-compile="chip=cpu cache-dir=%t/cache require-cached" -o %t/found.mlir 2>&1 | FileCheck %s --check-prefix=HIT
// HIT: kernel `scale`: hit
// RUN: tl-opt %s --tl-compile="chip=cpu cache-dir=%t/cache" -o %t/again.mlir
// RUN: diff %t/found.mlir %t/again.mlir

// Another program, whose text a key does not keep.
// RUN: sed 's/constant 2.0/constant 3.0/' %s | not %{require} 2>&1 | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: error: kernel `scale` is not in the cache, and nothing may be compiled
// PROGRAM: note: nearest to it in `{{.*}}/cache` is `scale` of the entry {{[0-9a-f]+}}: the program differs{{$}}

// Another name alone.
// RUN: sed 's/@scale/@times/' %s | not %{require} 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: kernel `times` is not in the cache
// NAME: the kernel's name is `scale` there and `times` here{{$}}

// Another option of the compiler is named.
// RUN: not tl-opt -o /dev/null %s --tl-compile="chip=cpu fast-math cache-dir=%t/cache require-cached" 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: of the entry {{[0-9a-f]+}}: the option `tl.fast_math` is given here and not there{{$}}

// Other passes, and other options of a pass.
// DEFINE: %{pass} = tl-opt %s -o /dev/null --pass-pipeline
// RUN: %{pass}="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80},tl-cached{dir=%t/passes pipeline=gpu.module(canonicalize{max-iterations=9})})"
// RUN: not %{pass}="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80},tl-cached{require-cached dir=%t/passes pipeline=gpu.module(canonicalize{max-iterations=8},cse)})" 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: the configuration of `canonicalize` is `{ max-iterations=9 {{.*}}…` there and `{ max-iterations=8 {{.*}}…` here
// PASSES: the list of passes is `gpu.module(canonicalize)` there and `gpu.module(canonicalize,cse)` here

// The records of all stages are not the record of the whole.
// RUN: %{pass}="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80},tl-cached{dir=%t/stages pipeline=gpu.module(cse)})"
// RUN: %{pass}="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80},tl-cached{dir=%t/stages pipeline=gpu.module(canonicalize)})"
// RUN: not %{pass}="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80},tl-cached{require-cached dir=%t/stages pipeline=gpu.module(cse),gpu.module(canonicalize)})" 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: error: kernel `scale` is not in the cache

// A kernel that must not be kept is never there.
// RUN: tl-opt %s --pass-pipeline="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80})" | sed 's/gpu.module @scale attributes {/&tl.uncached = "it reads the clock", /' > %t/uncached.mlir
// RUN: not tl-opt %t/uncached.mlir --pass-pipeline="builtin.module(tl-cached{require-cached dir=%t/cache pipeline=gpu.module(cse)})" 2>&1 | FileCheck %s --check-prefix=UNCACHED
// UNCACHED: error: kernel `scale` is not in the cache
// UNCACHED: note: it is never kept: it reads the clock

// Without a directory nothing can ever be found.
// RUN: not tl-opt %s --tl-compile="chip=cpu require-cached" 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: error: `require-cached` needs a `cache-dir` to find kernels in

func.func @host(%A: memref<64xf32>) attributes {tl.entry} {
  %one = arith.constant 1 : index
  tl.kernel @scale blocks(%b) in (%one) threads(64) {
    %two = arith.constant 2.0 : f32
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<64xf32>
      %twice = arith.mulf %x, %two : f32
      tl.store %twice, %A[%i] : memref<64xf32>
    }
  }
  return
}
