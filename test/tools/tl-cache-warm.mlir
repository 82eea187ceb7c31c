// Kernels are compiled ahead of time: what `tilec.compile` or `--tl-compile`
// asks for later is there.

// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{warm} = tl-cache warm --dir=%t/cache --chip=cpu

// RUN: %{warm} %t/first.mlir %t/second.mlir --jobs=2 | FileCheck %s --check-prefix=COLD
// COLD: first.mlir: `one_kernel` compiled
// COLD: second.mlir: `two_kernel` compiled
// COLD: 2 compiled, 0 were there, 0 files failed

// RUN: %{warm} %t/first.mlir --json | FileCheck %s --check-prefix=JSON
// JSON:      "cached": 1,
// JSON-NEXT: "compiled": 0,
// JSON-NEXT: "failed": 0,
// JSON:      "errors": [],
// JSON:      "cached": true,
// JSON:      "name": "one_kernel",
// JSON:      "path": "{{.*}}/cache/v{{[0-9]+}}/

// RUN: tl-opt %t/first.mlir --tl-compile="chip=cpu cache-dir=%t/cache" | FileCheck %s --check-prefix=HIT
// HIT: tl.cache_hit = true

// One file that fails does not keep the others from being compiled.
// RUN: not %{warm} %t/wrong.mlir %t/absent.mlir %t/first.mlir > %t/out 2> %t/err
// RUN: FileCheck %s --check-prefix=OUT < %t/out
// RUN: FileCheck %s --check-prefix=ERR < %t/err
// OUT: first.mlir: `one_kernel` was there
// OUT: 0 compiled, 1 were there, 2 files failed
// ERR: error: {{.*}}wrong.mlir:1:1: custom op 'nonsense' is unknown
// ERR: error: cannot read `{{.*}}absent.mlir`: No such file or directory

// On a terminal it shows how far it is.
// RUN: script -qec "%{warm} --jobs=1 %t/first.mlir %t/second.mlir" /dev/null | FileCheck %s --check-prefix=PROGRESS
// PROGRESS: [###############               ] 1/2 {{[^ ]*}}first.mlir
// PROGRESS: [##############################] 2/2 {{[^ ]*}}second.mlir
// PROGRESS: 0 compiled, 2 were there, 0 files failed

// What is compiled is of no use if it cannot be stored.
// RUN: not tl-cache warm --dir=%t/first.mlir --chip=cpu %t/first.mlir 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: cache `{{.*}}first.mlir`: is not a directory

// RUN: not tl-cache warm --dir=%t/cache %t/first.mlir 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: say what to compile for with `--chip`
// RUN: not tl-cache warm --dir=%t/cache --chip=sm_1 %t/first.mlir 2>&1 | FileCheck %s --check-prefix=BAD-CHIP
// BAD-CHIP: error: {{.*}}sm_1
// RUN: not tl-cache warm --dir=%t/cache --chip=cpu --backend=nvptx %t/first.mlir 2>&1 | FileCheck %s --check-prefix=BACKEND
// BACKEND: error: {{.*}}nvptx
// RUN: not tl-cache warm --chip=cpu --jobs=many %t/first.mlir 2>&1 | FileCheck %s --check-prefix=JOBS
// JOBS: for the --jobs option: 'many' value invalid
// RUN: not tl-cache warm --chip=cpu 2>&1 | FileCheck %s --check-prefix=FILES
// FILES: Not enough positional command line arguments

//--- first.mlir
func.func @one(%a: memref<64xf32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel @one_kernel blocks(%x) in (%c1) threads(64) {
    %v = arith.constant 1.0 : f32
    tl.parallel (%i) in (64) {
      tl.store %v, %a[%i] : memref<64xf32>
    }
  }
  return
}

//--- second.mlir
func.func @two(%a: memref<64xf32>) attributes {tl.entry} {
  %c1 = arith.constant 1 : index
  tl.kernel @two_kernel blocks(%x) in (%c1) threads(64) {
    %v = arith.constant 2.0 : f32
    tl.parallel (%i) in (64) {
      tl.store %v, %a[%i] : memref<64xf32>
    }
  }
  return
}

//--- wrong.mlir
nonsense
