//===- Shadows.cpp - Which on-chip elements were written ------------------===//
//
// Most tiles are filled or copied to as wholes before anything reads them, and
// need no shadow: an op that writes all of a buffer stands before every read of
// it, in the sense of dominance, so that no way to the read goes around the
// write. A copy from another on-chip buffer writes what that one holds, and
// therefore counts only if that one has no shadow either.
//
// Sound because a buffer lives as long as the kernel, and nothing takes away
// what was once written to it.
//
//===----------------------------------------------------------------------===//

#include "Shadows.h"

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tl;

static bool isOnChip(Value buffer) { return !isInSpace(buffer, Space::Global); }

SmallVector<Value, 3> tl::getReadBuffers(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return {load.getSource()};
  if (auto atomic = dyn_cast<AtomicOp>(op); atomic && !atomic.isStore())
    return {atomic.getTarget()};
  if (auto copy = dyn_cast<CopyOp>(op))
    return {copy.getSource()};
  if (auto gemm = dyn_cast<GemmOp>(op))
    return {gemm.getA(), gemm.getB(), gemm.getAcc()};
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    SmallVector<Value, 3> read = {reduce.getSource()};
    if (reduce.getAccumulate())
      read.push_back(reduce.getTarget());
    return read;
  }
  if (auto scan = dyn_cast<ScanOp>(op))
    return {scan.getSource()};
  if (auto shuffle = dyn_cast<ShuffleOp>(op))
    return {shuffle.getSource(), shuffle.getLanes()};
  if (auto vote = dyn_cast<VoteOp>(op))
    return {vote.getSource()};
  return {};
}

//===----------------------------------------------------------------------===//
// What is written before it is read
//===----------------------------------------------------------------------===//

static bool areZero(ValueRange offsets) {
  return llvm::all_of(offsets,
                      [](Value offset) { return isZeroInteger(offset); });
}

/// True if `store` writes each element of `buffer` in the iterations of the
/// loop that it stands in directly.
static bool coversWithLoop(StoreOp store, ArrayRef<int64_t> shape) {
  auto loop = dyn_cast<ParallelOp>(store->getParentOp());
  return loop && loop.getExtents() == shape &&
         llvm::equal(store.getIndices(), loop.getBody().getArguments());
}

/// The op after which all of `buffer` is written because of `op`, or null;
/// `from` is set to the on-chip buffer whose contents it copies, if any.
static Operation *getWholeWrite(Operation *op, Value buffer, Value &from) {
  ArrayRef<int64_t> shape = cast<MemRefType>(buffer.getType()).getShape();
  if (auto fill = dyn_cast<FillOp>(op))
    return fill.getTarget() == buffer ? op : nullptr;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getTarget() == buffer ? op : nullptr;
  if (auto scan = dyn_cast<ScanOp>(op))
    return scan.getTarget() == buffer ? op : nullptr;
  if (auto shuffle = dyn_cast<ShuffleOp>(op))
    return shuffle.getTarget() == buffer ? op : nullptr;
  if (auto vote = dyn_cast<VoteOp>(op))
    return vote.getTarget() == buffer ? op : nullptr;
  if (auto copy = dyn_cast<CopyOp>(op)) {
    if (copy.getTarget() != buffer || !areZero(copy.getTargetOffsets()) ||
        llvm::product_of(copy.getTile()) != llvm::product_of(shape))
      return nullptr;
    if (isOnChip(copy.getSource()))
      from = getBuffer(copy.getSource());
    return op;
  }
  auto store = dyn_cast<StoreOp>(op);
  if (!store || store.getTarget() != buffer)
    return nullptr;
  if (llvm::product_of(shape) == 1 && areZero(store.getIndices()))
    return op;
  return coversWithLoop(store, shape) ? store->getParentOp() : nullptr;
}

namespace {
struct WholeWrite {
  Operation *op;
  Value from;
};
struct BufferUses {
  SmallVector<std::pair<Operation *, Value>> reads;
  SmallVector<WholeWrite> writes;
};
} // namespace

static BufferUses getUses(Value buffer) {
  BufferUses uses;
  SmallVector<Value> views = {buffer};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (Operation *user : view.getUsers()) {
      if (auto slot = dyn_cast<SlotOp>(user)) {
        views.push_back(slot.getView());
        continue;
      }
      if (llvm::is_contained(getReadBuffers(user), view))
        uses.reads.push_back({user, view});
      Value from;
      if (view == buffer)
        if (Operation *write = getWholeWrite(user, buffer, from))
          uses.writes.push_back({write, from});
    }
  }
  return uses;
}

