//===- PromoteVariables.cpp - Turn an iteration's variables into values ---===//
//
// Variables in the body of a parallel loop become SSA values, so that backends
// see arithmetic where the user wrote assignments. An array that is only
// accessed at known indices is one variable for each element; others stay in
// private memory.
//
// Sound because a variable of an iteration is seen by nothing else.
//
//===----------------------------------------------------------------------===//

#include "SlotPromotion.h"
#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace tl {
#define GEN_PASS_DEF_PROMOTEVARIABLESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// The variables that an array whose elements are all known is made of, or none
/// for another one.
static SmallVector<Value> splitArray(AllocOp array) {
  MemRefType type = array.getType();
  MemRefType single = MemRefType::Builder(type).setShape({1});
  for (Operation *user : array->getUsers())
    if (SlotAccess access = SlotAccess::of(user);
        access.slot != array.getResult() || access.stored == access.slot ||
        !getElementNumber(type, getElementIndices(user)))
      return {};
  if (type.getNumElements() == 1)
    return {array};

  OpBuilder builder(array);
  Value zero = arith::ConstantIndexOp::create(builder, array.getLoc(), 0);
  llvm::MapVector<int64_t, Value> elements;
  for (Operation *user : llvm::make_early_inc_range(array->getUsers())) {
    Value &element = elements[*getElementNumber(type, getElementIndices(user))];
    if (!element)
      element = AllocOp::create(builder, array.getLoc(), single,
                                /*layout=*/nullptr, /*offset=*/nullptr);
    replaceAccess(user, element, zero);
  }
  array->erase();
  return llvm::map_to_vector(elements,
                             [](auto &entry) { return entry.second; });
}

/// The number of ops around a block.
static unsigned getDepth(Block *block) {
  unsigned depth = 0;
  for (Operation *op = block->getParentOp(); op; op = op->getParentOp())
    ++depth;
  return depth;
}

static void promoteVariables(ParallelOp loop) {
  SmallVector<AllocOp> arrays;
  loop.getBody().walk([&](AllocOp alloc) {
    if (isInSpace(alloc, Space::Private))
      arrays.push_back(alloc);
  });
  llvm::MapVector<Block *, SetVector<Value>> variables;
  for (AllocOp array : arrays)
    for (Value variable : splitArray(array))
      if (isPromotable(variable))
        variables[variable.getParentBlock()].insert(variable);
  // Promotion replaces the loops in a block, so what is in them comes first.
  auto groups = variables.takeVector();
  llvm::stable_sort(groups, [](const auto &a, const auto &b) {
    return getDepth(a.first) > getDepth(b.first);
  });
  for (auto &[block, slots] : groups)
    promoteSlots(std::move(slots), *block);
}

namespace {
struct PromoteVariablesPass
    : tl::impl::PromoteVariablesPassBase<PromoteVariablesPass> {
  void runOnOperation() override { getOperation().walk(promoteVariables); }
};
} // namespace
