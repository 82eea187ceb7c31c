//===- RowAccesses.h - How rows of tiles meet memory ------------*- C++ -*-===//
//
// A thread moves up to 16 neighbouring bytes of a row at once. How many
// elements these are is a matter of the rows in memory: registers have no
// width, so that a fragment of f32 that is filled from bf16 is best filled by
// eight elements. Where rows of several types are moved, the widest decides:
// vectors of all of them then lie side by side in the lanes of a warp.
//
// This is a choice and not a requirement: any vector width is right.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_ROWACCESSES_H
#define TL_DIALECT_TL_ANALYSIS_ROWACCESSES_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// The widest element of rows in memory along which the index `dim` of `loop`
/// moves; that of all that the loop touches, if there is none.
mlir::Type getRowElement(ParallelOp loop, int64_t dim);

/// What is done with the rows of a fragment, and of all that lie as it does.
struct RowUses {
  /// The widest element of rows in memory that are moved to or from it; that of
  /// the fragment, if there are none.
  mlir::Type element;
  /// True if a reduction goes along a row.
  bool isReduced = false;
  /// True if a reduction goes from row to row.
  bool isReducedAcross = false;
};
RowUses getRowUses(mlir::Value fragment);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_ROWACCESSES_H
