//===- PrivatizeVariables.cpp - Give each iteration its own variables -----===//
//
// A variable or array that is declared before a parallel loop and assigned in
// it is each iteration's own: it begins with the value from before the loop,
// and after the loop it has that value again (docs/language/semantics.md, P3).
// A variable in private memory is one for each thread of a GPU, and one for all
// iterations on a CPU; here it becomes one that is declared in the body, which
// is the same for both.
//
// Requires what `tl-verify-statements` checks: nothing reads such a variable
// after the loop. It would be sound without, but the user would be surprised.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tl {
#define GEN_PASS_DEF_PRIVATIZEVARIABLESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// Starts an iteration's own variable with what it was before the loop.
static void initialize(OpBuilder &body, ParallelOp loop, AllocOp variable,
                       Value own) {
  Location loc = variable.getLoc();
  MemRefType type = variable.getType();
  if (type.getNumElements() != 1) {
    CopyOp::create(body, loc, variable, ValueRange(), own, ValueRange(),
                   body.getDenseI64ArrayAttr(type.getShape()),
                   /*async=*/false, /*bulk=*/false, /*barrier=*/Value(),
                   /*barrierIndex=*/Value());
    return;
  }
  OpBuilder before(loop);
  SmallVector<Value> first(type.getRank(),
                           arith::ConstantIndexOp::create(before, loc, 0));
  Value value = LoadOp::create(before, loc, variable, first);
  StoreOp::create(body, loc, value, own, first);
}

static void privatize(ParallelOp loop) {
  Block &block = loop.getBody().front();
  for (Value value : getAssignedVariables(loop)) {
    auto variable = value.getDefiningOp<AllocOp>();
    bool readsOld =
        findReadBeforeAssignment(block, variable, ElementStore::AssignsOne);
    OpBuilder body = OpBuilder::atBlockBegin(&block);
    auto own = cast<AllocOp>(body.clone(*variable));
    variable->replaceUsesWithIf(own->getResults(), [&](OpOperand &use) {
      return loop->isProperAncestor(use.getOwner());
    });
    if (readsOld)
      initialize(body, loop, variable, own);
  }
}

namespace {
struct PrivatizeVariablesPass
    : tl::impl::PrivatizeVariablesPassBase<PrivatizeVariablesPass> {
  void runOnOperation() override { getOperation().walk(privatize); }
};
} // namespace
