//===- ProducerSlice.cpp - What starts the copies of a kernel -------------===//
//
// A backward slice over scalars and structured control flow. A thread of its
// own may execute it at any time before the copies are waited for, and nobody
// can tell, if all of this holds:
//
//  - It is arithmetic, and elements of tensors: no scalar of it comes out of
//    shared memory, a fragment or a variable in memory, which others write.
//  - The kernel writes none of the tensors that it reads, or copies from.
//  - No atomic operation of the kernel has an order: what follows one must not
//    be read before it.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ProducerSlice.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

/// What `op` needs to be executed; of a loop, whatever it carries.
static SmallVector<Value> getUsed(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return {loop.getConditionOp().getCondition()};
  SmallVector<Value> used(op->getOperands());
  if (auto copy = dyn_cast<CopyOp>(op)) {
    SetVector<Value> ofPlaces;
    getUsedValuesDefinedAbove(copy.getPlaces(), ofPlaces);
    llvm::append_range(used, ofPlaces);
  }
  return used;
}

ProducerSlice ProducerSlice::of(gpu::GPUFuncOp kernel,
                                ArrayRef<Operation *> roots) {
  ProducerSlice slice;
  slice.roots.insert_range(roots);
  for (Operation *root : roots)
    slice.addOp(root);
  // Both grow.
  for (size_t o = 0, v = 0; o < slice.ops.size() || v < slice.values.size();) {
    if (v < slice.values.size()) {
      Value value = slice.values[v++];
      if (auto argument = dyn_cast<BlockArgument>(value))
        slice.addArgument(argument);
      else
        slice.addResult(cast<OpResult>(value));
      continue;
    }
    Operation *op = slice.ops[o++];
    for (Value value : getUsed(op))
      slice.addValue(value);
  }
  slice.checkTensors(kernel);
  return slice;
}

void ProducerSlice::refuse(Operation *op, const Twine &why) {
  if (!reason.empty())
    return;
  reason = why.str();
  place = op;
}

/// Buffers and pipes are there for all threads.
static bool isCommon(Operation *op) {
  return isa<AllocOp, AllocBarriersOp, PipeOp>(op);
}

void ProducerSlice::addOp(Operation *op) {
  if (isCommon(op) || !ops.insert(op))
    return;
  Operation *parent = op->getParentOp();
  if (!isa<gpu::GPUFuncOp>(parent))
    addOp(parent);
  if (auto copy = dyn_cast<CopyOp>(op); copy && roots.contains(op)) {
    tensors.insert(getBuffer(copy.getSource()));
    for (Value table : copy.getTables())
      tensors.insert(getBuffer(table));
    return;
  }
  if (roots.contains(op) ||
      isa<scf::ForOp, scf::IfOp, scf::WhileOp, PipelinedOp>(op))
    return;
  auto load = dyn_cast<LoadOp>(op);
  if (load && isInSpace(load.getSource(), Space::Global)) {
    tensors.insert(getBuffer(load.getSource()));
    return;
  }
  if (!isMemoryEffectFree(op) || op->getNumRegions() != 0)
    refuse(op, load ? "where it copies from, or how often, depends on an "
                      "element of a buffer that the kernel itself writes"
                    : "where it copies from, or how often, takes more than "
                      "arithmetic to find out");
}

void ProducerSlice::addValue(Value value) {
  if (Operation *op = value.getDefiningOp(); op && isCommon(op))
    return;
  values.insert(value);
}

void ProducerSlice::addArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa<gpu::GPUFuncOp>(parent))
    return;
  addOp(parent);
  if (isa<PipelinedOp>(parent))
    return;
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (number < loop.getNumInductionVars())
      return;
    number -= loop.getNumInductionVars();
    addValue(loop.getInits()[number]);
    addValue(loop.getYieldedValues()[number]);
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    if (argument.getOwner() == loop.getBeforeBody()) {
      addValue(loop.getInits()[number]);
      addValue(loop.getYieldOp().getOperand(number));
    } else {
      addValue(loop.getConditionOp().getArgs()[number]);
    }
  } else {
    refuse(parent, "it stands in an op that is no loop and no branch");
  }
}

void ProducerSlice::addResult(OpResult result) {
  Operation *op = result.getOwner();
  addOp(op);
  unsigned number = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    addValue(loop.getRegionIterArg(number));
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    addValue(loop.getAfterArguments()[number]);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    addValue(branch.thenYield().getOperand(number));
    addValue(branch.elseYield().getOperand(number));
  }
}

/// "`A`", or "a tensor" if it has no name.
static std::string getName(Value tensor) {
  StringAttr name = getGivenName(tensor.getLoc());
  return name ? ("`" + name.getValue() + "`").str() : "a tensor";
}

void ProducerSlice::checkTensors(gpu::GPUFuncOp kernel) {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto atomic = dyn_cast<AtomicOp>(op);
        atomic && atomic.getOrder() != MemoryOrder::Relaxed)
      refuse(op, "the kernel has an atomic operation that other accesses are "
                 "ordered by");
    if (op->getNumRegions() != 0 && !isa<EventOpInterface>(op))
      return WalkResult::advance();
    for (const Event &event : getEvents(op))
      if (auto *access = std::get_if<Access>(&event))
        if (access->writes && mayBeOneOf(getBuffer(access->buffer), tensors))
          refuse(op, "the kernel writes " + getName(getBuffer(access->buffer)) +
                         ", which it also copies from or finds its way by");
    return op->getNumRegions() != 0 ? WalkResult::skip()
                                    : WalkResult::advance();
  });
}
