//===- Passes.h - From thread level to NVVM ---------------------*- C++ -*-===//

#ifndef TL_CONVERSION_TLTONVVM_PASSES_H
#define TL_CONVERSION_TLTONVVM_PASSES_H

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringRef.h"

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace tl {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tl/Conversion/TLToNVVM/Passes.h.inc"

/// On ops of `T.sigmoid`: an `exp` of what is not positive, whose error is
/// doubled by what follows, and a quotient of a number from 0 to 1 and that
/// number plus 1, which needs no exceptions.
inline constexpr llvm::StringLiteral kSigmoidAttr = "tl.sigmoid";

/// On functions beside a kernel, handed to LLVM as it is: their instructions
/// take the place of calls of them.
inline constexpr llvm::StringLiteral kFormulaAttr = "tl-formula";

/// Converts the kernels of `module`, which must be at thread level, to the LLVM
/// dialect. Fails after an error that names what has no lowering.
llvm::LogicalResult convertToNVVM(mlir::gpu::GPUModuleOp module);

/// Puts on every float op of `module` what `--use_fast_math` of CUDA's
/// compilers allows. Values are still not assumed to be finite: masks are
/// infinities.
void setFastMath(mlir::gpu::GPUModuleOp module);

/// Rewrites the `math` ops below `root` to instructions, to intrinsics of the
/// special function unit, and to arithmetic. Fails after an error that names an
/// op for which there is no such rewrite.
llvm::LogicalResult lowerMath(mlir::Operation *root, bool fastMath);

/// True if `lowerMath` leaves `op`, of `math`, as it is.
bool isNativeMath(mlir::Operation *op);

/// Rewrites the divisions and square roots below `root` that the assembler
/// would make calls of to arithmetic; to run behind `lowerMath`, whose formulas
/// divide.
llvm::LogicalResult lowerDivisions(mlir::Operation *root);

/// True if `lowerDivisions` rewrites `op`.
bool isExpandedDivision(mlir::Operation *op);

/// The address-space-3 symbol that stands for a kernel's dynamic shared memory.
inline constexpr llvm::StringLiteral kSharedMemorySymbol = "tl_shared";

} // namespace tl

#endif // TL_CONVERSION_TLTONVVM_PASSES_H
