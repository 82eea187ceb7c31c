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
/// with `arith` ops. Floats round to nearest even, floats become integers by
/// truncation; `i1` is unsigned, every other integer and `index` is signed.
mlir::Value convertElement(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, mlir::Type to);

/// The type in which elements of `type` are combined: 16-bit floats in f32, so
/// that a result is rounded once.
mlir::Type getReductionType(mlir::Type type);

} // namespace tl

#endif // TL_DIALECT_TL_IR_CONVERT_H
