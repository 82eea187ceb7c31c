// One artifact of one kernel, made as the C API makes it.

// RUN: tl-translate --emit=ptx --chip=sm_90a --kernel=zero_all %s | FileCheck %s --check-prefix=PTX
// PTX: .target sm_90a
// PTX: .visible .entry zero_all(

// RUN: tl-translate --emit=asm --chip=cpu --kernel=zero_all %s -o - | FileCheck %s --check-prefix=ASM
// ASM: .globl {{.*}}zero_all

// RUN: tl-translate --emit=plan --chip=sm_90a %s | FileCheck %s --check-prefix=PLAN
// PLAN: "zero": {
// PLAN: "kernel": "zero_all"

// RUN: tl-translate --emit=mlir %s | tl-opt | FileCheck %s --check-prefix=MLIR
// MLIR: tl.kernel @zero_all

// Where there is more than one kernel, or none of that name, it says which there are.
// RUN: not tl-translate --emit=ptx --chip=sm_90a %s 2>&1 | FileCheck %s --check-prefix=CHOOSE
// CHOOSE: error: choose a kernel with `--kernel`; there are: zero_all, zero_more
// RUN: not tl-translate --emit=ptx --chip=sm_90a --kernel=one %s 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: no kernel `one`; there are: zero_all, zero_more

// RUN: not tl-translate --emit=ptx %s 2>&1 | FileCheck %s --check-prefix=NO-CHIP
// NO-CHIP: error: say what to compile for with `--chip`
// RUN: not tl-translate --emit=asm --chip=sm_90a --kernel=zero_all %s 2>&1 | FileCheck %s --check-prefix=NO-FILE
// NO-FILE: error: kernel `zero_all` has no `kernel.s` for chip `sm_90a`
// RUN: not tl-translate --emit=ptx --chip=sm_1 %s 2>&1 | FileCheck %s --check-prefix=BAD-CHIP
// BAD-CHIP: tl-translate.mlir: error: unknown chip `sm_1`
// RUN: not tl-translate --emit=mlir %s.missing 2>&1 | FileCheck %s --check-prefix=NO-INPUT
// NO-INPUT: error: cannot read `{{.*}}tl-translate.mlir.missing`

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
  tl.kernel @zero_more blocks(%b) in (%g) threads(64) {
    %z = arith.constant 0.0 : f32
    tl.parallel (%i) in (64) {
      tl.store %z, %A[%i] : memref<1024xf32>
    }
  }
  return
}
