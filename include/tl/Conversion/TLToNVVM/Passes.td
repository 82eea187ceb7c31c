//===- Passes.td - From thread level to NVVM ---------------*- tablegen -*-===//

#ifndef TL_CONVERSION_TLTONVVM_PASSES_TD
#define TL_CONVERSION_TLTONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertTLToNVVMPass : Pass<"convert-tl-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Convert thread-level kernels to the LLVM dialect with NVVM";
  let description = [{
    Requires thread level (`tl-verify-thread-level`). Afterwards the module
    holds `llvm.func` kernels of ops of the `llvm` and `nvvm` dialects only,
    and each argument still carries its `tl.param`, each kernel its `tl.shared`.

    - Kernels get `nvvm.kernel`, `nvvm.reqntid`, and from `tl.cluster`
      `nvvm.cluster_dim`. A tensor map is passed by value as a grid constant. Other
      pointers are taken as aligned to 16 bytes, or as `tl.align` says. They are
      not `noalias`: nothing keeps a caller from passing the same tensor twice, and
      a kernel that is in place by intent (`x += 1`) is common.
    - `index` is 32 bits wide.
    - `tl.wgmma` and `tl.wgmma_wait` become inline assembly in which every
      accumulator register is tied to itself, so that `ptxas` can keep it in
      place, and LLVM cannot move a use before the wait that completes it.
    - `math` ops become hardware instructions or polynomials: no library is
      linked. In f32, `exp`, `exp2`, `log`, `sin` and `cos` (of arguments up to
      2^17) are within 2 ulp, `powf` within 1, most others within 5; `cbrt` is
      upstream's, coarser. f16 and bf16 are computed in f32. f64 has square root, fused multiply-add, rounding and absolute value.
    - A kernel with 128 accesses or more that each stand in a guard of their own gets masked
      ones instead of branches (`llvm.intr.masked.load`, `llvm.intr.masked.store`), whose
      lanes are on or off together: compile time is mostly that of blocks.
    - A formula of 256 elements or more becomes a function of eight of them, beside the kernel, with
      `tl-formula` among its attributes for LLVM; `tl-emit-ptx` puts it in place of its calls. It is
      not made of what LLVM fuses with a product or a sum beside it, nor with `tl.fast_math`.
    - With `tl.fast_math` on the module, float arithmetic may be reassociated
      and approximated: division and square root are the hardware's
      approximations, `exp` and `log` are not range reduced, and denormals are
      flushed to zero. NON-NUMERIC-PRESERVING.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"
  ];
}

#endif // TL_CONVERSION_TLTONVVM_PASSES_TD
