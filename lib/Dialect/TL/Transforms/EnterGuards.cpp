//===- EnterGuards.cpp - Pipeline what a guard stands around --------------===//
//
// In a pipelined loop whose copies stand behind a guard (a mask of blocks, say)
// a copy cannot be started before its iteration, since nobody knows how many
// iterations pass the guard. But a role that fills may find that out by itself,
// ahead of those that read. So the guarded part becomes a pipelined loop of one
// iteration:
//
//     pipelined for k {                for k {
//       if mask[k] {             =>      if mask[k] {
//         copies, products                 pipelined for one { ... }
//       }                                }
//     }                                }
//
// Slots are carried from each of these loops to the next one, so that the role
// runs ahead through guards as it does through outer loops
// (SpecializeWarps.cpp). `tl-assign-stages` takes the slots back where there
// are to be no roles.
//
// Sound because `tl.pipelined` means a plain loop, and a loop of one iteration
// does its body once.
//
//===----------------------------------------------------------------------===//

#include "PlainLoop.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tl {
#define GEN_PASS_DEF_ENTERGUARDSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// The block of a guard in `loop` that all copies into shared memory stand in;
/// null if they do not stand behind guards alone.
static Block *findGuarded(PipelinedOp loop) {
  Block *guarded = nullptr;
  WalkResult result = loop.getBody().walk([&](CopyOp copy) {
    if (!isInSpace(copy.getSource(), Space::Global) ||
        !isInSpace(copy.getTarget(), Space::Shared))
      return WalkResult::advance();
    if (guarded && copy->getBlock() != guarded)
      return WalkResult::interrupt();
    guarded = copy->getBlock();
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || !guarded)
    return nullptr;
  Operation *at = guarded->getParentOp();
  if (at == loop)
    return nullptr;
  for (; at != loop; at = at->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(at);
    if (!branch || branch.getNumResults() != 0 || branch.elseBlock())
      return nullptr;
  }
  return guarded;
}

/// Has `loop` be a plain one, and what is in `guarded` a loop of one iteration.
static void enter(PipelinedOp loop, Block *guarded) {
  Location loc = loop.getLoc();
  OpBuilder builder = OpBuilder::atBlockTerminator(guarded);
  auto once = PipelinedOp::create(
      builder, loc, arith::ConstantIndexOp::create(builder, loc, 0),
      arith::ConstantIndexOp::create(builder, loc, 1), loop.getStages());
  once->setAttr(kGuardedAttr, builder.getUnitAttr());
  Block *body =
      builder.createBlock(&once.getBody(), {}, {builder.getIndexType()}, {loc});
  YieldOp::create(builder, loc);
  Operation *bounds = once.getLower().getDefiningOp();
  body->getOperations().splice(body->begin(), guarded->getOperations(),
                               guarded->begin(), Block::iterator(bounds));
  makePlain(loop);
}

namespace {
struct EnterGuardsPass : tl::impl::EnterGuardsPassBase<EnterGuardsPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    // Roles fill by the bulk copy engine.
    if (!target->hasBulkCopy())
      return;
    SmallVector<PipelinedOp> loops;
    getOperation().walk([&](PipelinedOp loop) { loops.push_back(loop); });
    for (PipelinedOp loop : loops)
      if (Block *guarded = findGuarded(loop); guarded && loop.getStages() > 1)
        enter(loop, guarded);
  }
};
} // namespace
