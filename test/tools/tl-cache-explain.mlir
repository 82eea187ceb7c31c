// Why was this kernel compiled again? Each case changes one thing about the
// module below, and `tl-cache explain` names it, and nothing else.

// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{options} = chip=sm_80
// DEFINE: %{compile} = tl-opt --tl-compile="assembler=none cache-dir=%t/cache %{options}"
// DEFINE: %{explain} = sed -n 's/.*tl.cache_key = "\([^"]*\)".*/\1/p' | xargs tl-cache --dir=%t/cache explain
// RUN: %{compile} %t/kernel.mlir -o %t/given

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

// Its code: the line is shown.
// RUN: sed 's/constant 2.0/constant 3.0/' %t/kernel.mlir | %{compile} -o %t/body
// RUN: cat %t/given %t/body | %{explain} | FileCheck %s --check-prefix=BODY
// BODY:      COMPONENT WHAT IT IS [[GIVEN:[0-9a-f]{12}]] [[OTHER:[0-9a-f]{12}$]]
// BODY-NEXT: {{^kernel the program [0-9a-f]{64} [0-9a-f]{64}$}}
// BODY-NEXT: the kernels differ from line {{[0-9]+}} on
// BODY-NEXT: [[GIVEN]] %{{.+}} = arith.constant 2.000000e+00 : f32
// BODY-NEXT: [[OTHER]] %{{.+}} = arith.constant 3.000000e+00 : f32
// BODY-NOT:  {{.}}

// With one key it is compared with the entry that is most like it.
// RUN: cat %t/body | %{explain} | FileCheck %s --check-prefix=NEAREST
// NEAREST: {{^kernel }}
// NEAREST: arith.constant 3.000000e+00
// NEAREST: arith.constant 2.000000e+00

// What it knows of its arguments.
// RUN: sed 's/tl.align = 16/tl.align = 4/' %t/kernel.mlir | %{compile} -o %t/align
// RUN: cat %t/given %t/align | %{explain} | FileCheck %s --check-prefix=ALIGN
// ALIGN:      COMPONENT
// ALIGN-NEXT: {{^kernel }}
// ALIGN-NEXT: the kernels differ from line 2 on
// ALIGN-NEXT: {{[0-9a-f]+}} …memref<64xf32> {tl.align = 16 : i64}) kernel attributes …{{$}}
// ALIGN-NEXT: {{[0-9a-f]+}} …memref<64xf32> {tl.align = 4 : i64}) kernel attributes …{{$}}
// ALIGN-NOT:  {{.}}

// The same for whoever reads JSON.
// RUN: cat %t/given %t/body | sed -n 's/.*tl.cache_key = "\([^"]*\)".*/\1/p' | xargs tl-cache --json --dir=%t/cache explain | FileCheck %s --check-prefix=JSON
// JSON: "name": "kernel"
// JSON: "input": {
// JSON: "first": "%{{.+}} = arith.constant 2.000000e+00 : f32",
// JSON: "line": {{[0-9]+}},
// JSON: "second": "%{{.+}} = arith.constant 3.000000e+00 : f32"

// Its name.
// RUN: sed 's/@scale/@scaled/' %t/kernel.mlir | %{compile} -o %t/name
// RUN: cat %t/given %t/name | %{explain} | FileCheck %s --check-prefix=NAME
// NAME:      COMPONENT
// NAME-NEXT: {{^name the kernel's name scale scaled$}}
// NAME-NOT:  {{.}}

//===----------------------------------------------------------------------===//
// How it is compiled
//===----------------------------------------------------------------------===//

// The chip.
// REDEFINE: %{options} = chip=sm_89
// RUN: %{compile} %t/kernel.mlir -o %t/chip
// RUN: cat %t/given %t/chip | %{explain} | FileCheck %s --check-prefix=CHIP
// CHIP:      COMPONENT
// CHIP-NEXT: {{^}}attribute tl.target the target #tl.target<chip = "sm_80"> #tl.target<chip = "sm_89">{{$}}
// CHIP-NOT:  {{.}}

// An option.
// REDEFINE: %{options} = chip=sm_80 fast-math
// RUN: %{compile} %t/kernel.mlir -o %t/option
// RUN: cat %t/given %t/option | %{explain} | FileCheck %s --check-prefix=OPTION
// OPTION:      COMPONENT
// OPTION-NEXT: {{^}}attribute tl.fast_math the option `tl.fast_math` - unit{{$}}
// OPTION-NOT:  {{.}}

// Lines that the artifact holds.
// REDEFINE: %{options} = chip=sm_80 line-info
// RUN: %{compile} %t/kernel.mlir -o %t/lines
// RUN: cat %t/given %t/lines | %{explain} | FileCheck %s --check-prefix=LINES
// LINES:      COMPONENT
// LINES-NEXT: {{^}}attribute tl.line_info the option `tl.line_info` -
// LINES-NEXT: {{^}}kernel

