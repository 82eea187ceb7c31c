//===- Prints.cpp - What a kernel tells its caller ------------------------===//
//
// Verifiers and effects of the ops of Prints.td, whose constraints the labels
// (C1) … name.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Prints.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Prints.cpp.inc"

/// What is more than that nobody reads, and every element is code.
static constexpr int64_t kMostElements = 65536;

LogicalResult PrintOp::verify() {
  auto buffer =
      getValue() ? dyn_cast<MemRefType>(getValue().getType()) : MemRefType();
  if (!buffer) {
    if (getTile() || !getOffsets().empty()) // C1
      return emitOpError("expects a tile of a buffer only");
    return success();
  }
  auto rank = static_cast<size_t>(buffer.getRank());
  ArrayRef<int64_t> tile = getTile().value_or(ArrayRef<int64_t>());
  if (!getTile() || tile.size() != rank ||
      llvm::any_of(tile, [](int64_t extent) { return extent < 1; }))
    return emitOpError("expects a positive extent of the tile for each of ")
           << rank << " dimensions";                        // C2
  if (!getOffsets().empty() && getOffsets().size() != rank) // C2
    return emitOpError("expects an offset for each of ")
           << rank << " dimensions, or none";
  int64_t count = 1;
  for (int64_t extent : tile)
    if (llvm::MulOverflow(count, extent, count) || count > kMostElements) // C3
      return emitOpError("prints a tile of more than ")
             << kMostElements << " elements; print a region of it";
  return success();
}

bool PrintOp::isOfBlock() {
  return getTile() && !isInSpace(getValue(), Space::Private);
}

/// What is printed has to be there, and stays where it is.
void PrintOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (getTile())
    effects.emplace_back(MemoryEffects::Read::get(), &getValueMutable()[0]);
  effects.emplace_back(MemoryEffects::Write::get());
}
