//===- MarkBulkStores.cpp - Hand stores to the bulk copy engine -----------===//
//
// Comes after layouts, because the engine writes whole panels of a tile.
//
// A marked store must begin inside of its tensor, or behind it, in every
// launch: the analysis shows it of the place's arithmetic, wrapping included
// (`getGreatest`), and lowering takes the mark at its word.
//
// A parallel loop becomes a store that accumulates if it adds a shared tile to
// a tensor (`getTileSum`). Each element is then still added once and in one
// step, among all threads of the device; in which order is free.
//
// In a loop the engine may go on while the next iteration begins: whoever
// writes the tile next waits (`tl-insert-sync`), and so does the end of the
// loops, because a block may not end before its tile has been read. That wait
// needs a barrier. Where threads write a factor of a product before they write
// the tile again, they meet in front of the product anyway, and a wait stands
// there.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/IR/BulkSums.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#define DEBUG_TYPE "tl-mark-bulk-stores"

namespace tl {
#define GEN_PASS_DEF_MARKBULKSTORESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static void sayWhyNot(Operation *op, const Twine &what, StringRef reason) {
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("bulk-store").category(DEBUG_TYPE))
      << (what + " the tile instead of the bulk copy engine: " + reason).str();
}

/// Lets the engine go on behind a store in a loop. Returns the outermost op
/// behind which somebody has to wait, or null.
static Operation *letRunOn(CopyOp copy) {
  if (!copy->getParentOfType<LoopLikeOpInterface>())
    return nullptr;
  copy.setAsync(true);
  Operation *outermost = copy;
  while (!isa<gpu::GPUFuncOp>(outermost->getParentOp()))
    outermost = outermost->getParentOp();
  return outermost;
}

static bool markStore(CopyOp copy) {
  if (!isInSpace(copy.getSource(), Space::Shared) ||
      !isInSpace(copy.getTarget(), Space::Global))
    return false;
  std::string reason;
  if (copy.getSource().getDefiningOp<AllocOp>() &&
      getBulkCopyShape(copy, reason)) {
    copy.setBulk(true);
    return true;
  }
  sayWhyNot(copy, "threads store", reason);
  return false;
}

/// True if threads write `tile` in `block` before `op`.
static bool isWrittenByThreads(Value tile, Block *block, Operation *op) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    Operation *top = block->findAncestorOpInBlock(*user);
    auto copy = dyn_cast<CopyOp>(user);
    bool writes =
        isa<StoreOp>(user) || (copy && copy.getTarget() == tile &&
                               isInSpace(copy.getSource(), Space::Fragment));
    return writes && top && top->isBeforeInBlock(op);
  });
}

/// Waits for `store`, of the iteration before, in front of a product where
/// threads meet anyway before they write its tile, if there is one.
static void waitWhereThreadsMeet(CopyOp store) {
  Block *block = store->getBlock();
  Operation *first = store;
  for (Operation *user : store.getSource().getUsers())
    if (Operation *top = block->findAncestorOpInBlock(*user);
        top && top->isBeforeInBlock(first))
      first = top;
  for (auto gemm : block->getOps<GemmOp>()) {
    if (!gemm->isBeforeInBlock(first))
      return;
    if (!llvm::any_of(ValueRange{gemm.getA(), gemm.getB()}, [&](Value factor) {
          return isInSpace(factor, Space::Shared) &&
                 isWrittenByThreads(factor, block, gemm);
        }))
      continue;
    OpBuilder builder(gemm);
    WaitStoresOp::create(builder, store.getLoc(), /*pending=*/0, /*read=*/true);
    return;
  }
}

static void markStores(gpu::GPUFuncOp kernel,
                       SetVector<Operation *> &toWaitBehind) {
  SmallVector<CopyOp> stores;
  kernel.walk([&](CopyOp copy) {
    if (markStore(copy))
      stores.push_back(copy);
  });
  for (CopyOp store : stores)
    if (Operation *outermost = letRunOn(store)) {
      toWaitBehind.insert(outermost);
      waitWhereThreadsMeet(store);
    }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// An index of a loop's body: a sum of values from outside and of at most one
/// of the loop's own indices.
struct PlaceIndex {
  SmallVector<Value, 2> outside;
  BlockArgument own;
};
} // namespace

