// `tl-cached` takes a kernel's result from the cache if nothing that can change
// it has changed. Each case edits this module, and FileCheck sees for each
// kernel whether that was a hit. All share one directory, filled once here: what
// comes out of the second run is what came out of the first, but for the note
// where it came from.

// RUN: rm -rf %t && mkdir %t
// DEFINE: %{compile} = tl-opt --remarks-filter=tl-cached --tl-compile="chip=sm_80 assembler=none cache-dir=%t/cache"
// RUN: %{compile} %s -o %t/first.mlir 2>&1 | FileCheck %s --check-prefix=MISS
// RUN: %{compile} %s -o %t/second.mlir 2>&1 | FileCheck %s --check-prefix=HIT
// RUN: sed 's/tl.cache_hit = false/tl.cache_hit = true/' %t/first.mlir | diff - %t/second.mlir

// MISS: kernel `scale`: miss
// MISS: kernel `shift`: miss
// HIT-NOT: miss
// HIT: kernel `scale`: hit
// HIT-NOT: miss
// HIT: kernel `shift`: hit

// And it is what comes out without a cache.
// RUN: tl-opt --tl-compile="chip=sm_80 assembler=none" %s -o %t/uncached.mlir
// RUN: sed 's/tl.cache_hit = true, tl.cache_key = "[^"]*", tl.cache_path = "[^"]*", //' %t/second.mlir | diff - %t/uncached.mlir

//===----------------------------------------------------------------------===//
// What runs
//===----------------------------------------------------------------------===//

// On a hit no nested pass runs.
// DEFINE: %{print} = tl-opt %s --mlir-disable-threading --pass-pipeline="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80},tl-cached{dir=%t/print pipeline=gpu.module(print-ir{label=compiling},tl-infer-layouts)})"
// RUN: %{print} 2>&1 | FileCheck %s --check-prefix=RUNS
// RUN: %{print} 2>&1 | FileCheck %s --check-prefix=REST
// RUNS-COUNT-2: // -----// IR Dump compiling //----- //
// REST-NOT: // -----// IR Dump compiling //----- //

// The nested pipeline sees numbers for locations, and neither names nor comments.
// RUN: rm -rf %t/print
// RUN: %{print} --mlir-print-debuginfo 2>&1 | FileCheck %s --check-prefix=KEYED
// KEYED-LABEL: IR Dump compiling
// KEYED: gpu.module @scale
// KEYED-NOT: {{cached.mlir|%twice}}
// KEYED: loc("<op>":0:0)

// A pipeline that is not one of kernels is an error before anything is looked up.
// RUN: not tl-opt %s --pass-pipeline="builtin.module(tl-cached{pipeline=builtin.module(cse)})" 2>&1 | FileCheck %s --check-prefix=ANCHOR
// ANCHOR: error: `tl-cached` expects a pipeline `gpu.module(…)` or a list of them, got `builtin.module(cse)`{{$}}
// RUN: not tl-opt %s --pass-pipeline="builtin.module(tl-cached{pipeline=gpu.module(csee)})" 2>&1 | FileCheck %s --check-prefix=NO-PASS
// NO-PASS: error: `tl-cached` expects a pipeline `gpu.module(…)` or a list of them, got `gpu.module(csee)`: {{.*}}'csee' does not refer to a registered pass

//===----------------------------------------------------------------------===//
// Edits that change nothing
//===----------------------------------------------------------------------===//

// Another comment, on another line, in another file.
// RUN: sed 's|^ *// ONE COMMENT|// ANOTHER\n\n\n|' %s > %t/comment.mlir
// RUN: %{compile} %t/comment.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=HIT

// Another SSA name.
// RUN: sed 's/%%twice/%%product/' %s > %t/name.mlir
// RUN: not diff %s %t/name.mlir
// RUN: %{compile} %t/name.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=HIT

// A location given in the text.
// RUN: sed 's/arith.mulf %%x, %%two : f32/& loc("elsewhere.py":7:3)/' %s > %t/location.mlir
// RUN: not diff %s %t/location.mlir
// RUN: %{compile} %t/location.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=HIT

