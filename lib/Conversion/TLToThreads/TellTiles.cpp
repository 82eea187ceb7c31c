//===- TellTiles.cpp - Say which tiles ops reach --------------------------===//
//
// Ops are marked when they are inserted, whatever lowering makes them: those
// that take an address of shared memory, or reach memory by a descriptor.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/TellTiles.h"

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/SharedLives.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/SharedNames.h"
#include "tl/Dialect/TL/IR/ThreadOps.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

/// The entry of `kTilesAttr` for a buffer.
static DictionaryAttr describe(Value buffer, const layout::SharedLayout &layout,
                               int64_t elementBytes, IntegerAttr offset) {
  Operation *alloc = buffer.getDefiningOp();
  Builder b(buffer.getContext());
  NamedAttrList entry;
  if (StringAttr name = getGivenName(alloc->getLoc()))
    entry.set("name", name);
  if (alloc->hasAttr(kRingAttr))
    entry.set("ring", b.getUnitAttr());
  entry.set("offset", offset);
  entry.set("shape", b.getDenseI64ArrayAttr(
                         cast<MemRefType>(buffer.getType()).getShape()));
  entry.set("element_bytes", b.getI64IntegerAttr(elementBytes));
  entry.set("swizzle", b.getI64IntegerAttr(layout.getSwizzle()));
  entry.set("chunk", b.getI64IntegerAttr(layout.getChunk()));
  entry.set("slot_dims", b.getI64IntegerAttr(layout.getSlotDims()));
  return entry.getDictionary(b.getContext());
}

static DictionaryAttr describe(AllocOp alloc) {
  return describe(alloc.getBuffer(), getSharedLayout(alloc),
                  getElementBytes(alloc.getType()), alloc.getOffsetAttr());
}

static DictionaryAttr describe(AllocBarriersOp alloc) {
  int64_t count = alloc.getType().getDimSize(0);
  layout::SharedLayout layout({count}, kBarrierBytes, /*swizzle=*/0,
                              /*chunk=*/count);
  return describe(alloc->getResult(0), layout, kBarrierBytes,
                  alloc.getOffsetAttr());
}

TileTeller::TileTeller(gpu::GPUFuncOp kernel) {
  SmallVector<Attribute> tiles;
  kernel.walk([&](Operation *op) {
    auto alloc = dyn_cast<AllocOp>(op);
    if (alloc && isInSpace(alloc.getBuffer(), Space::Shared))
      tiles.push_back(describe(alloc));
    else if (auto barriers = dyn_cast<AllocBarriersOp>(op))
      tiles.push_back(describe(barriers));
    else
      return;
    numbers.try_emplace(op->getResult(0), numbers.size());
  });
  if (!tiles.empty())
    kernel->setAttr(kTilesAttr, ArrayAttr::get(kernel.getContext(), tiles));
}

void TileTeller::enter(Operation *op) {
  SmallVector<int64_t> found;
  auto add = [&](Value value) {
    if (!isa<BaseMemRefType>(value.getType()))
      return;
    auto number = numbers.find(getBuffer(value));
    if (number != numbers.end() && !llvm::is_contained(found, number->second))
      found.push_back(number->second);
  };
  op->walk([&](Operation *inner) {
    llvm::for_each(inner->getOperands(), add);
    llvm::for_each(inner->getResults(), add);
  });
  uses = found.empty() ? DenseI64ArrayAttr()
                       : DenseI64ArrayAttr::get(op->getContext(), found);
}

/// Whether `type` is an address of shared memory of the block or the cluster.
static bool isSharedPointer(Type type) {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  return pointer && llvm::is_contained({3u, 7u}, pointer.getAddressSpace());
}

void TileTeller::notifyOperationInserted(Operation *op,
                                         OpBuilder::InsertPoint) {
  if (!uses || op->getNumRegions() != 0)
    return;
  const ThreadOp *line = getThreadOp(op->getName().getStringRef());
  bool makesAddress = llvm::any_of(op->getResultTypes(), isSharedPointer);
  bool takesAddress = llvm::any_of(op->getOperandTypes(), isSharedPointer);
  bool isGlobal = llvm::any_of(op->getOperandTypes(), [](Type type) {
    return isa<LLVM::LLVMPointerType>(type);
  });
  if (line && !makesAddress && (takesAddress || (line->proxy && !isGlobal)))
    op->setAttr(kUsesAttr, uses);
}
