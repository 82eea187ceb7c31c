//===- StartCopies.cpp - Let loads of tiles go on behind their ops --------===//
//
// A copy from device to shared memory that nothing runs ahead becomes `async`:
// its pieces go past the registers (`cp.async`), all of them are under way at
// once, and whatever does not need the tile is done meanwhile. By ordinary
// instructions a thread has as many loads under way as it has registers for.
//
// Sound because `async` says no more than that the copy may be under way behind
// its op: tl-insert-sync waits for it before any op of the block that meets the
// tile or writes what is read, and before the block ends, and tl-verify-sync
// proves it. What the engine of `cp.async` cannot do, lowering does by ordinary
// instructions, which are complete earlier. What neither of them sees is order
// that the program makes by other means, and there nothing is marked:
//
//  - mbarriers of the program, functions of the user's, and atomic operations
//    with an order: what comes before them has been done when others see them;
//  - clusters, whose blocks reach each other's memory.
//
// A copy moves up to the one before it in its block, so that both are under way
// together, if nothing that stands between them touches its tile, writes its
// tensor, or is more than work on tiles and numbers. Tiles are then in use for
// longer, and share fewer bytes: only where two blocks on a multiprocessor have
// room for all of them side by side.
//
// Where loops run ahead by groups of `cp.async` a wait would be for those as
// well, and would empty their pipes: such kernels are left alone.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Effects.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tl {
#define GEN_PASS_DEF_STARTCOPIESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// True if `op` orders accesses in a way that tl-insert-sync does not see, or
/// makes groups of copies itself.
static bool isInTheWay(Operation *op) {
  if (auto atomic = dyn_cast<AtomicOp>(op))
    return atomic.getOrder() != MemoryOrder::Relaxed;
  if (auto pipe = dyn_cast<PipeOp>(op))
    return pipe.getType().getEngine() != CopyEngine::Bulk;
  auto copy = dyn_cast<CopyOp>(op);
  return isa<AllocBarriersOp, CallSourceOp, CommitCopiesOp, WaitCopiesOp>(op) ||
         (copy && copy.getAsync() && !copy.getBulk());
}

/// True if threads can copy without registers.
static bool canStart(CopyOp copy) {
  auto from = cast<MemRefType>(copy.getSource().getType());
  auto to = cast<MemRefType>(copy.getTarget().getType());
  return !copy.getAsync() && !copy.getBulk() &&
         isInSpace(copy.getSource(), Space::Global) &&
         isInSpace(copy.getTarget(), Space::Shared) &&
         copy.getTarget().getDefiningOp<AllocOp>() &&
         from.getElementType() == to.getElementType();
}

/// True if `copy` may come before `op`, of the same block.
static bool mayComeBefore(CopyOp copy, Operation *op) {
  if (op->getNumRegions() == 0 && isMemoryEffectFree(op))
    return true;
  if (!isa<CopyOp, FillOp, GemmOp, ReduceOp, ScanOp, ParallelOp, LoadOp,
           AllocOp>(op))
    return false;
  SmallVector<Value> sources = {getBuffer(copy.getSource())};
  for (Value table : copy.getTables())
    sources.push_back(getBuffer(table));
  Value target = getBuffer(copy.getTarget());
  WalkResult result = op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      if (!isa<MemRefType>(operand.getType()))
        continue;
      Value buffer = getBuffer(operand);
      bool isRead = llvm::any_of(
          sources, [&](Value source) { return mayBeSame(buffer, source); });
      if (buffer == target || (isRead && !onlyReads(nested, operand)))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// Moves `copy`, and the arithmetic that it needs, behind `before`, which
/// stands above it in its block, if nobody can tell.
static void moveUp(CopyOp copy, Operation *before) {
  SetVector<Operation *> needed;
  SetVector<Value> used(copy->operand_begin(), copy->operand_end());
  getUsedValuesDefinedAbove(copy->getRegions(), used);
  SmallVector<Value> worklist = used.takeVector();
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != copy->getBlock() ||
        !before->isBeforeInBlock(op) || !needed.insert(op))
      continue;
    if (op->getNumRegions() != 0 || !isPure(op))
      return;
    llvm::append_range(worklist, op->getOperands());
  }
  for (Operation *op = copy->getPrevNode(); op != before;
       op = op->getPrevNode())
    if (!needed.contains(op) && !mayComeBefore(copy, op))
      return;
  SmallVector<Operation *> inOrder = needed.takeVector();
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Operation *last = before;
  for (Operation *op : inOrder) {
    op->moveAfter(last);
    last = op;
  }
  copy->moveAfter(last);
}

/// True if a multiprocessor has room for all tiles in shared memory, side by
/// side, of two blocks.
static bool hasRoom(gpu::GPUFuncOp kernel, const Target &target) {
  int64_t bytes = 0;
  kernel.walk([&](AllocOp alloc) {
    if (isInSpace(alloc, Space::Shared))
      bytes += getSharedBytes(alloc);
  });
  return 2 * bytes <= target.getSharedMemoryLimit();
}

static void startCopies(gpu::GPUFuncOp kernel, const Target &target) {
  if (getClusterSize(kernel) > 1)
    return;
  SmallVector<CopyOp> copies;
  WalkResult result = kernel.walk([&](Operation *op) {
    if (isInTheWay(op))
      return WalkResult::interrupt();
    if (auto copy = dyn_cast<CopyOp>(op); copy && canStart(copy))
      copies.push_back(copy);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return;
  llvm::DenseMap<Block *, CopyOp> lastOf;
  bool moves = hasRoom(kernel, target);
  for (CopyOp copy : copies) {
    CopyOp &last = lastOf[copy->getBlock()];
    if (last && moves)
      moveUp(copy, last);
    last = copy;
    copy.setAsync(true);
  }
}

namespace {
struct StartCopiesPass : tl::impl::StartCopiesPassBase<StartCopiesPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    if (!target->hasAsyncCopy())
      return;
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (failed(requireSharedLayouts(kernel)))
        return signalPassFailure();
      startCopies(kernel, *target);
    }
  }
};
} // namespace
