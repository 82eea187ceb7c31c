//===- Variables.cpp - Variables that parallel loops assign ---------------===//
//
// See Variables.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Variables.h"

#include "tl/Dialect/TL/IR/Prints.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

/// The buffer behind `view` if it is in private memory, or null.
static Value getVariable(Value view) {
  return isInSpace(view, Space::Private) ? getBuffer(view) : Value();
}

Value tl::getReadVariable(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return getVariable(load.getSource());
  if (auto copy = dyn_cast<CopyOp>(op))
    return getVariable(copy.getSource());
  if (auto print = dyn_cast<PrintOp>(op); print && print.getTile())
    return getVariable(print.getValue());
  return {};
}

Value tl::getAssignedVariable(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return getVariable(store.getTarget());
  if (auto fill = dyn_cast<FillOp>(op))
    return getVariable(fill.getTarget());
  if (auto copy = dyn_cast<CopyOp>(op))
    return getVariable(copy.getTarget());
  return {};
}

SetVector<Value> tl::getAssignedVariables(ParallelOp loop) {
  SetVector<Value> variables;
  loop.getBody().walk([&](Operation *op) {
    Value variable = getAssignedVariable(op);
    if (variable && !loop->isAncestor(variable.getDefiningOp()))
      variables.insert(variable);
  });
  return variables;
}

std::optional<int64_t> tl::getElementNumber(MemRefType type,
                                            ValueRange indices) {
  int64_t number = 0;
  for (auto [index, extent] : llvm::zip_equal(indices, type.getShape())) {
    APInt value;
    if (!matchPattern(index, m_ConstantInt(&value)) ||
        value.uge(static_cast<uint64_t>(extent)))
      return std::nullopt;
    number = number * extent + value.getSExtValue();
  }
  return number;
}

ValueRange tl::getElementIndices(Operation *access) {
  if (auto load = dyn_cast<LoadOp>(access))
    return load.getIndices();
  return cast<StoreOp>(access).getIndices();
}

void tl::replaceAccess(Operation *access, Value buffer, ValueRange indices) {
  OpBuilder builder(access);
  Location loc = access->getLoc();
  if (auto load = dyn_cast<LoadOp>(access))
    load.replaceAllUsesWith(
        LoadOp::create(builder, loc, buffer, indices).getResult());
  else
    StoreOp::create(builder, loc, cast<StoreOp>(access).getValue(), buffer,
                    indices);
  access->erase();
}

namespace {
/// Follows one variable through structured control flow.
class AssignmentFlow {
public:
  AssignmentFlow(Value variable, ElementStore store)
      : variable(variable), store(store) {}

  /// Returns whether the variable is certainly assigned after `block`, given
  /// whether it is before.
  bool visit(Block &block, bool isAssigned) {
    for (Operation &op : block)
      isAssigned = visit(&op, isAssigned);
    return isAssigned;
  }

  Operation *getRead() const { return read; }

private:
  bool visit(Operation *op, bool isAssigned) {
    if (!isAssigned && !read && getReadVariable(op) == variable)
      read = op;
    if (getAssignedVariable(op) == variable)
      return isAssigned || assignsAll(op);
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      bool yes = visit(*branch.thenBlock(), isAssigned);
      bool no = branch.elseBlock() ? visit(*branch.elseBlock(), isAssigned)
                                   : isAssigned;
      return yes && no;
    }
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      // The condition is evaluated at least once.
      isAssigned = visit(*loop.getBeforeBody(), isAssigned);
      visit(*loop.getAfterBody(), isAssigned);
      return isAssigned;
    }
    bool isAssignedInside = isAssigned;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        isAssignedInside = visit(block, isAssignedInside);
    return store == ElementStore::AssignsAll ? isAssignedInside : isAssigned;
  }

  bool assignsAll(Operation *op) const {
    auto type = cast<MemRefType>(variable.getType());
    return store == ElementStore::AssignsAll || type.getNumElements() == 1 ||
           (isa<FillOp>(op) && cast<FillOp>(op).getTarget() == variable);
  }

  Value variable;
  ElementStore store;
  Operation *read = nullptr;
};
} // namespace

Operation *tl::findReadBeforeAssignment(Block &block, Value variable,
                                        ElementStore store) {
  AssignmentFlow flow(variable, store);
  flow.visit(block, /*isAssigned=*/false);
  return flow.getRead();
}
