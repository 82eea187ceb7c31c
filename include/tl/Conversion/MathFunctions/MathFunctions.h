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

/// Replaces `log`, `log2`, `tanh` and `erf` of f32 by arithmetic, `exp` and
/// `reciprocal`.
void populateMathFunctionPatterns(mlir::RewritePatternSet &patterns,
                                  Reciprocal reciprocal);

} // namespace tl

#endif // TL_CONVERSION_MATHFUNCTIONS_MATHFUNCTIONS_H
