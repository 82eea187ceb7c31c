//===- Calls.h - Functions that users wrote in CUDA C++ ---------*- C++ -*-===//
//
// The ops of Calls.td.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_CALLS_H
#define TL_DIALECT_TL_IR_CALLS_H

#include "tl/Dialect/TL/IR/TL.h"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Calls.h.inc"

namespace tl {

/// A call of a function of CUDA C++ in `root`, or null if there is none.
CallSourceOp findSourceCall(mlir::Operation *root);

} // namespace tl

#endif // TL_DIALECT_TL_IR_CALLS_H