// Which passes run, and the options of one: only what differs is shown.
// DEFINE: %{pipeline} = canonicalize
// DEFINE: %{passes} = tl-opt %t/kernel.mlir --pass-pipeline="builtin.module(tl-outline-kernels,tl-cached{dir=%t/cache pipeline=gpu.module(cse,%{pipeline})})"
// RUN: %{passes} -o %t/passes
// REDEFINE: %{pipeline} = canonicalize{max-iterations=3}
// RUN: %{passes} -o %t/pass-option
// RUN: cat %t/passes %t/pass-option | %{explain} | FileCheck %s --check-prefix=PASS
// PASS:      COMPONENT
// PASS-NEXT: {{^}}pass canonicalize the configuration of `canonicalize` { max-iterations=10 {{[^ ]*}}… { max-iterations=3 {{[^ ]*}}…{{$}}
// PASS-NOT:  {{.}}
// REDEFINE: %{pipeline} = loop-invariant-code-motion
// RUN: %{passes} -o %t/other-passes
// RUN: cat %t/passes %t/other-passes | %{explain} | FileCheck %s --check-prefix=PIPELINE
// PIPELINE:      COMPONENT
// PIPELINE-NEXT: {{^}}pass canonicalize the configuration of `canonicalize`
// PIPELINE-NEXT: {{^}}pipeline the list of passes gpu.module(cse,canonicalize) gpu.module(cse,loop-invariant-code-motion){{$}}
// PIPELINE-NOT:  {{.}}

// For the host: what is made of it may be loaded from fewer places.
// REDEFINE: %{pipeline} = loop-invariant-code-motion
// RUN: %{passes} -o %t/host
// RUN: tl-opt %t/kernel.mlir -o %t/gpu --pass-pipeline="builtin.module(tl-outline-kernels,tl-attach-target{chip=sm_80},tl-cached{dir=%t/cache pipeline=gpu.module(cse,loop-invariant-code-motion)})"
// RUN: cat %t/host %t/gpu | %{explain} | FileCheck %s --check-prefix=HOST
// HOST:      COMPONENT
// HOST-NEXT: {{^}}attribute tl.target the target - #tl.target<chip = "sm_80">{{$}}
// HOST-NEXT: {{^}}host_code that it runs on the host true -{{$}}
// HOST-NOT:  {{.}}

//===----------------------------------------------------------------------===//
// Source kernels
//===----------------------------------------------------------------------===//

// The text, and each header that it includes, by name. Nothing is compiled here.
// DEFINE: %{keep} = --pass-pipeline="builtin.module(tl-cached{of-sources dir=%t/cache pipeline=gpu.module(cse)})"
// RUN: tl-opt %t/unit.mlir %{keep} -o %t/unit
// RUN: sed 's/x\[0\] = TWO/x[1] = TWO/' %t/unit.mlir | tl-opt %{keep} -o %t/text
// RUN: cat %t/unit %t/text | %{explain} | FileCheck %s --check-prefix=TEXT
// TEXT:      COMPONENT
// TEXT-NEXT: {{^source saxpy.cu the source `saxpy.cu`}}
// TEXT-NEXT: the kernels differ from line 2 on
// TEXT-NEXT: {{[0-9a-f]+ ….*x\[0\] = TWO;.*…$}}
// TEXT-NEXT: {{[0-9a-f]+ ….*x\[1\] = TWO;.*…$}}
// TEXT-NOT:  {{.}}
// RUN: sed 's/TWO 2.0f/TWO 3.0f/' %t/unit.mlir | tl-opt %{keep} -o %t/header
// RUN: cat %t/unit %t/header | %{explain} | FileCheck %s --check-prefix=HEADER
// HEADER:      COMPONENT
// HEADER-NEXT: {{^header include/two.h the header `include/two.h` #define TWO 2.0f #define TWO 3.0f$}}

//===----------------------------------------------------------------------===//
// Nothing
//===----------------------------------------------------------------------===//

// REDEFINE: %{options} = chip=sm_80
// RUN: sed 's/tl.kernel/\n\n&/' %t/kernel.mlir | %{compile} -o %t/same
// RUN: cat %t/given %t/same | %{explain} | FileCheck %s --check-prefix=SAME
// SAME: the keys are the same

//--- kernel.mlir
func.func @host(%A: memref<64xf32> {tl.align = 16 : i64}, %grid: index) attributes {tl.entry} {
  tl.kernel @scale blocks(%b) in (%grid) threads(32) {
    %two = arith.constant 2.0 : f32
    tl.parallel (%i) in (64) {
      %x = tl.load %A[%i] : memref<64xf32>
      %y = arith.mulf %x, %two : f32
      tl.store %y, %A[%i] : memref<64xf32>
    }
  }
  return
}

//--- unit.mlir
gpu.module @saxpy attributes {tl.target = #tl.target<chip = "sm_80">} {
  tl.cuda_unit "saxpy.cu" "#include \22include/two.h\22\0A__global__ void saxpy(float *x) {\0A  x[0] = TWO;\0A}"
    headers {"include/two.h" = "#define TWO 2.0f"}
  tl.cuda_entry @saxpy params([#tl.param<base, 0>]) block(32) shared(0)
}
