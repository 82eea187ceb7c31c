//===- Iterations.cpp - Which iteration does what -------------------------===//
//
// Verifiers of the ops of Iterations.td, whose constraints the labels (C1)
// name.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Iterations.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tl;

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Iterations.cpp.inc"

LogicalResult BeginIterationsOp::verify() {
  if (getExtents().empty() ||
      llvm::any_of(getExtents(), [](int64_t it) { return it <= 0; })) // C1
    return emitOpError("expects positive extents, got [")
           << getExtents() << "]";
  return success();
}

LogicalResult AtIterationsOp::verify() {
  if (getIndices().empty()) // C1
    return emitOpError("expects an index for each extent of the loop");
  return success();
}
