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

// The host side as C++, for one chip or several, of which the most specific comes first.
// RUN: tl-translate --emit=host --chip=cpu %s | FileCheck %s --check-prefix=HOST
// HOST-LABEL: void run(const TlArgument *arguments, size_t count, void *) {
// HOST:         RankedTensor<1> arg0("arg0", f32, "(1024)", {{[0-9]+}}, Used);
// HOST:         call.bind(0, arg0);
// HOST-NEXT:    call.checkShape(arg0, {1024});
// HOST-NEXT:    call.checkContiguous(arg0);
// HOST:         const Grid grid0 = {8, 1, 1};
// HOST:         launchOnHost(call, "zero_all", tl_kernel_0, grid0, params);
// HOST:         launchOnHost(call, "zero_more", tl_kernel_1, grid1, params);
// HOST-LABEL: TL_EXPORT int tl_zero(const TlTensor *arg0, void *stream) {
// RUN: tl-translate --emit=host --chip=sm_80,sm_90a %s | FileCheck %s --check-prefix=CHIPS
// CHIPS:      namespace sm_90a {
// CHIPS:        gpu.launch(0, grid0, {{[{][{]}}128, 1, 1}, {1, 1, 1}, false, true},
// CHIPS:      namespace sm_80 {
// CHIPS:        gpu.launch(0, grid0, {{[{][{]}}128, 1, 1}, {1, 1, 1}, false, false},
// CHIPS:      const Variant variants[] = {
// CHIPS-NEXT:     {&sm_90a::program, sm_90a::run},
// CHIPS-NEXT:     {&sm_80::program, sm_80::run},

// A library with its header.
// RUN: rm -rf %t && tl-translate --emit=library --chip=cpu %s -o %t
// RUN: ls %t/lib/libzero.so %t/lib/cmake/zero/zero-config.cmake
// RUN: FileCheck %s --check-prefix=HEADER --input-file=%t/include/zero.h
// HEADER: int tl_zero(const TlTensor *arg0, void *stream);
// RUN: not tl-translate --emit=library --chip=cpu %s 2>&1 | FileCheck %s --check-prefix=NO-FOLDER
// NO-FOLDER: error: say where the library goes with `-o`
// RUN: not tl-translate --emit=library --chip=cpu,sm_80 %s -o %t 2>&1 | FileCheck %s --check-prefix=MIXED
// MIXED: error: `zero`: a library is for GPUs or for the CPU, and `cpu` is among its chips; make two libraries
// RUN: not tl-translate --emit=host --chip=cpu --function=one %s 2>&1 | FileCheck %s --check-prefix=NO-FUNCTION
// NO-FUNCTION: error: no function `one`; there are: zero
// RUN: not tl-translate --emit=ptx --chip=sm_80,sm_90a %s 2>&1 | FileCheck %s --check-prefix=ONE-CHIP
// ONE-CHIP: error: one artifact is for one chip, and `--chip` names 2

// Where there is more than one kernel, or none of that name, it says which there are.
// RUN: not tl-translate --emit=ptx --chip=sm_90a %s 2>&1 | FileCheck %s --check-prefix=CHOOSE
// CHOOSE: error: choose a kernel with `--kernel`; there are: zero_all, zero_more
// RUN: not tl-translate --emit=ptx --chip=sm_90a --kernel=one %s 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: no kernel `one`; there are: zero_all, zero_more
// RUN: echo 'func.func @f() { return }' | not tl-translate --emit=ptx --chip=sm_90a 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: echo 'func.func @f() { return }' | not tl-translate --emit=ptx --chip=sm_90a --kernel=f 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: the module has no kernel; compiled are functions with `tl.entry`, and the `tl.kernel`s in them

// RUN: not tl-translate --emit=ptx %s 2>&1 | FileCheck %s --check-prefix=NO-CHIP
// NO-CHIP: error: say what to compile for with `--chip`
// RUN: not tl-translate --emit=asm --chip=sm_90a --kernel=zero_all %s 2>&1 | FileCheck %s --check-prefix=NOT-HOST
// NOT-HOST: error: `--emit=asm` is for chip `cpu`, and `--chip` is `sm_90a`; its machine code is `--emit=sass`
// RUN: not tl-translate --emit=sass --chip=cpu %s 2>&1 | FileCheck %s --check-prefix=NOT-GPU
// NOT-GPU: error: there is no such code for chip `cpu`; name a GPU's, such as `--chip=sm_90a`, or use `--emit=asm`
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
