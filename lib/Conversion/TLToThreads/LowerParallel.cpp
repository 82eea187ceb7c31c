//===- LowerParallel.cpp - Parallel loops, one thread's share -------------===//
//
// A body is a scalar program, done once for each point of the box. Two
// lowerings give it that meaning: all iterations of a thread at once, in the
// lanes of vectors (EvaluateLanes.cpp), where every op of the body has a form
// for vectors; and one iteration after another (EvaluateElements.cpp), for
// every other program, for bodies that touch a fragment in memory, which would
// otherwise be read and written as a whole each time, and for those that touch
// fragments and are too much to write out for all iterations of a thread. What
// makes the first one sound is listed at its head.
//
// Where a block has more threads than the box has points, the layout lets
// several threads run the same iterations. That is invisible as long as they
// read the same and write the same. A body that reads back memory which it
// writes (`S[i] = S[i] * 2`), as every atomic operation does, would do so
// twice, and one that changes an element and then again (`S[i] = 0; if ...:
// S[i] = 1`) would undo what another copy has done: then one copy of each
// iteration runs. If the others must learn the result for a fragment of which
// they hold a copy too, all run, one of them writes, and barriers keep what is
// read back in step. Nor do warps run that would only move between memories
// what others move: each row of a column is a transaction of its own, and a sum
// of 64 numbers that lie apart took 3.0 us on an H200 with all of them twice,
// where TileLang took 2.3.
//
// For the simulator, which compares what iterations touch, accesses say which
// iterations they are of (`tl.begin_iterations`), and ops beside them what is
// touched in registers (`tl.touch_fragment`). Nothing else changes: what is
// only read bears no mark, so that loads are shared as ever, and the marks keep
// no ops apart that may be joined. Sound because an access without a mark meets
// no write, or its indices name an element that no other iteration can name
// (`ParallelBody::mayMeet`); what is loaded for several iterations at once is
// not written in the body (`ParallelBody::visitAccess`).
//
//===----------------------------------------------------------------------===//

#include "ParallelBody.h"

#include "tl/Dialect/TL/IR/Iterations.h"
#include "tl/Dialect/TL/IR/Locations.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

/// The most work that is written out for iterations side by side: more takes
/// LLVM and the assemblers seconds, and does not stay in registers.
static constexpr int64_t kMostWork = 16384;

/// True if the body, which has a form for lanes, is better done for one
/// iteration after another. What only lanes can do is left to them: keeping
/// copies of iterations in step, and finding elements without a formula.
static FailureOr<bool> prefersElements(const ParallelBody &body,
                                       ThreadLowering &lowering,
                                       bool orderCopies) {
  if (!body.touchesFragments() || (orderCopies && body.readsBack()))
    return false;
  auto isInMemory = [&](Value fragment) {
    return lowering.getFragmentMemory(fragment) != Value();
  };
  if (llvm::none_of(body.getFragments(), isInMemory)) {
    if (body.getWork() * body.getLayout().numValues() <= kMostWork)
      return false;
    FailureOr<Rounds> rounds = chooseRounds(body, lowering);
    if (failed(rounds))
      return failure();
    if (body.getWork() * rounds->getNumValues() <= kMostWork)
      return false;
  }
  return hasFormulas(body, lowering);
}

void tl::beginIterations(const ParallelBody &body, ThreadLowering &lowering) {
  if (lowering.doesTellIterations() && body.mayMeet())
    BeginIterationsOp::create(lowering.builder, lowering.loc,
                              body.getLoop().getExtents());
}

void tl::goToIterations(const ParallelBody &body, ThreadLowering &lowering,
                        ValueRange indices) {
  if (lowering.doesTellIterations() && body.mayMeet())
    AtIterationsOp::create(lowering.builder, lowering.loc, indices);
}

void tl::touchFragment(Operation *access, const ParallelBody &body,
                       ThreadLowering &lowering, Value reg,
                       ArrayRef<int64_t> distances, Value guard) {
  bool writes = isa<StoreOp>(access);
  Value fragment = access->getOperand(writes ? 1 : 0);
  if (!lowering.doesTellIterations() || !body.mayMeet(fragment))
    return;
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard saved(b);
  if (guard)
    b.setInsertionPointToStart(
        scf::IfOp::create(b, lowering.loc, guard).thenBlock());
  StringAttr name = getGivenName(fragment.getLoc());
  auto touch = TouchFragmentOp::create(
      b, lowering.loc, reg, name ? name.getValue() : "a fragment",
      lowering.getFragmentNumber(fragment), writes);
  touch->setAttr(kIterationsAttr, b.getDenseI64ArrayAttr(distances));
}

/// True if what whole warps do is what others do, too, and costs transactions
/// of device memory. A loop in another one stays one piece with what stands
/// beside it, so that its loads can begin early.
static bool shouldLeaveOutCopies(const ParallelBody &body,
                                 ThreadLowering &lowering) {
  ParallelOp loop = body.getLoop();
  if (body.writesFragments() || loop->getParentOfType<LoopLikeOpInterface>() ||
      !lowering.getScope().hasWarpsOfCopies(body.getLayout()))
    return false;
  WalkResult result = loop.getBody().walk([](Operation *op) {
    auto load = dyn_cast<LoadOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    return (load && isInSpace(load.getSource(), Space::Global)) ||
                   (store && isInSpace(store.getTarget(), Space::Global))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

LogicalResult tl::lowerParallel(ParallelOp loop, ThreadLowering &lowering) {
  if (!loop.getLayout())
    return loop.emitOpError("has no layout: run `tl-infer-layouts` first");
  FragmentLayout layout = toLayout(*loop.getLayout());
  ParallelBody body(loop, layout);
  OpBuilder::InsertionGuard saved(lowering.builder);

  bool orderCopies =
      body.changesTwice() && lowering.getScope().hasCopies(layout);
  if ((orderCopies && !body.writesFragments()) ||
      shouldLeaveOutCopies(body, lowering)) {
    Value first = lowering.getScope().isFirstCopy(layout);
    auto once = scf::IfOp::create(lowering.builder, lowering.loc, first);
    lowering.builder.setInsertionPointToStart(once.thenBlock());
    orderCopies = false;
  }
  Operation *scalarOp = body.getScalarOp();
  if (!scalarOp) {
    FailureOr<bool> elements = prefersElements(body, lowering, orderCopies);
    if (failed(elements))
      return failure();
    return *elements ? lowerByElements(body, lowering, orderCopies)
                     : lowerByLanes(body, lowering, orderCopies);
  }
  if (orderCopies && body.readsBack())
    return scalarOp->emitOpError(
        "stands in a loop that reads memory which it writes, and writes a "
        "fragment of which several threads hold copies; do the two in loops of "
        "their own");
  return lowerByElements(body, lowering, orderCopies);
}
