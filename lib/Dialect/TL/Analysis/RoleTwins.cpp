//===- RoleTwins.cpp - Where roles go the same ways -----------------------===//
//
// Two loops are twins if their bounds and steps are the same, two branches if
// their conditions are, and what is around them are twins too, up to the roles:
// only then do both find the same iteration of that.
//
// Values of two roles are the same if they are computed by the same ops from
// values that are the same. What a loop carries is, if it begins so and each
// iteration keeps it so: that is assumed where it comes up again, and the
// assumption stands unless a difference is found somewhere.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/RoleTwins.h"

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

RoleTwins::RoleTwins(gpu::GPUFuncOp kernel) {
  kernel.walk([&](Operation *op) {
    if (op->getNumRegions() > 0 && !isa<EventOpInterface>(op))
      return;
    for (const Event &event : getEvents(op))
      if (auto *access = std::get_if<Access>(&event); access && access->writes)
        written.insert(getBuffer(access->buffer));
  });
}

bool RoleTwins::areTwins(ArrayRef<Operation *> ops) {
  return llvm::all_of(ops.drop_front(), [&](Operation *op) {
    bool isTwin = areTwins(ops.front(), op);
    if (!isTwin)
      assumed.clear();
    return isTwin;
  });
}

bool RoleTwins::areTwins(Operation *a, Operation *b) {
  if (a == b || (isa<RoleOp>(a) && isa<RoleOp>(b)))
    return true;
  return a->getParentRegion()->getRegionNumber() ==
             b->getParentRegion()->getRegionNumber() &&
         goSameWays(a, b) && areTwins(a->getParentOp(), b->getParentOp());
}

bool RoleTwins::goSameWays(Operation *a, Operation *b) {
  if (a->getName() != b->getName())
    return false;
  if (auto loop = dyn_cast<scf::ForOp>(a)) {
    auto other = cast<scf::ForOp>(b);
    return loop.getUnsignedCmp() == other.getUnsignedCmp() &&
           isSame(loop.getLowerBound(), other.getLowerBound()) &&
           isSame(loop.getUpperBound(), other.getUpperBound()) &&
           isSame(loop.getStep(), other.getStep());
  }
  if (auto branch = dyn_cast<scf::IfOp>(a))
    return isSame(branch.getCondition(), cast<scf::IfOp>(b).getCondition());
  if (auto loop = dyn_cast<scf::WhileOp>(a))
    return isSame(loop.getConditionOp().getCondition(),
                  cast<scf::WhileOp>(b).getConditionOp().getCondition());
  return false;
}

bool RoleTwins::isSame(Value a, Value b) {
  if (a == b)
    return true;
  if (a.getType() != b.getType())
    return false;
  if (!assumed.insert({a, b}).second)
    return true;
  if (auto argument = dyn_cast<BlockArgument>(a))
    return isa<BlockArgument>(b) &&
           isSameArgument(argument, cast<BlockArgument>(b));
  return isa<OpResult>(b) && isSameResult(cast<OpResult>(a), cast<OpResult>(b));
}

bool RoleTwins::isSameArgument(BlockArgument a, BlockArgument b) {
  Operation *parent = a.getOwner()->getParentOp(),
            *other = b.getOwner()->getParentOp();
  unsigned i = a.getArgNumber(), j = b.getArgNumber();
  if (a.getParentRegion()->getRegionNumber() !=
          b.getParentRegion()->getRegionNumber() ||
      !areTwins(parent, other))
    return false;
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    auto twin = cast<scf::ForOp>(other);
    unsigned own = loop.getNumInductionVars();
    if (i < own || j < own)
      return i == j;
    return isSame(loop.getInits()[i - own], twin.getInits()[j - own]) &&
           isSame(loop.getYieldedValues()[i - own],
                  twin.getYieldedValues()[j - own]);
  }
  auto loop = dyn_cast<scf::WhileOp>(parent);
  if (!loop)
    return false;
  auto twin = cast<scf::WhileOp>(other);
  if (a.getOwner() == loop.getAfterBody())
    return isSame(loop.getConditionOp().getArgs()[i],
                  twin.getConditionOp().getArgs()[j]);
  return isSame(loop.getInits()[i], twin.getInits()[j]) &&
         isSame(loop.getYieldOp().getOperand(i),
                twin.getYieldOp().getOperand(j));
}

bool RoleTwins::isSameResult(OpResult a, OpResult b) {
  Operation *op = a.getOwner(), *other = b.getOwner();
  unsigned i = a.getResultNumber(), j = b.getResultNumber();
  if (op->getName() != other->getName())
    return false;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return isSame(loop.getRegionIterArg(i),
                  cast<scf::ForOp>(other).getRegionIterArg(j));
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return isSame(loop.getAfterArguments()[i],
                  cast<scf::WhileOp>(other).getAfterArguments()[j]);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    auto twin = cast<scf::IfOp>(other);
    return areTwins(branch, twin) &&
           isSame(branch.thenYield().getOperand(i),
                  twin.thenYield().getOperand(j)) &&
           isSame(branch.elseYield().getOperand(i),
                  twin.elseYield().getOperand(j));
  }
  return i == j && op->getNumRegions() == 0 &&
         (isMemoryEffectFree(op) || readsConstantTensor(op)) &&
         op->getAttrDictionary() == other->getAttrDictionary() &&
         op->getNumOperands() == other->getNumOperands() &&
         llvm::all_of(llvm::zip(op->getOperands(), other->getOperands()),
                      [&](auto pair) {
                        return isSame(std::get<0>(pair), std::get<1>(pair));
                      });
}

/// True for a load from a tensor that the kernel does not write.
bool RoleTwins::readsConstantTensor(Operation *op) const {
  auto load = dyn_cast<LoadOp>(op);
  return load && isInSpace(load.getSource(), Space::Global) &&
         !mayBeOneOf(getBuffer(load.getSource()), written);
}
