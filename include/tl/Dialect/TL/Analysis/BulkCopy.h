//===- BulkCopy.h - What the bulk copy engine can copy ----------*- C++ -*-===//
//
// The rules of `cp.async.bulk.tensor` (PTX ISA, "Tensors") as far as tile
// copies meet them.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_BULKCOPY_H
#define TL_DIALECT_TL_ANALYSIS_BULKCOPY_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// How a tile is cut into boxes: one for each panel of the shared layout.
struct BulkCopyShape {
  llvm::SmallVector<int64_t> box; ///< innermost dimension first
  int64_t swizzle;                ///< bytes
  int64_t panels;                 ///< boxes, side by side along the last dim
};

/// The boxes of a copy between device memory and shared memory. None, with the
/// `reason`, if the engine cannot do it.
std::optional<BulkCopyShape> getBulkCopyShape(CopyOp copy, std::string &reason);

/// Whether the engine can reach the place of a copy in device memory, which is
/// known before tiles have layouts.
bool isInReach(CopyOp copy);

/// The part of a load that one of the blocks that share it fetches.
struct BulkCopyPart {
  llvm::SmallVector<int64_t> box; ///< of a panel's part, innermost first
  int64_t dim;    ///< of the buffer in device memory, that is cut
  int64_t extent; ///< along it
  int64_t bytes;  ///< of a panel's part
};

/// One of `blocks` equal parts of a load of `shape`, along the first dimension
/// of the tile. None, with the `reason`, if there are no such parts.
std::optional<BulkCopyPart> getBulkCopyPart(CopyOp copy,
                                            const BulkCopyShape &shape,
                                            int64_t blocks,
                                            std::string &reason);

/// A loop that adds a tile on the chip to a tensor.
struct TileSum {
  LoadOp load;
  AtomicOp atomic;
};

/// What `loop` does, if that is to add each element of a whole tile of shared
/// memory or of a fragment to an element of a tensor, as it is, by an atomic
/// operation that nobody asks what was there and that orders nothing else: then
/// the order of these is free, and the engine can do them.
std::optional<TileSum> getTileSum(ParallelOp loop);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_BULKCOPY_H
