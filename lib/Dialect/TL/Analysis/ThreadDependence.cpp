//===- ThreadDependence.cpp - What differs between threads ----------------===//
//
// A fixpoint over the statements of a kernel: values depend on the thread if
// they are computed from one that does, a variable if such a value is assigned
// to it, or if it is assigned where only some threads go. Bodies of
// `tl.parallel` are left out: what an iteration assigns is its own, and is gone
// after the loop (P3).
//
// Elements of shared and device memory are taken to be the same for all threads
// that read them at the same index: a statement sees all that came before it,
// whoever wrote it.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ThreadDependence.h"

#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Prints.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

bool tl::isScalarTileOp(Operation *op) {
  if (auto fill = dyn_cast<FillOp>(op))
    return isInSpace(fill.getTarget(), Space::Private);
  auto copy = dyn_cast<CopyOp>(op);
  if (!copy)
    return false;
  Value sides[] = {copy.getSource(), copy.getTarget()};
  auto isIn = [&](Space space) {
    return llvm::any_of(sides,
                        [&](Value side) { return isInSpace(side, space); });
  };
  return isIn(Space::Private) && !isIn(Space::Fragment);
}

bool tl::isScalarOp(Operation *op) {
  if (isa<TileOpInterface>(op))
    return isScalarTileOp(op);
  if (auto print = dyn_cast<PrintOp>(op))
    return !print.isOfBlock();
  return !isa<AllocBarriersOp, ClusterArriveOp, ClusterBarrierOp, ClusterWaitOp,
              CommitCopiesOp, FenceAsyncOp, gpu::BarrierOp, PipelinedOp,
              TensorAtOp, WaitBarrierOp, WaitCopiesOp, WaitGemmOp,
              WaitStoresOp>(op);
}

SmallVector<Value> tl::getDeciders(Operation *op) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return {branch.getCondition()};
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return {loop.getConditionOp().getCondition()};
  if (auto loop = dyn_cast<PipelinedOp>(op))
    return {loop.getLower(), loop.getUpper()};
  return {};
}

/// True for a statement that each thread executes, whatever simplification made
/// of its operands.
static bool isOfEachThread(Operation *op) {
  auto atomic = dyn_cast<AtomicOp>(op);
  return atomic && atomic.getEachThread();
}

ThreadDependence::ThreadDependence(Region &kernel) {
  do {
    changed = false;
    for (Block &block : kernel)
      visit(block, /*isDivergent=*/false);
  } while (changed);
}

bool ThreadDependence::isDivergent(Operation *op) const {
  return llvm::any_of(getDeciders(op),
                      [&](Value decider) { return depends(decider); });
}

bool ThreadDependence::isPerThread(Operation *op) const {
  auto differs = [&](Value value) { return depends(value); };
  Value assigned = getAssignedVariable(op);
  return isDivergent(op) || isOfEachThread(op) ||
         llvm::any_of(op->getOperands(), differs) ||
         llvm::any_of(op->getResults(), differs) ||
         (assigned && differs(assigned));
}

/// Marks the results of an op without regions, and what it assigns.
void ThreadDependence::visitResults(Operation *op, bool isDivergent) {
  bool differs =
      isa<gpu::ThreadIdOp>(op) || isOfEachThread(op) ||
      llvm::any_of(op->getOperands(), [&](Value operand) {
        return depends(operand) || (isa<MemRefType>(operand.getType()) &&
                                    depends(getBuffer(operand)));
      });
  if (Value assigned = getAssignedVariable(op);
      assigned && (differs || isDivergent))
    mark(assigned);
  if (differs)
    for (Value result : op->getResults())
      mark(result);
}

/// Marks what goes around a loop, or comes out of a branch, and differs.
void ThreadDependence::visitLoop(Operation *op) {
  bool diverges = isDivergent(op);
  auto join = [&](Value from, Value to) {
    if (diverges || depends(from))
      mark(to);
  };
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (branch.getNumResults() == 0)
      return;
    for (auto [result, yes, no] :
         llvm::zip(branch.getResults(), branch.thenYield().getOperands(),
                   branch.elseYield().getOperands())) {
      join(yes, result);
      join(no, result);
    }
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (diverges)
      mark(loop.getInductionVar());
    for (auto [init, argument, yielded, result] :
         llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                   loop.getYieldedValues(), loop.getResults())) {
      join(init, argument);
      join(yielded, argument);
      join(argument, result);
    }
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [init, argument, yielded] :
         llvm::zip(loop.getInits(), loop.getBeforeArguments(),
                   loop.getYieldOp().getOperands())) {
      join(init, argument);
      join(yielded, argument);
    }
    for (auto [passed, argument, result] :
         llvm::zip(loop.getConditionOp().getArgs(), loop.getAfterArguments(),
                   loop.getResults())) {
      join(passed, argument);
      join(passed, result);
    }
  } else if (auto loop = dyn_cast<PipelinedOp>(op)) {
    if (diverges)
      mark(loop.getBody().getArgument(0));
  }
}

void ThreadDependence::visit(Block &block, bool isDivergent) {
  for (Operation &op : block) {
    if (isa<ParallelOp>(op))
      continue;
    if (op.getNumRegions() == 0) {
      visitResults(&op, isDivergent);
      continue;
    }
    bool inside = isDivergent || this->isDivergent(&op);
    for (Region &region : op.getRegions())
      for (Block &nested : region)
        visit(nested, inside);
    visitLoop(&op);
  }
}
