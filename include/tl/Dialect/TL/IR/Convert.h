//===- Convert.h - Conversion between element types -------------*- C++ -*-===//
//
// Copies and gemms convert elements where the types of their operands differ.
// Every lowering converts through this function, so that all of them agree.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_CONVERT_H
#define TL_DIALECT_TL_IR_CONVERT_H

#include "mlir/IR/Builders.h"

namespace tl {

/// Converts `value`, a number or a vector of numbers, to the element type `to`
/// with `arith` ops. Floats round to nearest even. They become integers towards
/// zero and as near as the type allows, NaN becomes 0: `arith.fptosi` and
/// `arith.fptoui` saturate at every level of this compiler, and give 0 for a
/// NaN where both types have 32 bits. `i1` is unsigned and true unless zero;
/// every other integer and `index` is signed. Integers become floats of 8 bits
/// by way of f32, which holds all that do not overflow. What is too large for 8
/// bits, infinity included, becomes the greatest number: `arith.truncf` alone
/// would make it infinity, or NaN, so that it is the truncation of
/// `maximumf(minimumf(x, greatest), -greatest)`.
mlir::Value convertElement(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, mlir::Type to);

/// `value`, a float, as a number of the float type `to`, which holds it.
mlir::Value convertHeldElement(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value value, mlir::Type to);

/// Numbers of which matrix instructions, which leave out the lower 13 bits,
/// read the nearest to `bits`, an f32 as i32 or a vector of these, that tf32
/// holds. A NaN, whose payload the sum could carry into the sign, becomes the
/// one whose bits are all set, of which the instructions read a NaN again.
mlir::Value roundForTF32(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value bits);

/// The greatest number of a float of 8 bits; none of other types.
std::optional<double> getGreatestOf8Bits(mlir::Type type);

/// The type in which elements of `type` are combined: narrow floats in f32, so
/// that a result is rounded once.
mlir::Type getReductionType(mlir::Type type);

} // namespace tl

#endif // TL_DIALECT_TL_IR_CONVERT_H
