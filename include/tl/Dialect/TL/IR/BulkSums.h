//===- BulkSums.h - Bulk stores that add ------------------------*- C++ -*-===//
//
// `tl-mark-bulk-stores` marks a `tl.copy` with `tl.accumulate`: the engine adds
// the tile to what device memory holds (`cp.reduce.async.bulk.tensor`), element
// by element, each as a relaxed `tl.atomic` of the device's scope does.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_BULKSUMS_H
#define TL_DIALECT_TL_IR_BULKSUMS_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// On a `tl.copy ... bulk` from workgroup to device memory.
inline constexpr llvm::StringLiteral kAccumulateAttr = "tl.accumulate";

inline bool addsToTarget(CopyOp copy) { return copy->hasAttr(kAccumulateAttr); }

/// True if the engine can add elements of `type`.
inline bool canAccumulate(mlir::Type type) {
  return type.isF32() || type.isF16() || type.isBF16() || type.isInteger(32);
}

} // namespace tl

#endif // TL_DIALECT_TL_IR_BULKSUMS_H
