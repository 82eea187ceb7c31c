//===- CopyTile.cpp - The tile of a copy as its sides have it -------------===//

#include "tl/Dialect/TL/IR/CopyTile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tl;

/// The dimensions of the tile that a side with `rank` dimensions has.
static SmallVector<int64_t> getKeptDims(ArrayRef<int64_t> tile, int64_t rank) {
  auto kept =
      llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(tile.size())));
  for (int64_t dim = static_cast<int64_t>(tile.size()) - 2;
       dim >= 0 && static_cast<int64_t>(kept.size()) > rank; --dim)
    if (tile[dim] == 1)
      kept.erase(kept.begin() + dim);
  return kept;
}

SmallVector<int64_t> tl::getSideTile(ArrayRef<int64_t> tile, int64_t rank) {
  return llvm::map_to_vector(getKeptDims(tile, rank),
                             [&](int64_t dim) { return tile[dim]; });
}

static int64_t getRank(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getRank();
}

SmallVector<int64_t> tl::getSourceTile(CopyOp copy) {
  return getSideTile(copy.getTile(), getRank(copy.getSource()));
}

SmallVector<int64_t> tl::getTargetTile(CopyOp copy) {
  return getSideTile(copy.getTile(), getRank(copy.getTarget()));
}

CopyLoops CopyLoops::of(CopyOp copy) {
  ArrayRef<int64_t> tile = copy.getTile();
  int64_t sourceRank = getRank(copy.getSource());
  int64_t targetRank = getRank(copy.getTarget());
  CopyLoops loops;
  if (copy.isGather()) {
    loops.extents = llvm::to_vector(tile);
    loops.target = llvm::to_vector(llvm::seq<int64_t>(0, targetRank));
    loops.source.assign(targetRank, -1);
    loops.source.back() = sourceRank - 1;
    return loops;
  }
  SmallVector<int64_t> ofSource = getKeptDims(tile, sourceRank);
  SmallVector<int64_t> ofTarget = getKeptDims(tile, targetRank);
  for (auto [inSource, dim] : llvm::enumerate(ofSource)) {
    const int64_t *found = llvm::find(ofTarget, dim);
    if (found == ofTarget.end())
      continue;
    loops.extents.push_back(tile[dim]);
    loops.source.push_back(sourceRank - ofSource.size() + inSource);
    loops.target.push_back(targetRank - (ofTarget.end() - found));
  }
  return loops;
}
