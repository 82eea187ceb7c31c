//===- GuardWaits.cpp - Wait for the products of a loop where it ran ------===//
//
// A loop of products may leave them under way, and the wait behind it is for
// these. If the loop may not run at all, control comes to the wait with the
// accumulators as they were too, which are written there, and `ptxas` sees
// them written between a product and its wait: it then waits for each single
// product of the kernel (warning C7515). So the wait goes where the loop ran:
//
//     for … { wgmma }; wait   =>   if (the loop runs) { for … { wgmma }; wait }
//
// Sound because there is nothing to wait for where the loop did not run: what
// the wait returns are results of the loop only, and none of these were under
// way before it. The loop stands in no branch, because only a wait in a branch
// may complete products that it does not name (tl-overlap-gemms).
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tl/Conversion/TLToNVVM/MatrixInstructions.h"
#include "tl/Dialect/TL/IR/TL.h"

using namespace mlir;
using namespace tl;

static bool isKnownToRun(scf::ForOp loop) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  return trips && !trips->isZero();
}

/// True if result `number` of `loop` is under way only if the loop ran.
static bool isStartedInside(scf::ForOp loop, unsigned number) {
  Operation *init = loop.getInits()[number].getDefiningOp();
  return init && init->getNumRegions() == 0 && !isa<WgmmaOp>(init) &&
         loop.getYieldedValues()[number].getDefiningOp<WgmmaOp>();
}

/// The wait that comes right behind `loop`, for products of the loop and no
/// others; null if there is none.
static WgmmaWaitOp findWait(scf::ForOp loop) {
  Operation *next = loop->getNextNode();
  while (next && isMemoryEffectFree(next))
    next = next->getNextNode();
  auto wait = dyn_cast_or_null<WgmmaWaitOp>(next);
  if (!wait || wait.getPending() != 0 || wait.getValues().empty())
    return {};
  bool isForLoop = llvm::all_of(wait.getValues(), [&](Value value) {
    auto result = dyn_cast<OpResult>(value);
    return result && result.getOwner() == loop && result.hasOneUse() &&
           isStartedInside(loop, result.getResultNumber());
  });
  return isForLoop ? wait : WgmmaWaitOp();
}

static void guard(scf::ForOp loop, WgmmaWaitOp wait) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto predicate = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                         : arith::CmpIPredicate::slt;
  Value runs = arith::CmpIOp::create(
      builder, loc, predicate, loop.getLowerBound(), loop.getUpperBound());

  // What is used behind the loop, as it is if the loop runs and if not.
  SmallVector<OpResult> used;
  SmallVector<Value> ends, inits;
  for (OpResult result : loop->getResults()) {
    if (result.use_empty())
      continue;
    used.push_back(result);
    ends.push_back(result);
    inits.push_back(loop.getInits()[result.getResultNumber()]);
  }
  auto branch = scf::IfOp::create(builder, loc, ValueRange(ends).getTypes(),
                                  runs, /*withElseRegion=*/true);
  for (auto [result, end, choice] :
       llvm::zip_equal(used, ends, branch.getResults())) {
    if (*result.user_begin() == wait) {
      // Its only use (`findWait`).
      end = wait.getResult(result.use_begin()->getOperandNumber());
      end.replaceAllUsesWith(choice);
    } else {
      result.replaceAllUsesWith(choice);
    }
  }

  OpBuilder ran = branch.getThenBodyBuilder();
  auto yield = scf::YieldOp::create(ran, loc, ends);
  loop->moveBefore(yield);
  wait->moveBefore(yield);
  OpBuilder otherwise = branch.getElseBodyBuilder();
  scf::YieldOp::create(otherwise, loc, inits);
}

void tl::guardWaits(Operation *root) {
  SmallVector<scf::ForOp> loops;
  root->walk([&](scf::ForOp loop) {
    if (!isKnownToRun(loop) && !loop->getParentOfType<scf::IfOp>() &&
        !loop->getParentOfType<scf::WhileOp>())
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops)
    if (WgmmaWaitOp wait = findWait(loop))
      guard(loop, wait);
}