Shadows::Shadows(KernelOp kernel) : kernel(kernel) {
  llvm::MapVector<Value, BufferUses> buffers;
  // What other blocks of the cluster have written is not known here.
  kernel.walk([&](AllocOp alloc) {
    if (!isReachedByOthers(alloc.getBuffer()))
      buffers[alloc.getBuffer()] = getUses(alloc.getBuffer());
  });
  DominanceInfo dominance(kernel);
  auto isWrittenBefore = [&](Operation *read, const BufferUses &uses) {
    return llvm::any_of(uses.writes, [&](const WholeWrite &write) {
      return dominance.properlyDominates(write.op, read) &&
             !shadows.contains(write.from);
    });
  };
  // A buffer without a shadow may owe that to another one.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[buffer, uses] : buffers)
      if (!shadows.contains(buffer) &&
          !llvm::all_of(uses.reads, [&](const auto &read) {
            return isWrittenBefore(read.first, uses);
          })) {
        shadows[buffer] = Value();
        changed = true;
      }
  }
  for (auto &[buffer, uses] : buffers)
    for (auto &[read, view] : uses.reads)
      if (isWrittenBefore(read, uses))
        proven.insert({read, view});
}

bool Shadows::isAsked(Operation *op, Value view) const {
  return shadows.lookup(getBuffer(view)) && !proven.contains({op, view});
}

//===----------------------------------------------------------------------===//
// Making them
//===----------------------------------------------------------------------===//

Value Shadows::createFor(AllocOp alloc) {
  Location loc = alloc.getLoc();
  OpBuilder builder(alloc);
  builder.setInsertionPointAfter(alloc);
  // Where the allocation stands is no moment at which contents get lost, but
  // for what belongs to an iteration.
  if (!alloc->getParentOfType<ParallelOp>())
    builder.setInsertionPointToStart(&kernel.getBody().front());
  auto type = cast<MemRefType>(alloc.getType()).clone(builder.getI8Type());
  Value shadow = AllocOp::create(builder, loc, type, /*layout=*/Attribute(),
                                 /*offset=*/IntegerAttr());
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 8);
  FillOp::create(builder, loc, shadow, zero);
  return shadow;
}

void Shadows::create(int64_t sharedLimit) {
  int64_t left = sharedLimit;
  kernel.walk([&](AllocOp alloc) {
    if (isInSpace(alloc.getBuffer(), Space::Shared))
      left -= getSharedBytes(alloc);
  });
  SmallVector<AllocOp> wanted;
  for (auto &[buffer, shadow] : shadows)
    wanted.push_back(buffer.getDefiningOp<AllocOp>());
  auto count = [](AllocOp alloc) {
    return cast<MemRefType>(alloc.getType()).getNumElements();
  };
  llvm::stable_sort(wanted,
                    [&](AllocOp a, AllocOp b) { return count(a) < count(b); });

  // Each begins at a multiple of what any shared buffer is aligned to.
  constexpr int64_t alignment = 1024;
  SmallVector<std::string> without;
  for (AllocOp alloc : wanted) {
    if (isInSpace(alloc.getBuffer(), Space::Shared)) {
      int64_t bytes = llvm::alignTo(count(alloc), alignment);
      if (bytes > left) {
        StringAttr name = getGivenName(alloc.getLoc());
        without.push_back(name ? ("`" + name.getValue() + "`").str()
                               : "a shared tile");
        continue;
      }
      left -= bytes;
    }
    shadows[alloc.getBuffer()] = createFor(alloc);
  }
  if (!without.empty())
    kernel.emitWarning()
        << "reads of " << llvm::join(without, ", ")
        << " are not checked for what nothing has written: shared memory has "
           "no room for the notes about it; use smaller tiles, or "
           "`target=\"cpu\"` [unchecked-reads]";
}

Value Shadows::get(OpBuilder &builder, Value view) const {
  if (auto slot = view.getDefiningOp<SlotOp>()) {
    Value source = get(builder, slot.getSource());
    if (!source)
      return {};
    auto type = cast<MemRefType>(view.getType()).clone(builder.getI8Type());
    return SlotOp::create(builder, slot.getLoc(), type, source,
                          slot.getIndex());
  }
  return shadows.lookup(view);
}