static std::optional<PlaceIndex> getPlaceIndex(Value index, ParallelOp loop) {
  PlaceIndex place;
  SmallVector<Value> worklist = {index};
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!loop->isAncestor(value.getParentRegion()->getParentOp())) {
      place.outside.push_back(value);
    } else if (auto own = dyn_cast<BlockArgument>(value)) {
      if (place.own)
        return std::nullopt;
      place.own = own;
    } else if (auto add = value.getDefiningOp<arith::AddIOp>()) {
      worklist.append({add.getRhs(), add.getLhs()});
    } else {
      return std::nullopt;
    }
  }
  return place;
}

/// The sum as a store that accumulates, before the loop; null if the indices of
/// the tensor are not those of a tile.
static CopyOp createStore(ParallelOp loop, TileSum sum) {
  SmallVector<PlaceIndex> places;
  SmallVector<int64_t> tile;
  unsigned next = 0;
  for (Value index : sum.atomic.getIndices()) {
    std::optional<PlaceIndex> place = getPlaceIndex(index, loop);
    if (!place || (place->own && place->own.getArgNumber() != next))
      return nullptr;
    tile.push_back(place->own ? loop.getExtents()[next++] : 1);
    places.push_back(*place);
  }
  if (next != loop.getExtents().size() || !places.back().own)
    return nullptr;

  OpBuilder builder(loop);
  Location loc = sum.atomic.getLoc();
  SmallVector<Value> offsets;
  for (const PlaceIndex &place : places) {
    Value offset;
    for (Value part : place.outside)
      offset =
          offset ? arith::AddIOp::create(builder, loc, offset, part).getResult()
                 : part;
    offsets.push_back(
        offset ? offset
               : arith::ConstantIndexOp::create(builder, loc, 0).getResult());
  }
  return CopyOp::create(builder, loc, sum.load.getSource(), ValueRange(),
                        sum.atomic.getTarget(), offsets,
                        builder.getDenseI64ArrayAttr(tile), /*async=*/false,
                        /*bulk=*/false, /*barrier=*/Value(),
                        /*barrierIndex=*/Value());
}

static void markSums(gpu::GPUFuncOp kernel,
                     SetVector<Operation *> &toWaitBehind) {
  SmallVector<std::pair<ParallelOp, TileSum>> sums;
  kernel.walk([&](ParallelOp loop) {
    std::optional<TileSum> sum = getTileSum(loop);
    if (sum && isInSpace(sum->load.getSource(), Space::Shared))
      sums.emplace_back(loop, *sum);
  });
  for (auto &[loop, sum] : sums) {
    CopyOp copy = createStore(loop, sum);
    std::string reason = "its elements are not a tile of the tensor";
    if (!copy || !getBulkCopyShape(copy, reason)) {
      sayWhyNot(loop, "threads add", reason);
      if (copy)
        copy.erase();
      continue;
    }
    copy.setBulk(true);
    copy.setAccumulate(true);
    if (Operation *outermost = letRunOn(copy))
      toWaitBehind.insert(outermost);
    loop.erase();
  }
}

static void waitBehind(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    WaitStoresOp::create(builder, op->getLoc(), /*pending=*/0, /*read=*/true);
  }
}

namespace {
struct MarkBulkStoresPass
    : tl::impl::MarkBulkStoresPassBase<MarkBulkStoresPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    if (!target->hasBulkCopy())
      return;
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      SetVector<Operation *> toWaitBehind;
      markStores(kernel, toWaitBehind);
      markSums(kernel, toWaitBehind);
      waitBehind(toWaitBehind.getArrayRef());
    }
  }
};
} // namespace
