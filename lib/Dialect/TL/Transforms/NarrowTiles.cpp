//===- NarrowTiles.cpp - Keep tiles in the type that they come in ---------===//
//
// Programs copy rows of 16 bits to a shared tile of f32, and that to fragments.
// A copy that converts goes through registers: each thread loads, waits,
// converts and stores, and nothing can run ahead of it. Such a tile is kept as
// the tensor has it, and converted where it is read. It takes half the memory,
// and its loads are those of any other tile.
//
// Sound because
//
// - every number of f16 and of bf16 is one of f32, so that what is read is the
//   same whether it is extended before it is stored or after it is loaded, and
//   what a copy puts outside of its tensor is zero in either type;
// - the tile is written by copies from tensors of one such type and read by
//   copies to fragments of f32, as the program wrote them, and nothing else
//   names it: no layout of the program's, no view, no product that would see
//   its type.
//
// A fragment holds each element in registers of f32, as before. Reads by other
// ops, which may read an element often, would convert it each time: such tiles
// stay.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tl {
#define GEN_PASS_DEF_NARROWTILESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static Type getElementType(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

/// True if threads do the copy, where it stands.
static bool isPlain(CopyOp copy) {
  return !copy.getAsync() && !copy.getBulk() && !copy.getBarrier() &&
         !copy.getMulticast() && !copy.getAccumulate();
}

/// The type of 16 bits that all of `tile`, one of f32, is extended from; null
/// if there is none, or if it has to be seen as f32.
static Type findNarrowType(AllocOp tile) {
  if (!isInSpace(tile, Space::Shared) || !getElementType(tile).isF32() ||
      tile.getLayoutAttr())
    return {};
  Type narrow;
  for (OpOperand &use : tile->getUses()) {
    auto copy = dyn_cast<CopyOp>(use.getOwner());
    if (!copy || !isPlain(copy))
      return {};
    if (use == copy.getSourceMutable()) {
      if (!isInSpace(copy.getTarget(), Space::Fragment) ||
          !getElementType(copy.getTarget()).isF32())
        return {};
      continue;
    }
    Type source = getElementType(copy.getSource());
    if (use != copy.getTargetMutable() ||
        !isInSpace(copy.getSource(), Space::Global) ||
        !(source.isF16() || source.isBF16()) || (narrow && narrow != source))
      return {};
    narrow = source;
  }
  return narrow;
}

namespace {
struct NarrowTilesPass : tl::impl::NarrowTilesPassBase<NarrowTilesPass> {
  void runOnOperation() override {
    getOperation().walk([](AllocOp tile) {
      if (Type narrow = findNarrowType(tile))
        tile.getResult().setType(
            cast<MemRefType>(tile.getType().clone(narrow)));
    });
  }
};
} // namespace
