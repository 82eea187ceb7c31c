//===- Passes.td - CUDA C++ from thread level --------------*- tablegen -*-===//

#ifndef TL_TARGET_CUDACPP_PASSES_TD
#define TL_TARGET_CUDACPP_PASSES_TD

include "mlir/Pass/PassBase.td"

def EmitCUDAPass : Pass<"tl-emit-cuda", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Generate CUDA C++ for a compiler of CUDA C++";
  let description = [{
    Requires thread level (`tl-verify-thread-level`). Afterwards the module
    holds one `tl.cuda_unit` with the text and a `tl.cuda_entry` for each
    kernel, which `tl-compile-cuda` compiles.

    The text computes what `convert-tl-to-nvvm` and `tl-emit-ptx` compute:
    the same instructions, the same formulas for functions of `math`, and
    contraction as CUDA's compilers do it. It includes `<tl/cuda.h>`
    (`tl::getDeviceHeader`, include/tl/cuda.h), a header of small functions over PTX, and no other.
    With `tl.fast_math` on the module it relies on the compiler to allow the same.

    Names of buffers, loops and parameters are those in the IR's locations, and
    comments show the statements there (`tl.statement`). With `tl.line_info`,
    `#line` directives take the place of comments, so that profilers show the
    user's lines.

    With `only-calls` kernels are left alone that call no function of a source
    (`tl.call_source`): for those there is no other way than CUDA C++.
  }];
  let options = [
    Option<"onlyCalls", "only-calls", "bool", "false",
      "leave kernels alone that call no function of a source">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect",
    "::tl::TLDialect"
  ];
}

#endif // TL_TARGET_CUDACPP_PASSES_TD
