//===- RegionFlow.cpp - How control passes between regions ----------------===//
//
// See RegionFlow.h. Requires regions of one block, as the tile level has them.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/RegionFlow.h"

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace tl;

static SmallVector<FlowEdge> getAnyFlow(Operation *op) {
  SmallVector<FlowEdge> edges = {{nullptr, nullptr, {}, {}}};
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    edges.push_back({nullptr, &region, {}, {}});
    edges.push_back({&region, nullptr, {}, {}});
    for (Region &next : op->getRegions())
      if (!next.empty())
        edges.push_back({&region, &next, {}, {}});
  }
  return edges;
}

SmallVector<FlowEdge> tl::getFlow(Operation *op) {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch)
    return getAnyFlow(op);
  SmallVector<FlowEdge> edges;
  SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
  for (RegionSuccessor successor : successors)
    edges.push_back({nullptr, successor.getSuccessor(),
                     branch.getEntrySuccessorOperands(successor),
                     successor.getSuccessorInputs()});
  for (Region &region : op->getRegions()) {
    if (region.empty())
      continue;
    auto end = dyn_cast<RegionBranchTerminatorOpInterface>(
        region.front().getTerminator());
    if (!end)
      return getAnyFlow(op);
    successors.clear();
    branch.getSuccessorRegions(RegionBranchPoint(end), successors);
    for (RegionSuccessor successor : successors)
      edges.push_back({&region, successor.getSuccessor(),
                       end.getSuccessorOperands(successor),
                       successor.getSuccessorInputs()});
  }
  return edges;
}
