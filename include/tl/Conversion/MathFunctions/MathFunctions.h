//===- MathFunctions.h - Functions of floats as arithmetic ------*- C++ -*-===//
//
// Formulas that every target shares, so that all of them agree up to what their
// building blocks differ in. Errors are those of docs/language/accuracy.md.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_MATHFUNCTIONS_MATHFUNCTIONS_H
#define TL_CONVERSION_MATHFUNCTIONS_MATHFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace tl {

class FloatBuilder;

/// One over a number from 1 to infinity, within one unit in the last place.
using Reciprocal = mlir::Value (*)(mlir::OpBuilder &builder, mlir::Location loc,
                                   const FloatBuilder &f, mlir::Value x);

/// Replaces `log`, `log2`, `tanh`, `erf` and powers of f32 by arithmetic, `exp`
/// and `reciprocal`.
void populateMathFunctionPatterns(mlir::RewritePatternSet &patterns,
                                  Reciprocal reciprocal);

/// Replaces `exp`, `exp2`, `log`, `log2`, `tanh`, `erf` and powers of f64 by
/// arithmetic and `reciprocal`.
void populateDoubleFunctionPatterns(mlir::RewritePatternSet &patterns,
                                    Reciprocal reciprocal);

/// Replaces `sin` and `cos` of f32 and f64 by arithmetic.
void populateSinePatterns(mlir::RewritePatternSet &patterns);

/// Replaces conversions from and to floats of 8 bits by arithmetic.
void populateSmallFloatPatterns(mlir::RewritePatternSet &patterns);

/// Replaces conversions of integers of 32 and 64 bits to bf16 by those to f32
/// and on, which round once.
void populateBFloat16IntegerPatterns(mlir::RewritePatternSet &patterns);

/// Replaces `fma` of bf16 by arithmetic of f64 that rounds once.
void populateBFloat16FusedPatterns(mlir::RewritePatternSet &patterns);

/// Replaces conversions between f64 and bf16 by those that go through f32.
void populateBFloat16DoublePatterns(mlir::RewritePatternSet &patterns);

/// Keeps LLVM from taking a half for the integer that it was made of, in ops of
/// the LLVM dialect.
void fenceHalves(mlir::Operation *module);

} // namespace tl

#endif // TL_CONVERSION_MATHFUNCTIONS_MATHFUNCTIONS_H
