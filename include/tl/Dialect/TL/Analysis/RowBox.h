//===- RowBox.h - Gathered rows that are a box ------------------*- C++ -*-===//
//
// Rows that a copy gathers from where a formula says are a box of the tensor
// more often than not: a row of the patches of a convolution is the next pixel,
// as long as the tile does not go over the end of a row of the image.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_ROWBOX_H
#define TL_DIALECT_TL_ANALYSIS_ROWBOX_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// The rows of a copy with `places`, in their order, as a box that begins where
/// the first of them does. What of it lies outside of the tensor are rows that
/// do not exist, and the others do unless one of `conditions` is false.
struct RowBox {
  /// Along each dimension of the source; the last one is of a single element.
  llvm::SmallVector<int64_t> extents;
  /// Values of the copy's `places` that are the same for all rows.
  llvm::SmallVector<mlir::Value> conditions;
};

/// The box of the rows that `copy` gathers; none if they are not seen to be
/// one.
std::optional<RowBox> getRowBox(CopyOp copy);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_ROWBOX_H
