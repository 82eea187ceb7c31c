// `--tl-compile` makes of a module what a runtime needs, for each chip: a launch
// plan for the host function, and the files of each kernel.

// RUN: tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=sm_80 assembler=none" | FileCheck %s --check-prefixes=PLAN,SM80
// RUN: tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=sm_90 assembler=none" | FileCheck %s --check-prefixes=PLAN,SM90
// RUN: tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=sm_90a assembler=none" | FileCheck %s --check-prefixes=PLAN,SM90A
// RUN: tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=cpu" | FileCheck %s --check-prefixes=PLAN,CPU

// What is asked of arguments does not depend on the chip; parameters do.
// PLAN: tl.launch_plan @gemm
// PLAN-SAME: {align = 16 : i64, dtype = "f16", kind = "tensor", name = "A", shape = ["arg0_dim0", 512], strides}
// PLAN-SAME: grid = [2, ["scalar", 3], 1], kernel = "gemm_kernel"

// Before Hopper tiles are copied by `cp.async` and multiplied by `mma.sync`. A
// chip without `a` has Hopper's memory, but not its matrix unit.
// SM80: gpu.module @gemm_kernel attributes {tl.target = #tl.target<chip = "sm_80">}
// SM80-NEXT: tl.compiled_kernel @gemm_kernel params([#tl.param<dim, 0>, #tl.param<base, 0>,
// SM80-SAME: files({kernel.ptx = "
// SM80-SAME: .target sm_80
// SM80-SAME: .visible .entry gemm_kernel(
// SM80-SAME: cp.async.cg.shared.global
// SM80-SAME: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

// SM90: gpu.module @gemm_kernel
// SM90-NOT: wgmma
// SM90: .target sm_90\0A
// SM90-NOT: wgmma
// SM90: mma.sync

// On sm_90a the bulk engine copies and warp groups multiply.
// SM90A: gpu.module @gemm_kernel
// SM90A-NEXT: params([#tl.param<dim, 0>, #tl.param<dim, 2>, #tl.param<tensor_map, 0, box = [64, 128], swizzle = 128, type = f16>
// SM90A-SAME: .target sm_90a\0A
// SM90A-SAME: cp.async.bulk.tensor.2d.shared
// SM90A-SAME: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16

// On the host a kernel is an object file, and needs no shared memory.
// CPU: gpu.module @gemm_kernel
// CPU-NEXT: tl.compiled_kernel @gemm_kernel params([#tl.param<base, 0>,
// CPU-SAME: shared(0) files({kernel.o = "\7FELF

// `auto` and the chip's own backend are the same.
// RUN: tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=sm_80 assembler=none" -o %t.auto
// RUN: tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=sm_80 assembler=none backend=nvptx" | diff %t.auto -

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

// An unknown chip: the known ones are named.
// RUN: not tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=sm_37" 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: gemm.mlir:{{.*}}: error: unknown chip `sm_37`; known are `cpu`, `sm_75`, `sm_80`,

// A backend that cannot compile for the chip.
// RUN: not tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=sm_90 backend=cpu" 2>&1 | FileCheck %s --check-prefix=BACKEND
// BACKEND: error: backend `cpu` does not compile for chip `sm_90`; use `nvptx`, `nvrtc`, `nvcc`, `cuda`, `cutedsl`, `sim` or `auto`

// A backend that is none.
// RUN: not tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=cpu backend=llvm" 2>&1 | FileCheck %s --check-prefix=NO-BACKEND
// NO-BACKEND: error: backend `llvm` does not compile for chip `cpu`; use `cpu` or `auto`

// An option that there is not.
// RUN: not tl-opt %S/Inputs/gemm.mlir --tl-compile="chips=cpu" 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: no such option chips

// Input that does not parse.
// RUN: echo 'func.func @f( {' > %t.mlir
// RUN: not tl-opt %t.mlir --tl-compile="chip=sm_90a" 2>&1 | FileCheck %s --check-prefix=PARSE
// PARSE: .mlir:1:14: error: expected
