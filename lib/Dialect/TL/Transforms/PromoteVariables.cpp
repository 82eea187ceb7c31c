//===- PromoteVariables.cpp - Turn variables into values ------------------===//
//
// Variables in the body of a parallel loop become SSA values, so that backends
// see arithmetic where the user wrote assignments. An array that is only
// accessed at known indices is one variable for each element; others stay in
// private memory.
//
// Sound because a variable of an iteration is seen by nothing else.
//
// So do variables of the block, such as the bounds of a loop of tiles, so that
// passes see what does not change in a loop. Only loops and branches that hold
// numbers alone come to carry one: what is assigned beside operations on tiles
// stays in memory.
//
// Sound because, after tl-normalize-statements, all threads assign a variable
// of the block alike, and no parallel loop assigns one from outside: at each
// place it has one value in all threads.
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

using Group = std::pair<Block *, SetVector<Value>>;

/// Promotes what each of the blocks allocates.
static void promoteByBlock(SmallVector<Group> groups) {
  // Promotion replaces the loops in a block, so what is in them comes first.
  llvm::stable_sort(groups, [](const Group &a, const Group &b) {
    return getDepth(a.first) > getDepth(b.first);
  });
  for (auto &[block, slots] : groups)
    promoteSlots(std::move(slots), *block);
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
  promoteByBlock(variables.takeVector());
}

/// True if `op` works with numbers alone, and so does all that is in it.
static bool worksWithNumbers(Operation *op) {
  WalkResult result = op->walk([](Operation *nested) {
    auto store = dyn_cast<StoreOp>(nested);
    bool isOfNumbers =
        isa<scf::ForOp, scf::WhileOp, scf::IfOp, LoadOp>(nested) ||
        (store && isInSpace(store.getTarget(), Space::Private)) ||
        (nested->getNumRegions() == 0 && isPure(nested));
    return isOfNumbers ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// True if all uses of a variable are loads and stores, and the loops and
/// branches around its stores work with numbers alone.
static bool isSetByNumbers(Value variable) {
  Operation *home = variable.getParentBlock()->getParentOp();
  return llvm::all_of(variable.getUsers(), [&](Operation *user) {
    SlotAccess access = SlotAccess::of(user);
    if (access.slot != variable || access.stored == variable)
      return false;
    if (!access.isStore())
      return true;
    for (Operation *parent = user->getParentOp(); parent != home;
         parent = parent->getParentOp())
      if (!isa<scf::ForOp, scf::WhileOp, scf::IfOp>(parent) ||
          !worksWithNumbers(parent))
        return false;
    return true;
  });
}

static void promoteBlockVariables(gpu::GPUFuncOp kernel) {
  llvm::MapVector<Block *, SetVector<Value>> variables;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ParallelOp>(op))
      return WalkResult::skip();
    auto alloc = dyn_cast<AllocOp>(op);
    if (alloc && isInSpace(alloc, Space::Private) &&
        alloc.getType().getNumElements() == 1 && isSetByNumbers(alloc))
      variables[alloc->getBlock()].insert(alloc.getResult());
    return WalkResult::advance();
  });
  promoteByBlock(variables.takeVector());
}

namespace {
struct PromoteVariablesPass
    : tl::impl::PromoteVariablesPassBase<PromoteVariablesPass> {
  void runOnOperation() override {
    getOperation().walk(promoteVariables);
    getOperation().walk(promoteBlockVariables);
  }
};
} // namespace
