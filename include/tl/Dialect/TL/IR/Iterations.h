//===- Iterations.h - Which iteration does what -----------------*- C++ -*-===//
//
// The ops of Iterations.td, and the attribute of accesses that they explain.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_ITERATIONS_H
#define TL_DIALECT_TL_IR_ITERATIONS_H

#include "tl/Dialect/TL/IR/TL.h"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Iterations.h.inc"

namespace tl {

/// Of an access at thread level: the iterations that it is of.
inline constexpr llvm::StringLiteral kIterationsAttr = "tl.iterations";

} // namespace tl

#endif // TL_DIALECT_TL_IR_ITERATIONS_H
