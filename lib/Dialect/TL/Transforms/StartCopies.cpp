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
// Numbers of a block, such as factors of its rows, are often loaded in front of
// its first tiles, and stored to shared memory: threads wait for them, and ask
// for the tiles after that. So the first copy of a block of ops, and what fills
// the first slots of a loop by the bulk copy engine, move up in front of what
// waits for device memory, under the same conditions, if the kernel's shared
// memory does not grow for it. Nobody reads the slots before the loop does, and
// the barriers of a pipe are ready where the kernel begins.
//
// Where loops run ahead by groups of `cp.async` a wait would be for those as
// well, and would empty their pipes: such kernels are left alone.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Effects.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/Analysis/SharedLives.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/Scans.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
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

//===----------------------------------------------------------------------===//
// In front of loads that are waited for
//===----------------------------------------------------------------------===//

namespace {
/// How many bytes of shared memory hold something while each op is executed.
class HeldBytes {
public:
  explicit HeldBytes(gpu::GPUFuncOp kernel);

  /// True if `bytes` more could be held at `op` without more being held at once
  /// than is anyway.
  bool hasRoom(Operation *op, int64_t bytes) const {
    return held.lookup(op) + bytes <= most;
  }
  void add(Operation *op, int64_t bytes) { held[op] += bytes; }

private:
  llvm::DenseMap<Operation *, int64_t> held;
  int64_t most = 0;
};
} // namespace

HeldBytes::HeldBytes(gpu::GPUFuncOp kernel) {
  SharedLives lives = findSharedLives(kernel);
  for (const SharedLife &life : lives.buffers)
    if (auto alloc = dyn_cast<AllocOp>(life.alloc))
      for (unsigned step : life.exact.set_bits())
        held[lives.steps[step]] += getSharedBytes(alloc);
  for (auto [op, bytes] : held)
    most = std::max(most, bytes);
}

/// True if threads wait in `op` for what they load of device memory.
static bool waitsForDevice(Operation *op) {
  WalkResult result = op->walk([](Operation *nested) {
    auto load = dyn_cast<LoadOp>(nested);
    auto copy = dyn_cast<CopyOp>(nested);
    bool waits = (load && isInSpace(load.getSource(), Space::Global)) ||
                 (copy && !copy.getAsync() &&
                  isInSpace(copy.getSource(), Space::Global));
    return waits ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Moves `ops`, of which `copies` are all that touches memory, in front of the
/// first of the ops above them that wait for device memory and that they may
/// come before.
static void moveAboveWaits(ArrayRef<Operation *> ops, ArrayRef<CopyOp> copies,
                           HeldBytes &held) {
  int64_t bytes = 0;
  for (CopyOp copy : copies)
    bytes +=
        getSharedBytes(getBuffer(copy.getTarget()).getDefiningOp<AllocOp>());
  Operation *place = nullptr;
  SmallVector<Operation *> crossed;
  for (Operation *op = ops.front()->getPrevNode(); op; op = op->getPrevNode()) {
    if (!held.hasRoom(op, bytes) || !llvm::all_of(copies, [&](CopyOp copy) {
          return mayComeBefore(copy, op);
        }))
      break;
    crossed.push_back(op);
    if (waitsForDevice(op))
      place = op;
  }
  if (!place)
    return;
  IRRewriter rewriter(place->getContext());
  for (Operation *op : ops)
    if (failed(moveOperationDependencies(rewriter, op, place)))
      return;
  for (Operation *op : ops)
    op->moveBefore(place);
  for (Operation *op : crossed) {
    held.add(op, bytes);
    if (op == place)
      break;
  }
}

/// What fills a slot in front of a loop by the bulk copy engine, without what
/// it is computed from; none if anything else stands between.
static SmallVector<Operation *> getFill(PipeAcquireOp acquire) {
  SmallVector<Operation *> fill;
  for (Operation *op = acquire; op; op = op->getNextNode()) {
    auto commit = dyn_cast<PipeCommitOp>(op);
    if (op->getNumRegions() == 0 && isPure(op))
      continue;
    fill.push_back(op);
    if (commit && commit.getPipe() == acquire.getPipe() &&
        commit.getSlot() == acquire.getSlot())
      return fill;
    if (op == acquire)
      continue;
    WalkResult result = op->walk([](Operation *nested) {
      auto copy = dyn_cast<CopyOp>(nested);
      bool fills = copy && copy.getAsync() && copy.getBulk() &&
                   isInSpace(copy.getSource(), Space::Global) &&
                   isInSpace(copy.getTarget(), Space::Shared);
      return fills || isa<scf::IfOp, scf::YieldOp>(nested) || isPure(nested)
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return {};
  }
  return {};
}

/// Moves what fills the first slots of loops, in the kernel's own block of ops.
static void moveFillsUp(gpu::GPUFuncOp kernel, HeldBytes &held) {
  for (auto acquire :
       llvm::to_vector(kernel.getBody().front().getOps<PipeAcquireOp>())) {
    SmallVector<Operation *> fill = getFill(acquire);
    SmallVector<CopyOp> copies;
    for (Operation *op : fill)
      op->walk([&](CopyOp copy) { copies.push_back(copy); });
    bool areTiles = llvm::all_of(copies, [](CopyOp copy) {
      return getBuffer(copy.getTarget()).getDefiningOp<AllocOp>() != nullptr;
    });
    if (!copies.empty() && areTiles && !acquire.getPhase())
      moveAboveWaits(fill, copies, held);
  }
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
  HeldBytes held(kernel);
  for (CopyOp copy : copies) {
    CopyOp &last = lastOf[copy->getBlock()];
    copy.setAsync(true);
    if (last && moves)
      moveUp(copy, last);
    else if (moves)
      moveAboveWaits(copy.getOperation(), copy, held);
    last = copy;
  }
  if (moves)
    moveFillsUp(kernel, held);
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
