//===- VerifyClusters.cpp - Check what blocks of a cluster do together ----===//
//
// See VerifyClusters.h. With the first rule the CPU can execute the blocks of a
// cluster one after the other, from barrier to barrier; with the others, what
// it computes is what they compute at the same time.
//
//===----------------------------------------------------------------------===//

#include "VerifyClusters.h"

#include "tl/Dialect/TL/Analysis/ClusterDependence.h"
#include "tl/Dialect/TL/Analysis/ClusterOrder.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Where barriers stand
//===----------------------------------------------------------------------===//

/// All blocks of a cluster come to `op` equally often, as far as can be told
/// from the loops and branches around it.
static LogicalResult verifyPlace(Operation *op,
                                 const ClusterDependence &dependence) {
  if (auto loop = op->getParentOfType<scf::WhileOp>()) {
    InFlightDiagnostic diag =
        op->emitOpError("stands in a `while` loop, or one with `break`, which "
                        "blocks of a cluster may leave at different times; use "
                        "a `for` loop whose bounds are the same for all");
    diag.attachNote(loop.getLoc()) << "the loop is here";
    return diag;
  }
  Operation *around = dependence.findDivergence(op);
  if (!around)
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("waits for all blocks of the cluster, and stands where "
                      "not all of them come equally often; take it out of the "
                      "control flow, or let a condition decide that is the "
                      "same for all blocks of a cluster");
  diag.attachNote(around->getLoc())
      << "what decides here may differ between blocks of a cluster";
  return diag;
}

//===----------------------------------------------------------------------===//
// What stands between barriers
//===----------------------------------------------------------------------===//

/// The errors of arrivals and waits that do not take turns.
static const char *describe(ClusterConflict::Kind kind) {
  switch (kind) {
  case ClusterConflict::Kind::ArrivesOpen:
    return "arrives at the barrier of the cluster, where the block may have "
           "arrived and not waited; put `T.cluster_wait()` between the two";
  case ClusterConflict::Kind::WaitsClosed:
    return "waits at the barrier of the cluster, where the block need not have "
           "arrived; put `T.cluster_arrive()` before it";
  case ClusterConflict::Kind::EndsOpen:
    return "arrives at the barrier of the cluster, and the kernel may end "
           "before the block waits there; put `T.cluster_wait()` behind it";
  default:
    llvm_unreachable("not of arrivals and waits");
  }
}

static LogicalResult report(const ClusterConflict &conflict) {
  if (conflict.kind == ClusterConflict::Kind::None)
    return success();
  if (conflict.kind != ClusterConflict::Kind::Unordered)
    return conflict.op->emitOpError(describe(conflict.kind));
  const Access &access = conflict.access, &earlier = conflict.earlierAccess;
  StringAttr name = getGivenName(getBuffer(access.buffer).getLoc());
  std::string tile =
      name ? ("`" + name.getValue() + "`").str() : "a shared tile";
  bool isOfOther = isMapped(access.buffer);
  InFlightDiagnostic diag =
      conflict.op->emitOpError(access.writes ? "writes " : "reads ")
      << tile << (isOfOther ? " of another block of the cluster" : "")
      << ", which " << (isOfOther ? "that block" : "another block")
      << " may be " << (earlier.writes ? "writing" : "reading")
      << " at the same time; put `T.cluster_sync()` between the two";
  diag.attachNote(conflict.earlier->getLoc())
      << (earlier.writes ? "written" : "read") << " here";
  return diag;
}

LogicalResult tl::verifyClusters(Operation *kernel) {
  SmallVector<Operation *> barriers;
  bool reaches = false;
  kernel->walk([&](Operation *op) {
    if (arrivesAtCluster(op) || waitsForCluster(op))
      barriers.push_back(op);
    reaches |= isa<MapSharedRankOp>(op);
  });
  if (barriers.empty() && !reaches)
    return success();
  ClusterDependence dependence(kernel);
  for (Operation *barrier : barriers)
    if (failed(verifyPlace(barrier, dependence)))
      return failure();
  return report(findClusterConflict(kernel, dependence));
}
