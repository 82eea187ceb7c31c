// With `backend=nvrtc` or `backend=nvcc` tiles become PTX by way of CUDA C++,
// which is kept beside it. The plan is that of every other backend.

// REQUIRES: nvrtc
// RUN: tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=sm_90a assembler=none backend=nvrtc" | FileCheck %s
// RUN: %if nvcc %{ tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=sm_90a assembler=none backend=nvcc" | FileCheck %s %}
// RUN: tl-opt %S/Inputs/softmax.mlir --tl-compile="chip=sm_80 assembler=none backend=nvrtc" | FileCheck %s --check-prefix=SOFTMAX

// CHECK: tl.launch_plan @gemm
// CHECK-SAME: grid = [2, ["scalar", 3], 1], kernel = "gemm_kernel"
// CHECK: gpu.module @gemm_kernel attributes {tl.dependent, tl.target = #tl.target<chip = "sm_90a">}
// CHECK-NEXT: tl.compiled_kernel @gemm_kernel params([#tl.param<dim, 0>, #tl.param<dim, 2>, #tl.param<tensor_map, 0, box = [64, 128], swizzle = 128, type = f16>
// CHECK-SAME: device_kernel.cu = "#include <tl/cuda.h>\0A
// CHECK-SAME: kernel.ptx = "
// CHECK-SAME: .target sm_90a
// CHECK-SAME: .entry gemm_kernel(
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16

// SOFTMAX: device_kernel.cu = "#include <tl/cuda.h>\0A
// SOFTMAX-SAME: .target sm_80

// Each step has a record of its own: with another assembler, or after an edit of
// the source, the steps before that are there.
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{compile} = tl-opt %S/Inputs/gemm.mlir --remarks-filter=tl-cached -o /dev/null
// RUN: %{compile} --tl-compile="chip=sm_90a assembler=none backend=nvrtc cache-dir=%t/cache" 2>&1 | FileCheck %s --check-prefix=COLD
// RUN: %{compile} --tl-compile="chip=sm_90a assembler=none backend=nvrtc cache-dir=%t/cache" 2>&1 | FileCheck %s --check-prefix=WARM
// RUN: %if nvjitlink %{ %{compile} --tl-compile="chip=sm_90a assembler=nvjitlink backend=nvrtc cache-dir=%t/cache" 2>&1 | FileCheck %s --check-prefix=ASSEMBLED %}
// COLD: kernel `gemm_kernel`: miss
// COLD: kernel `gemm_kernel`: stage `tl-emit-cuda`: miss
// COLD: kernel `gemm_kernel`: stage `tl-compile-cuda`: miss
// WARM: kernel `gemm_kernel`: hit
// ASSEMBLED: kernel `gemm_kernel`: stage `tl-emit-cuda`: hit
// ASSEMBLED: kernel `gemm_kernel`: stage `tl-compile-cuda`: hit
// ASSEMBLED: kernel `gemm_kernel`: stage `tl-assemble`: miss

// Edited source is what the next steps see, and a user's own text is not edited;
// this needs a program that edits (test/python/test_nvrtc.py).

// The kernels of a backend that is none, or not for this chip.
// RUN: not tl-opt %S/Inputs/gemm.mlir --tl-compile="chip=cpu backend=nvcc" 2>&1 | FileCheck %s --check-prefix=PAIR
// PAIR: error: backend `nvcc` does not compile for chip `cpu`; use `cpu` or `auto`
