//===- ForwardFragments.cpp - Store fragments that a program stages -------===//
//
// Programs copy a fragment to a shared tile and that to a tensor, as an
// accumulator should leave. Where the threads of a warp hold whole sectors of
// the tensor, in pieces of 16 bytes, they can store these themselves: the tile
// costs its memory, a barrier or two, and the start of a bulk copy.
//
// Sound because
//
// - the tile is written by one copy, as a whole, and read by one copy, as a
//   whole and later in the same block, and nothing else names it;
// - nothing between the two names the fragment, so that it still holds what was
//   copied of it;
// - the tile has the element type of the tensor, so that an element is
//   converted once, and to the same type, either way. What is outside of the
//   tensor is dropped by either copy.
//
// Comes behind layouts, which say what the threads hold, and in front of
// everything that looks at stores of shared tiles.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"

#define DEBUG_TYPE "tl-forward-fragments"

namespace tl {
#define GEN_PASS_DEF_FORWARDFRAGMENTSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

static constexpr int64_t kPieceBytes = 16, kSectorBytes = 32, kWarp = 32;

/// A copy as the program wrote it, of all of a buffer on chip.
static bool isPlainCopyOf(CopyOp copy, Value buffer, ValueRange offsets,
                          ArrayRef<int64_t> tile) {
  return offsets.empty() && !copy.getAsync() && !copy.getBulk() &&
         !copy.getBarrier() && !copy.isGather() &&
         tile == cast<MemRefType>(buffer.getType()).getShape();
}

/// Whether each sector of rows of `bytes` bytes an element is held by one warp,
/// in pieces that its threads store at the same time.
static bool holdsSectors(const FragmentLayout &layout, ArrayRef<int64_t> shape,
                         int64_t bytes) {
  int64_t piece = kPieceBytes / bytes, sector = kSectorBytes / bytes;
  int64_t last = layout.getRank() - 1;
  if (layout.numCopies() != 1 || layout.getShape() != shape || piece == 0 ||
      shape[last] % sector != 0 || layout.contiguousValues(last) != piece)
    return false;
  // Owners repeat from row to row, but a row need not be a whole number of
  // warps: all are looked at.
  SmallVector<int64_t> at(shape.size(), 0);
  int64_t elements = ShapedType::getNumElements(shape);
  for (int64_t first = 0; first < elements; first += sector) {
    int64_t rest = first;
    for (int64_t dim = last; dim >= 0; --dim) {
      at[dim] = rest % shape[dim];
      rest /= shape[dim];
    }
    auto left = layout.findOwner(at);
    at[last] += piece;
    auto right = layout.findOwner(at);
    if (!left || !right || left->thread / kWarp != right->thread / kWarp ||
        left->value / piece != right->value / piece)
      return false;
  }
  return true;
}

/// The copy of a fragment that fills the tile which `store` stores, if the
/// fragment can be stored in the place of it.
static CopyOp findFill(CopyOp store) {
  auto tile = store.getSource().getDefiningOp<AllocOp>();
  if (!tile || !isInSpace(store.getTarget(), Space::Global) ||
      !isInSpace(tile, Space::Shared) ||
      !isPlainCopyOf(store, tile, store.getSourceOffsets(),
                     getSourceTile(store)))
    return nullptr;
  SmallVector<Operation *> users(tile->getUsers());
  if (users.size() != 2)
    return nullptr;
  auto fill = dyn_cast<CopyOp>(users[users.front() == store]);
  if (!fill || fill == store || fill->getBlock() != store->getBlock() ||
      !fill->isBeforeInBlock(store) || fill.getTarget() != tile)
    return nullptr;
  auto fragment = fill.getSource().getDefiningOp<AllocOp>();
  if (!fragment || !isInSpace(fragment, Space::Fragment) ||
      !isPlainCopyOf(fill, tile, fill.getTargetOffsets(),
                     getTargetTile(fill)) ||
      !isPlainCopyOf(fill, fragment, fill.getSourceOffsets(),
                     getSourceTile(fill)))
    return nullptr;
  for (Operation *user : fragment->getUsers()) {
    Operation *inBlock = store->getBlock()->findAncestorOpInBlock(*user);
    if (inBlock && fill->isBeforeInBlock(inBlock) &&
        inBlock->isBeforeInBlock(store))
      return nullptr;
  }
  return fill;
}

/// Whether threads store `fragment` as fast as they would store a tile.
static bool isStoredWell(AllocOp fragment, CopyOp store) {
  auto target = cast<MemRefType>(store.getTarget().getType());
  auto tile = cast<MemRefType>(store.getSource().getType());
  int64_t bytes = getElementBytes(target);
  return target.getElementType() == tile.getElementType() &&
         target.getElementType().getIntOrFloatBitWidth() % 8 == 0 &&
         isInReach(store) &&
         getRowDivisor(store.getTarget()) * bytes % kPieceBytes == 0 &&
         fragment.getLayoutAttr() &&
         holdsSectors(
             toLayout(cast<FragmentLayoutAttr>(fragment.getLayoutAttr())),
             fragment.getType().getShape(), bytes);
}

static void forward(CopyOp fill, CopyOp store) {
  auto tile = store.getSource().getDefiningOp<AllocOp>();
  remark::passed(store.getLoc(),
                 remark::RemarkOpts::name("forward").category(DEBUG_TYPE))
      << "threads store what they hold: a tile in shared memory between would "
         "make the rows no wider";
  store.getSourceMutable().assign(fill.getSource());
  fill.erase();
  tile.erase();
}

namespace {
struct ForwardFragmentsPass
    : tl::impl::ForwardFragmentsPassBase<ForwardFragmentsPass> {
  void runOnOperation() override {
    SmallVector<CopyOp> stores;
    getOperation().walk([&](CopyOp copy) {
      if (isInSpace(copy.getTarget(), Space::Global))
        stores.push_back(copy);
    });
    for (CopyOp store : stores) {
      CopyOp fill = findFill(store);
      if (fill &&
          isStoredWell(fill.getSource().getDefiningOp<AllocOp>(), store))
        forward(fill, store);
    }
  }
};
} // namespace
