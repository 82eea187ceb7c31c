//===- Patterns.h - Parts of the conversion to NVVM -------------*- C++ -*-===//

#ifndef TL_LIB_CONVERSION_TLTONVVM_PATTERNS_H
#define TL_LIB_CONVERSION_TLTONVVM_PATTERNS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir {
class LLVMTypeConverter;
} // namespace mlir

namespace tl {

/// Calls an intrinsic on `operands`, which are of one type, or on each of their
/// elements. The results are of type `element`, by default that of the
/// operands.
mlir::Value callIntrinsic(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::StringRef name, mlir::ValueRange operands,
                          mlir::Type element = {});

/// Applies patterns that leave regions as they are. What these could be rid of
/// is not looked for, which takes time in long kernels.
inline llvm::LogicalResult applyToOps(mlir::Operation *root,
                                      mlir::RewritePatternSet patterns) {
  mlir::GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(
      mlir::GreedySimplifyRegionLevel::Disabled);
  return mlir::applyPatternsGreedily(root, std::move(patterns), config);
}

/// On an `exp` of f32 that stands for one of the two factors whose product it
/// is: the exponential of the rest, or the power of two.
inline constexpr llvm::StringLiteral kFactorAttr = "tl.factor";
inline constexpr llvm::StringLiteral kMantissa = "mantissa";
inline constexpr llvm::StringLiteral kPower = "power";

/// True if the hardware's approximation of a function will do.
inline bool isApproximate(mlir::arith::FastMathFlags flags) {
  return mlir::arith::bitEnumContainsAll(flags,
                                         mlir::arith::FastMathFlags::afn);
}

/// Conversions of floats to integers, which saturate.
void populateConversionPatterns(mlir::RewritePatternSet &patterns);

/// Ten times the compute capability of the chip of the kernel that `op` is or
/// is in; 0 if the module names none, as those of tests. Fails after an error.
mlir::FailureOr<int> getCapability(mlir::Operation *op);

/// Conversions of floats of 8 bits, from sm_89 on.
void populateSmallFloatInstructionPatterns(mlir::RewritePatternSet &patterns);

/// Cuts the vectors of ops that become formulas into pieces of a few elements.
void splitFormulas(mlir::Operation *root);

/// Makes guarded accesses masked ones where a kernel has many.
void maskAccesses(mlir::Operation *root);

/// Functions of f32 that upstream approximates badly near zero or far from it.
void populateFunctionPatterns(mlir::RewritePatternSet &patterns);

/// `tl.atom`.
void populateAtomicPatterns(const mlir::LLVMTypeConverter &converter,
                            mlir::RewritePatternSet &patterns);

/// `tl.ldmatrix`, `tl.stmatrix`, `tl.mma`, `tl.wgmma`, `tl.wgmma_wait`.
void populateMatrixOpPatterns(const mlir::LLVMTypeConverter &converter,
                              mlir::RewritePatternSet &patterns);

} // namespace tl

#endif // TL_LIB_CONVERSION_TLTONVVM_PATTERNS_H
