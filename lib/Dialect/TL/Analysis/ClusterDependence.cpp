//===- ClusterDependence.cpp - What differs between blocks ----------------===//
//
// Sources are the block's coordinates along dimensions in which a cluster has
// several blocks, and what is read from memory: of shared memory and fragments
// each block has its own, and in device memory blocks see what they wrote
// themselves (S2). Elements of tensors that the kernel does not write are the
// same for all.
//
// Blocks n * e to n * e + e - 1 along a dimension are those of one cluster of
// extent e, so that a coordinate divided by e, or by a multiple, is the same in
// all of them.
//
// A value is traced back to its sources, through control flow: what comes out
// of a loop or branch depends on what decides which way that goes.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ClusterDependence.h"

#include "tl/Dialect/TL/Analysis/RegionFlow.h"
#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tl;

ClusterDependence::ClusterDependence(Operation *kernel) : kernel(kernel) {
  if (auto function = dyn_cast<gpu::GPUFuncOp>(kernel))
    cluster = getClusterExtents(function);
  else if (auto extents = cast<KernelOp>(kernel).getCluster())
    llvm::copy(*extents, cluster.begin());
  kernel->walk([&](Operation *op) {
    if (op->getNumRegions() != 0 && !isa<EventOpInterface>(op))
      return;
    for (const Event &event : getEvents(op))
      if (auto *access = std::get_if<Access>(&event); access && access->writes)
        written.insert(getBuffer(access->buffer));
  });
}

std::optional<unsigned> ClusterDependence::getDimension(Value value) const {
  if (auto block = value.getDefiningOp<gpu::BlockIdOp>())
    return static_cast<unsigned>(block.getDimension());
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && isa<KernelOp>(argument.getOwner()->getParentOp()))
    return argument.getArgNumber();
  return std::nullopt;
}

/// True if the results of an op without regions differ between blocks although
/// its operands do not.
bool ClusterDependence::isSource(Operation *op) const {
  if (auto load = dyn_cast<LoadOp>(op))
    return !isInSpace(load.getSource(), Space::Global) ||
           mayBeOneOf(getBuffer(load.getSource()), written);
  return !isMemoryEffectFree(op);
}

/// True for the coordinate of a cluster, or of several together.
bool ClusterDependence::isSameInCluster(Operation *op) const {
  APInt divisor;
  if (!isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
    return false;
  std::optional<unsigned> dim = getDimension(op->getOperand(0));
  return dim && divisor.isStrictlyPositive() &&
         divisor.getSExtValue() % cluster[*dim] == 0;
}

bool ClusterDependence::depends(Value value) const {
  SetVector<Value> worklist;
  worklist.insert(value);
  for (size_t i = 0; i < worklist.size(); ++i) {
    Value next = worklist[i];
    // What the host has computed is the same for all.
    if (!kernel->getRegion(0).isAncestor(next.getParentRegion()))
      continue;
    if (std::optional<unsigned> dim = getDimension(next)) {
      if (cluster[*dim] > 1)
        return true;
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (op && op->getNumRegions() == 0) {
      if (isSameInCluster(op))
        continue;
      if (isSource(op))
        return true;
      worklist.insert_range(op->getOperands());
      continue;
    }
    Operation *parent =
        op ? op : cast<BlockArgument>(next).getOwner()->getParentOp();
    if (isa<gpu::GPUFuncOp>(parent))
      continue;
    if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp, PipelinedOp>(parent))
      return true;
    worklist.insert_range(getDeciders(parent));
    for (const FlowEdge &edge : getFlow(parent))
      for (auto [source, argument] : llvm::zip(edge.values, edge.arguments))
        if (argument == next)
          worklist.insert(source);
  }
  return false;
}

Operation *ClusterDependence::findDivergence(Operation *op) const {
  for (Operation *parent = op->getParentOp(); parent != kernel;
       parent = parent->getParentOp())
    if (llvm::any_of(getDeciders(parent),
                     [&](Value decider) { return depends(decider); }))
      return parent;
  return nullptr;
}
