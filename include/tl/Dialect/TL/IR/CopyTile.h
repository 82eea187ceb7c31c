//===- CopyTile.h - The tile of a copy as its sides have it -----*- C++ -*-===//
//
// The dimensions of a copy's tile are the last ones of each side. A side that
// has fewer leaves out extents of one, the innermost first, but never the last
// dimension: a tile of (64, 1, 128) is a tile of (64, 128) for a side of two
// dimensions. So rows of a tensor that is indexed in a dimension between them
// and their elements, as `K[b, s : s + 64, h, :]`, are copied as a tile.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_COPYTILE_H
#define TL_DIALECT_TL_IR_COPYTILE_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// On a loop of the front end: it copies a tile element by element.
inline constexpr llvm::StringLiteral kCopiedAttr = "tl.copied";
/// On such a loop: only the running kernel knows the extents of the tile.
inline constexpr llvm::StringLiteral kCutAttr = "tl.cut";

/// The extents of the last dimensions of a side with `rank` dimensions. More
/// than `rank`, if the tile has more that are not one.
llvm::SmallVector<int64_t> getSideTile(llvm::ArrayRef<int64_t> tile,
                                       int64_t rank);

llvm::SmallVector<int64_t> getSourceTile(CopyOp copy);
llvm::SmallVector<int64_t> getTargetTile(CopyOp copy);

/// The tile without what a side leaves out: what loops over it run over.
struct CopyLoops {
  llvm::SmallVector<int64_t> extents;
  /// Which dimension of the source each is; negative for those that the places
  /// of a gather are computed of.
  llvm::SmallVector<int64_t> source;
  llvm::SmallVector<int64_t> target; ///< which dimension of the target each is

  static CopyLoops of(CopyOp copy);
};

} // namespace tl

#endif // TL_DIALECT_TL_IR_COPYTILE_H