// A grid changes the launch plan and compiles nothing, if no tensor has an extent that a
// place could be compared with.
// RUN: sed 's/%%grid = arith.constant 8/%%grid = arith.constant 5/' %s > %t/grid.mlir
// RUN: %{compile} %t/grid.mlir -o %t/grid.out 2>&1 | FileCheck %s --check-prefix=HIT
// RUN: FileCheck %s --check-prefix=GRID < %t/grid.out
// GRID: grid = [5, 1, 1], kernel = "scale"

//===----------------------------------------------------------------------===//
// Edits that change something
//===----------------------------------------------------------------------===//

// Of two kernels the one that was edited is compiled again.
// RUN: sed 's/constant 2.0/constant 3.0/' %s > %t/edited.mlir
// RUN: %{compile} %t/edited.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// ONE-DAG: kernel `scale`: miss
// ONE-DAG: kernel `shift`: hit

// What a kernel knows of its arguments is part of it.
// RUN: sed 's/tl.align = 8/tl.align = 4/' %s > %t/align.mlir
// RUN: %{compile} %t/align.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE

// So are the chip and the options.
// RUN: tl-opt %s --remarks-filter=tl-cached -o /dev/null --tl-compile="chip=sm_90 assembler=none cache-dir=%t/cache" 2>&1 | FileCheck %s --check-prefix=MISS
// RUN: tl-opt %s --remarks-filter=tl-cached -o /dev/null --tl-compile="chip=sm_80 assembler=none fast-math cache-dir=%t/cache" 2>&1 | FileCheck %s --check-prefix=MISS

// With source lines in the artifact, lines are part of the key.
// DEFINE: %{lines} = tl-opt --remarks-filter=tl-cached --tl-compile="chip=sm_80 assembler=none line-info cache-dir=%t/cache" -o /dev/null
// RUN: %{lines} %s 2>&1 | FileCheck %s --check-prefix=MISS
// RUN: %{lines} %s 2>&1 | FileCheck %s --check-prefix=HIT
// RUN: %{lines} %t/comment.mlir 2>&1 | FileCheck %s --check-prefix=MISS

//===----------------------------------------------------------------------===//
// Directories that cannot be used
//===----------------------------------------------------------------------===//

// A directory that cannot be made is a warning; the result is the same.
// RUN: echo file > %t/file
// RUN: tl-opt %s --tl-compile="chip=sm_80 assembler=none cache-dir=%t/file/cache" 2> %t/warning | sed 's/tl.cache_hit = [a-z]*, tl.cache_key = "[^"]*", //' | diff - %t/uncached.mlir
// RUN: FileCheck %s --check-prefix=WARNING < %t/warning
// WARNING: {{[Ww]}}arning: {{.*}}file/cache
// WARNING-NOT: error:

// A damaged entry is one that is not there.
// RUN: find %t/cache -name kernel.ptx -exec sh -c 'chmod +w {} && echo x >> {}' ';'
// RUN: %{compile} %s -o %t/repaired.mlir 2> %t/damaged
// RUN: FileCheck %s --check-prefix=MISS < %t/damaged
// RUN: diff %t/first.mlir %t/repaired.mlir

func.func @host(%A: memref<?xf32> {tl.align = 8 : i64}, %B: memref<?xf32>) attributes {tl.entry} {
  %grid = arith.constant 8 : index
  tl.kernel @scale blocks(%b) in (%grid) threads(128) {
    %c512 = arith.constant 512 : index
    %two = arith.constant 2.0 : f32
    %start = arith.muli %b, %c512 : index
    // ONE COMMENT
    tl.parallel (%i) in (512) {
      %at = arith.addi %start, %i : index
      %x = tl.load %A[%at] : memref<?xf32>
      %twice = arith.mulf %x, %two : f32
      tl.store %twice, %B[%at] : memref<?xf32>
    }
  }
  tl.kernel @shift blocks(%b) in (%grid) threads(128) {
    %c512 = arith.constant 512 : index
    %one = arith.constant 1.0 : f32
    %start = arith.muli %b, %c512 : index
    tl.parallel (%i) in (512) {
      %at = arith.addi %start, %i : index
      %x = tl.load %B[%at] : memref<?xf32>
      %more = arith.addf %x, %one : f32
      tl.store %more, %B[%at] : memref<?xf32>
    }
  }
  return
}
