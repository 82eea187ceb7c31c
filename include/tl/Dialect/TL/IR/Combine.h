//===- Combine.h - What reductions do to two elements -----------*- C++ -*-===//
//
// Every lowering of `tl.reduce`, `tl.scan`, and of `tl.atomic` where no
// instruction does it, combines through these functions, so that all of them
// agree: NaN is the greatest and the least number, and +0 is greater than -0.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_COMBINE_H
#define TL_DIALECT_TL_IR_COMBINE_H

#include "mlir/IR/Builders.h"
#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// The value of `type` that changes nothing when combined.
mlir::TypedAttr getNeutralElement(ReduceKind kind, mlir::Type type);

/// What of a number or a vector of numbers takes part: itself, or its absolute
/// value.
mlir::Value emitContribution(mlir::OpBuilder &builder, mlir::Location loc,
                             ReduceKind kind, mlir::Value value);

/// Combines two numbers, or vectors of numbers, that take part.
mlir::Value emitCombine(mlir::OpBuilder &builder, mlir::Location loc,
                        ReduceKind kind, mlir::Value a, mlir::Value b);

/// What was combined, as an element of the type `to` of the result. A greatest
/// or least number is an operand's, and so held by the type.
mlir::Value emitResult(mlir::OpBuilder &builder, mlir::Location loc,
                       ReduceKind kind, mlir::Value value, mlir::Type to);

/// What an atomic operation other than `load` and `compare_exchange` writes to
/// an element that is `old`.
mlir::Value emitAtomicUpdate(mlir::OpBuilder &builder, mlir::Location loc,
                             AtomicKind kind, mlir::Value old,
                             mlir::Value value);

} // namespace tl

#endif // TL_DIALECT_TL_IR_COMBINE_H
