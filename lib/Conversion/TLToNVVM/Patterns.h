//===- Patterns.h - Parts of the conversion to NVVM -------------*- C++ -*-===//

#ifndef TL_LIB_CONVERSION_TLTONVVM_PATTERNS_H
#define TL_LIB_CONVERSION_TLTONVVM_PATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir {
class LLVMTypeConverter;
} // namespace mlir

namespace tl {

/// Conversions of floats to integers, which saturate.
void populateConversionPatterns(mlir::RewritePatternSet &patterns);

/// Conversions of floats of 8 bits, from sm_89 on.
void populateSmallFloatInstructionPatterns(mlir::RewritePatternSet &patterns);

/// Cuts the vectors of ops that become formulas into pieces of a few elements.
void splitFormulas(mlir::Operation *root);

/// Functions of f32 that upstream approximates badly near zero or far from it.
void populateFunctionPatterns(mlir::RewritePatternSet &patterns);

/// `tl.ldmatrix`, `tl.stmatrix`, `tl.mma`, `tl.wgmma`, `tl.wgmma_wait`.
void populateMatrixOpPatterns(const mlir::LLVMTypeConverter &converter,
                              mlir::RewritePatternSet &patterns);

} // namespace tl

#endif // TL_LIB_CONVERSION_TLTONVVM_PATTERNS_H
