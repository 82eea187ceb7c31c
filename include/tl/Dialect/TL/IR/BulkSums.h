//===- BulkSums.h - Bulk stores that add ------------------------*- C++ -*-===//
//
// What the copy engine can add: a `tl.copy` with `accumulate`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_BULKSUMS_H
#define TL_DIALECT_TL_IR_BULKSUMS_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// True if the engine can add elements of `type`.
inline bool canAccumulate(mlir::Type type) {
  return type.isF32() || type.isF16() || type.isBF16() || type.isInteger(32);
}

} // namespace tl

#endif // TL_DIALECT_TL_IR_BULKSUMS_H
