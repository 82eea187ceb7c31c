//===- PlaceRefills.cpp - Refill slots behind the first products ----------===//
//
// tl-expand-pipeline refills the slot of iteration k - 1 in iteration k: bulk
// copies at its end, so that a product of k - 1 has the time of k to end, and
// groups of `cp.async` at its beginning. Where no product is under way at the
// end of an iteration, nobody reads that slot any more when iteration k begins.
// At its end bulk copies would lose the time of an iteration: of two slots the
// next one would be fetched in no more than the time of the last product. And
// products would wait for groups: all threads start them, and for rows that a
// table names they load its numbers first. So both are placed between:
//
//   wait for slot k                        wait for slot k
//   start products                         start products
//   wait for them, compute          ->     release, acquire, fill, commit k - 1
//   release, acquire, fill, commit k - 1   wait for them, compute
//
// or, where no products are started before others are waited for, bulk copies
// behind the wait for slot k.
//
// Sound because:
//  - what fills may run ahead of the arithmetic (tl-assign-stages): it reads
//    the loop's index and what the loop does not write;
//  - iteration k reads slot k of the pipe's rings alone, which is asked for
//    here, and all products that it starts are waited for in it, or, where
//    groups are waited for, at the beginning of the next one, before slot k is
//    released. So when it begins, slot k - 1 is read no more than it is at its
//    end, once all threads have come there: that is what release and acquire
//    say, wherever they stand, and what tl-insert-sync makes a barrier of;
//  - an iteration commits one group, between two waits, as before.
// tl-verify-sync checks it, as for every other pipe.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_PLACEREFILLSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

namespace {

/// How an iteration of a loop comes by a slot, and gives one back.
struct Steps {
  PipeWaitOp wait;
  PipeReleaseOp release;
  PipeAcquireOp acquire;
  PipeCommitOp commit;

  bool isBulk() {
    return wait.getPipe().getType().getEngine() == CopyEngine::Bulk;
  }
};

} // namespace

/// The only `Step` that stands directly in `block`, or none.
template <typename Step>
static Step findOnly(Block &block) {
  auto steps = block.getOps<Step>();
  if (steps.empty() || !llvm::hasSingleElement(steps))
    return nullptr;
  return *steps.begin();
}

/// The steps of a loop whose iterations wait for one slot of a pipe and refill
/// another one, if they stand as tl-expand-pipeline writes them.
static std::optional<Steps> findSteps(Block &body) {
  Steps steps{findOnly<PipeWaitOp>(body), findOnly<PipeReleaseOp>(body),
              findOnly<PipeAcquireOp>(body), findOnly<PipeCommitOp>(body)};
  if (!steps.wait || !steps.release || !steps.acquire || !steps.commit ||
      steps.acquire.getPhase())
    return std::nullopt;
  Value pipe = steps.wait.getPipe(), slot = steps.release.getSlot();
  bool isOnePipe = steps.release.getPipe() == pipe &&
                   steps.acquire.getPipe() == pipe &&
                   steps.commit.getPipe() == pipe;
  bool isOneSlot = steps.acquire.getSlot() == slot &&
                   steps.commit.getSlot() == slot &&
                   steps.wait.getSlot() != slot;
  bool isInOrder =
      steps.wait->isBeforeInBlock(steps.acquire) &&
      steps.acquire->isBeforeInBlock(steps.commit) &&
      steps.wait->isBeforeInBlock(steps.release) == steps.isBulk() &&
      steps.release->isBeforeInBlock(steps.acquire);
  if (!isOnePipe || !isOneSlot || !isInOrder)
    return std::nullopt;
  return steps;
}

