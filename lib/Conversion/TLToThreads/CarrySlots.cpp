//===- CarrySlots.cpp - Remember the slot before the current one ----------===//
//
// A pipelined loop refills the slot that the iteration before has read. Worked
// out of the current slot it stands between a barrier and the copies that the
// whole block waits for: 2 % of a GEMM of 2048^3 on an H200. The loop carries
// it along instead.
//
// Sound because a slot that the loop rotates by one each time was, one
// iteration ago, one less; before the first iteration it is told by the very
// rotation that is replaced.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"
#include "tl/Dialect/TL/IR/Pipes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using tl::RotateOp;

/// The rotations of `slot`, which is carried by `loop`, to the slot before it.
static SmallVector<RotateOp> findStepsBack(scf::ForOp loop, Value slot) {
  SmallVector<RotateOp> steps;
  for (Operation *user : slot.getUsers())
    if (auto rotate = dyn_cast<RotateOp>(user);
        rotate && rotate.getBy() == rotate.getOf() - 1 &&
        loop->isProperAncestor(rotate))
      steps.push_back(rotate);
  return steps;
}

/// True if each iteration of a loop moves `slot` on by one of `of`.
static bool movesOnByOne(scf::ForOp loop, BlockArgument slot, int64_t of) {
  auto next =
      loop.getTiedLoopYieldedValue(slot)->get().getDefiningOp<RotateOp>();
  return next && next.getSlot() == slot && next.getBy() == 1 &&
         next.getOf() == static_cast<uint64_t>(of);
}

static void carryPreviousSlot(scf::ForOp loop, BlockArgument slot,
                              ArrayRef<RotateOp> steps) {
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  RotateOp step = steps.front();
  Value first = rewriter.createOrFold<RotateOp>(
      step.getLoc(), loop.getTiedLoopInit(slot)->get(), step.getBy(),
      step.getOf());
  unsigned position = slot.getArgNumber() - loop.getNumInductionVars();
  auto carrying = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument> added) {
        BlockArgument current =
            cast<scf::ForOp>(added.front().getOwner()->getParentOp())
                .getRegionIterArg(position);
        return SmallVector<Value>{current};
      }));
  Value previous = carrying.getRegionIterArgs().back();
  for (RotateOp rotate : steps)
    rewriter.replaceOp(rotate, previous);
}

void tl::carryPreviousSlots(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    for (BlockArgument slot : loop.getRegionIterArgs()) {
      SmallVector<RotateOp> steps = findStepsBack(loop, slot);
      if (steps.empty() || !movesOnByOne(loop, slot, steps.front().getOf()))
        continue;
      carryPreviousSlot(loop, slot, steps);
      break; // the loop is another now
    }
}
