//===- KeepBranches.cpp - Choose between fragments by branches ------------===//
//
// What a branch leaves to its threads is a fragment: a vector, of which each
// element is a register. Where a side of a branch only names such a value,
// canonicalization makes a selection of it, as it does for scalars:
//
//     if (every fourth step) { sums += products; products = 0 }
//
// is then a selection for each element of `products`, in all steps. Here it is
// a branch again, together with the one that it was taken out of. All branches
// that leave so many registers are marked, since LLVM takes vectors for one
// instruction each, and would execute both sides, and choose.
//
// Sound because both sides are values that exist where the selection stands: a
// branch on the same condition gives the same. A selection joins a branch
// behind it only if nothing between the two uses it.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Branches.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tl {
#define GEN_PASS_DEF_KEEPBRANCHESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// True if to choose between two values of `type` takes so many instructions
/// that a branch, which takes about ten cycles, is better.
static bool isChosenByBranch(Type type) {
  constexpr int64_t kManyRegisters = 16;
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getElementType().isIntOrFloat() &&
         vector.getNumElements() * vector.getElementTypeBitWidth() >=
             kManyRegisters * 32;
}

/// True if `op`, which is in the block of `from` and behind it, uses it.
static bool uses(Operation *op, Value from) {
  return llvm::any_of(from.getUsers(),
                      [&](Operation *user) { return op->isAncestor(user); });
}

/// The branch on the condition of `select` that stands behind it with nothing
/// that uses it in between, nor a loop, through which both sides would be kept;
/// null if there is none.
static scf::IfOp findBranch(arith::SelectOp select) {
  for (Operation *next = select->getNextNode(); next;
       next = next->getNextNode()) {
    auto branch = dyn_cast<scf::IfOp>(next);
    if (branch && branch.getCondition() == select.getCondition())
      return branch;
    if (next->getNumRegions() != 0 || uses(next, select.getResult()))
      break;
  }
  return {};
}

/// Has the yield of `region` yield one more value. A side that was not there
/// yields what it has.
static void yieldAlso(Region &region, Value value, Location loc) {
  OpBuilder builder(region.getContext());
  if (region.empty()) {
    builder.createBlock(&region);
    scf::YieldOp::create(builder, loc, value);
    return;
  }
  auto yield = cast<scf::YieldOp>(region.front().getTerminator());
  yield.getResultsMutable().append(value);
}

/// Has `branch` choose what `select` does.
static void join(arith::SelectOp select, scf::IfOp branch) {
  auto inside = [&](Region &region) {
    return [&region](OpOperand &use) {
      return region.isAncestor(use.getOwner()->getParentRegion());
    };
  };
  Value result = select.getResult();
  result.replaceUsesWithIf(select.getTrueValue(),
                           inside(branch.getThenRegion()));
  result.replaceUsesWithIf(select.getFalseValue(),
                           inside(branch.getElseRegion()));
  yieldAlso(branch.getThenRegion(), select.getTrueValue(), select.getLoc());
  yieldAlso(branch.getElseRegion(), select.getFalseValue(), select.getLoc());

  OpBuilder builder(branch);
  SmallVector<Type> types(branch.getResultTypes());
  types.push_back(result.getType());
  auto joined =
      scf::IfOp::create(builder, branch.getLoc(), types, branch.getCondition());
  joined->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  joined.getThenRegion().takeBody(branch.getThenRegion());
  joined.getElseRegion().takeBody(branch.getElseRegion());
  branch.replaceAllUsesWith(joined.getResults().drop_back());
  result.replaceAllUsesWith(joined.getResults().back());
  branch.erase();
  select.erase();
}

/// A branch in the place of `select`.
static void replace(arith::SelectOp select) {
  OpBuilder builder(select);
  auto branch = scf::IfOp::create(
      builder, select.getLoc(), select.getCondition(),
      [&](OpBuilder &b, Location loc) {
        scf::YieldOp::create(b, loc, select.getTrueValue());
      },
      [&](OpBuilder &b, Location loc) {
        scf::YieldOp::create(b, loc, select.getFalseValue());
      });
  select.getResult().replaceAllUsesWith(branch.getResult(0));
  select.erase();
}

namespace {
struct KeepBranchesPass : tl::impl::KeepBranchesPassBase<KeepBranchesPass> {
  void runOnOperation() override {
    SmallVector<arith::SelectOp> selects;
    getOperation().walk([&](arith::SelectOp select) {
      if (select.getCondition().getType().isInteger(1) &&
          isChosenByBranch(select.getType()))
        selects.push_back(select);
    });
    for (arith::SelectOp select : selects) {
      if (scf::IfOp branch = findBranch(select))
        join(select, branch);
      else
        replace(select);
    }
    getOperation().walk([](scf::IfOp branch) {
      if (llvm::any_of(branch.getResultTypes(), isChosenByBranch))
        branch->setAttr(kBranchAttr, UnitAttr::get(branch.getContext()));
    });
  }
};
} // namespace