/// True if a product that `body` starts may be under way at its end.
static bool leavesProducts(Block &body) {
  for (Operation &op : llvm::reverse(body)) {
    if (auto wait = dyn_cast<WaitGemmOp>(op); wait && wait.getPending() == 0)
      return false;
    WalkResult result = op.walk([](GemmOp gemm) {
      return gemm.getAsync() ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return true;
  }
  return false;
}

/// True if all products that the iteration before has started are waited for
/// when the slot is released, at the beginning of an iteration.
static bool endsProducts(Steps steps) {
  for (Operation *op = steps.release->getPrevNode(); op;
       op = op->getPrevNode()) {
    if (auto wait = dyn_cast<WaitGemmOp>(op))
      return wait.getPending() == 0;
    if (isa<GemmOp>(op) || op->getNumRegions() != 0)
      return false;
  }
  return false;
}

/// True if nothing but the refill touches another slot of the pipe's rings than
/// that which is waited for.
static bool readsOneSlot(Block &body, Steps steps) {
  auto pipe = steps.wait.getPipe().getDefiningOp<PipeOp>();
  if (!pipe)
    return false;
  auto isRefill = [&](Operation *op) {
    Operation *ancestor = body.findAncestorOpInBlock(*op);
    return ancestor && steps.acquire->isBeforeInBlock(ancestor) &&
           ancestor->isBeforeInBlock(steps.commit);
  };
  return llvm::all_of(pipe.getRings(), [&](Value ring) {
    return llvm::all_of(ring.getUsers(), [&](Operation *user) {
      auto slot = dyn_cast<SlotOp>(user);
      return !body.findAncestorOpInBlock(*user) || isRefill(user) ||
             (slot && slot.getIndex() == steps.wait.getSlot());
    });
  });
}

/// True if `op` may delay copies: it is short, as it stays away from tiles in
/// shared memory.
static bool isShort(Operation *op) {
  if (op->getNumRegions() != 0 && !isa<ParallelOp>(op))
    return isPure(op);
  WalkResult result = op->walk([](Operation *nested) {
    bool isTile = llvm::any_of(nested->getOperands(), [](Value operand) {
      return isa<MemRefType>(operand.getType()) &&
             isInSpace(operand, Space::Shared);
    });
    return isTile && !isPure(nested) ? WalkResult::interrupt()
                                     : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// The last of the products that are started between `from` and `to`, before
/// others are waited for or much else is done; none if there is none.
static GemmOp findFirstProducts(Operation *from, Operation *to) {
  GemmOp last;
  for (Operation *op = from->getNextNode(); op && op != to;
       op = op->getNextNode()) {
    auto gemm = dyn_cast<GemmOp>(op);
    if (gemm && gemm.getAsync())
      last = gemm;
    else if (isa<WaitGemmOp>(op) || !isShort(op))
      break;
  }
  return last;
}

/// What does something from `first` to `last`; the rest is computed for it.
static SmallVector<Operation *> getSteps(Operation *first, Operation *last) {
  SmallVector<Operation *> steps;
  for (Operation *op = first; op != last; op = op->getNextNode())
    if (op->getNumRegions() != 0 || !isPure(op))
      steps.push_back(op);
  steps.push_back(last);
  return steps;
}

static void moveBehind(Operation *place, ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    op->moveAfter(place);
    place = op;
  }
}

/// What the refill is computed from comes with it.
static void moveUp(Steps steps) {
  Operation *place = findFirstProducts(steps.wait, steps.release);
  if (!place)
    place = steps.wait;
  IRRewriter rewriter(place->getContext());
  Operation *next = place->getNextNode();
  SmallVector<Operation *> moved = getSteps(steps.release, steps.commit);
  if (next == steps.release)
    return;
  for (Operation *op : moved)
    if (failed(moveOperationDependencies(rewriter, op, next)))
      return;
  moveBehind(next->getPrevNode(), moved);
}

/// What the refill is computed from stays where it is.
static void moveDown(Steps steps) {
  GemmOp place = findFirstProducts(steps.commit, /*to=*/nullptr);
  SmallVector<Operation *> moved = getSteps(steps.acquire, steps.commit);
  if (place &&
      llvm::all_of(moved, [](Operation *op) { return op->use_empty(); }))
    moveBehind(place, moved);
}

static void placeRefill(scf::ForOp loop) {
  Block &body = *loop.getBody();
  std::optional<Steps> steps = findSteps(body);
  if (!steps || !readsOneSlot(body, *steps))
    return;
  if (leavesProducts(body) && (steps->isBulk() || !endsProducts(*steps)))
    return;
  if (steps->isBulk())
    moveUp(*steps);
  else
    moveDown(*steps);
}

namespace {
struct PlaceRefillsPass : tl::impl::PlaceRefillsPassBase<PlaceRefillsPass> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) { placeRefill(loop); });
  }
};
} // namespace
