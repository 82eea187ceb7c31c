//===- VerifySync.cpp - Prove that conflicting accesses are ordered -------===//
//
// Executes a kernel over abstract states. A state knows
//
// - as numbers: the values that choose slots of rings, mbarriers and parities;
//   which phase each mbarrier is in and who has arrived; how many iterations of
//   a pipelined loop are left, as a range, which conditions on the loop's index
//   cut in two;
// - as records: the accesses that have happened and are not yet known to be
//   over by every thread that could come into conflict with them.
//
// Iterations are executed one by one until states repeat. They do, since slots
// and phases go round and ranges are cut at the number of slots. So it is seen
// that a slot is filled only after its last readers have passed a barrier and
// read only after the phase or group that filled it, whatever the trip count,
// without knowing how pipelines are made. States that differ in no number are
// joined. Numbers that no later op asks for are dropped before, which loses no
// record and so hides no conflict.
//
// Every access is held against the records: two that may touch the same bytes,
// one of them writing, must be in order. Nothing is shared with
// `tl-insert-sync` but the events of ops and what footprints and buffers have
// in common.
//
// The kernel is executed once for each part of its numbers that has to do with
// itself only, such as slots and phases of one pipe; the others are unknown
// then, their mbarriers tell nothing, and waits for them let everybody pass.
// That allows more than can happen, so each execution is a proof of the pairs
// that it finds in order, and each pair needs but one. States of a part are
// few, where those of several pipes in one loop are multiplied. If a pair is
// left, it may take two parts together: then all numbers are known at once.
//
// What is proven is as good as the events. Waits that would block in a state
// end it: no thread gets further there.
//
// Roles (`tl.role`) run at the same time. They are executed in turns, loop by
// loop and iteration by iteration, which is one of the orders in which they
// may run; what each has done is known to another one only by way of a phase:
// arrive, complete, wait. One order stands for all of them, because
//
// - the roles take the same ways: loops and branches that have to do with
//   phases come in pairs, with equal bounds and conditions;
// - each wait is for the phase after that of the wait before, and whoever
//   arrives knows that the phase before his has been waited for. So in any
//   order a wait ends with the very arrivals with which it ends in this one,
//   and never by a later or an earlier phase of the same parity;
// - nothing else passes between roles, since what conflicts is ordered, by
//   these phases;
// - and none of the waits blocks in this order, so that none blocks for ever.
//
// Blocks of a cluster that fetch tiles together, or meet, execute one program,
// in step: what decides on it is the same in all of them, which is checked. So
// one block stands for all: an arrival in every block counts once for each, and
// a record keeps apart who knows of it in the block where it happened and who
// in all others. What others write to a block is a part of what they write to
// their own. The four points above then hold for the roles of all blocks
// together. Where blocks touch each other's memory (`tl.map_shared_rank`) a
// barrier of the cluster stands between what they do (ClusterOrder.h). What is
// proven of each execution is that all that a block has done to memory that
// others reach is over, and shown to the async proxy, when it arrives there.
//
//===----------------------------------------------------------------------===//

#include "Sync/SyncProof.h"

#include "tl/Dialect/TL/Analysis/ClusterDependence.h"
#include "tl/Dialect/TL/Analysis/ClusterOrder.h"
#include "tl/Dialect/TL/Analysis/ExactFactors.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tl {
#define GEN_PASS_DEF_VERIFYSYNCPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using namespace tl::sync;

//===----------------------------------------------------------------------===//
// What executions take for granted
//===----------------------------------------------------------------------===//

/// Barriers are set up once.
static LogicalResult checkBarriers(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([&](AllocBarriersOp alloc) -> WalkResult {
    if (!alloc->getParentOfType<LoopLikeOpInterface>())
      return WalkResult::advance();
    return alloc.emitOpError("sets its barriers up again in each iteration "
                             "of a loop; this is a defect of the compiler");
  });
  return failure(result.wasInterrupted());
}

/// The first op in the regions of `op` that orders accesses, or null.
static Operation *findSync(Operation *op, KernelEvents &events) {
  Operation *found = nullptr;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (inner == op || !isStep(inner))
      return WalkResult::advance();
    bool syncs =
        isa<OpenTurnsOp, TakeTurnOp, PassTurnOp, CloseTurnsOp>(inner) ||
        llvm::any_of(events.of(inner), [](const Event &event) {
          return std::holds_alternative<Sync>(event);
        });
    if (!syncs)
      return WalkResult::skip();
    found = inner;
    return WalkResult::interrupt();
  });
  return found;
}

/// Where it is decided which part of `op` is executed.
static Location getReason(Operation *op) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return branch.getCondition().getLoc();
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return loop.getConditionOp().getCondition().getLoc();
  return op->getLoc();
}

/// What all threads do together stands where all of them come by.
static LogicalResult checkDivergence(SyncFacts &facts) {
  gpu::GPUFuncOp kernel = facts.kernel;
  ThreadDependence dependence(kernel.getBody());
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Loops over the threads are no place for barriers anyway.
    if (op != kernel && isStep(op))
      return WalkResult::skip();
    if (op == kernel || !dependence.isDivergent(op))
      return WalkResult::advance();
    Operation *sync = findSync(op, facts.events);
    if (!sync)
      return WalkResult::skip();
    InFlightDiagnostic diag =
        sync->emitOpError("is executed by all threads together, but stands "
                          "where only some threads come by; this is a defect "
                          "of the compiler");
    diag.attachNote(getReason(op)) << "the condition differs between threads";
    return WalkResult(diag);
  });
  return failure(result.wasInterrupted());
}

/// Roles stand next to each other, since they are executed together.
static LogicalResult checkRoles(gpu::GPUFuncOp kernel) {
  RoleOp last;
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    if (last && role->getPrevNode() != last)
      return role.emitOpError(
          "does not follow the role before it, so that they "
          "cannot be executed together; this is a defect of "
          "the compiler");
    last = role;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// All blocks of a cluster execute `op`, of which each does a part, equally
/// often, and a copy from the same place.
static LogicalResult checkInStep(Operation *op,
                                 const ClusterDependence &dependence) {
  if (Operation *around = dependence.findDivergence(op)) {
    InFlightDiagnostic diag =
        op->emitOpError("is executed by all blocks of a cluster in step, but "
                        "not equally often; this is a defect of the compiler");
    diag.attachNote(getReason(around)) << "this differs between blocks";
    return diag;
  }
  auto copy = dyn_cast<CopyOp>(op);
  if (copy && llvm::any_of(copy.getSourceOffsets(), [&](Value offset) {
        return dependence.depends(offset);
      }))
    return copy.emitOpError("is one tile of all blocks of a cluster, but does "
                            "not come from the same place in all of them; this "
                            "is a defect of the compiler");
  return success();
}

/// True if `op` touches shared memory of another block.
static bool isAtOthers(Operation *op) {
  return reachesCluster(op) || llvm::any_of(op->getOperands(), isMapped);
}

/// Shared memory of other blocks is touched between two meetings of the
/// cluster: the first one comes when they run and, if mbarriers are among it,
/// behind the set-up of these; and nobody has ended before the second one.
static LogicalResult checkMeetings(gpu::GPUFuncOp kernel,
                                   ArrayRef<Operation *> reaching) {
  Block &body = kernel.getBody().front();
  bool hasMet = false, isSetUp = false, hasReached = false;
  Operation *last = nullptr;
  for (Operation &op : body) {
    if (waitsForCluster(&op))
      hasMet = isSetUp = true;
    if (arrivesAtCluster(&op))
      hasReached = false;
    if (isa<AllocBarriersOp>(op))
      isSetUp = false;
    for (Operation *one : reaching)
      if (body.findAncestorOpInBlock(*one) == &op) {
        last = one;
        hasReached = true;
        if (!isSetUp && reachesCluster(one))
          return one->emitOpError("uses mbarriers of other blocks of the "
                                  "cluster, which need not be set up; this is "
                                  "a defect of the compiler");
        if (!hasMet)
          return one->emitOpError("touches shared memory of another block of "
                                  "the cluster, which need not run yet; this "
                                  "is a defect of the compiler");
      }
  }
  if (hasReached)
    return last->emitOpError("may touch shared memory of a block of the "
                             "cluster that has ended; this is a defect of the "
                             "compiler");
  return success();
}

/// What other blocks reach has its place in shared memory for itself, since it
/// is not known when they do.
static LogicalResult checkPlaces(gpu::GPUFuncOp kernel) {
  SmallVector<Value> buffers;
  kernel.walk([&](Operation *op) {
    if (isa<AllocOp, AllocBarriersOp>(op) &&
        isInSpace(op->getResult(0), Space::Shared))
      buffers.push_back(op->getResult(0));
  });
  for (Value reached : buffers)
    for (Value other : buffers)
      if (reached != other && isReachedByOthers(reached) &&
          shareBytes(reached, other))
        return reached.getDefiningOp()->emitOpError(
            "is reached by other blocks of the cluster, and shares bytes with "
            "another buffer; this is a defect of the compiler");
  return success();
}

static LogicalResult checkClusters(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> reaching, inStep;
  kernel.walk([&](Operation *op) {
    if (isAtOthers(op))
      reaching.push_back(op);
    if (reachesCluster(op) || arrivesAtCluster(op) || waitsForCluster(op))
      inStep.push_back(op);
  });
  if (inStep.empty() && reaching.empty())
    return success();
  ClusterDependence dependence(kernel);
  for (Operation *op : inStep)
    if (failed(checkInStep(op, dependence)))
      return failure();
  if (failed(checkMeetings(kernel, reaching)) || failed(checkPlaces(kernel)))
    return failure();
  ClusterConflict conflict = findClusterConflict(kernel, dependence);
  if (conflict.kind == ClusterConflict::Kind::None)
    return success();
  return conflict.op->emitOpError("is not in order with what other blocks of "
                                  "the cluster do; this is a defect of the "
                                  "compiler");
}

//===----------------------------------------------------------------------===//
// What the engine rounds
//===----------------------------------------------------------------------===//

/// What touches `buffer`, or a part of it.
static SmallVector<OpOperand *> findAccesses(Value buffer) {
  SmallVector<Value> worklist = {buffer};
  SmallVector<OpOperand *> accesses;
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses())
      if (auto slot = dyn_cast<SlotOp>(use.getOwner()))
        worklist.push_back(slot.getResult());
      else
        accesses.push_back(&use);
  return accesses;
}

/// True if `access` reads f32 as tf32, whose lower bits it cuts off: wgmma does
/// that to all tiles in shared memory, and others to what is said to be narrow.
static bool cutsToTF32(OpOperand &access) {
  auto gemm = dyn_cast<GemmOp>(access.getOwner());
  if (!gemm || !gemm.getPlan() || access == gemm.getAccMutable() ||
      !cast<MemRefType>(access.get().getType()).getElementType().isF32())
    return false;
  bool ofB = access == gemm.getBMutable();
  return gemm.isNarrow(ofB) ||
         (gemm.getPlan()->getInstruction() == Instruction::WGMMA &&
          isInSpace(access.get(), Space::Shared));
}

/// The copy that writes by `access`, or null.
static CopyOp getWriter(OpOperand &access) {
  auto copy = dyn_cast<CopyOp>(access.getOwner());
  return copy && access == copy.getTargetMutable() ? copy : nullptr;
}

/// True if `access` is that of a gemm which is told that it need not round.
static bool isTakenForNarrow(OpOperand *access) {
  auto gemm = dyn_cast<GemmOp>(access->getOwner());
  return gemm && gemm.isNarrow(*access == gemm.getBMutable());
}

/// A tile that copies round is written by such copies only, and read by nothing
/// that would see it; and no copy leaves unrounded what would be cut. What a
/// gemm need not round is rounded by copies, or came from narrower numbers. The
/// rest is written by loops, of which it is not known what they compute, or is
/// rounded in registers.
static LogicalResult checkRounding(AllocOp alloc) {
  CopyOp rounds, leaves;
  OpOperand *cuts = nullptr, *sees = nullptr;
  for (OpOperand *access : findAccesses(alloc))
    if (CopyOp copy = getWriter(*access))
      (copy.getRoundTF32() ? rounds : leaves) = copy;
    else if (cutsToTF32(*access))
      cuts = cuts && isTakenForNarrow(cuts) ? cuts : access;
    else
      sees = access;
  if (rounds && (leaves || sees)) {
    InFlightDiagnostic diag =
        rounds.emitOpError("rounds a tile to tf32 that is not for products in "
                           "tf32 alone; this is a defect of the compiler");
    Operation *other = leaves ? leaves : sees->getOwner();
    diag.attachNote(other->getLoc()) << "this touches it as f32";
    return diag;
  }
  if (!cuts || rounds || holdsNarrowNumbers(alloc))
    return success();
  if (leaves && isInSpace(alloc, Space::Shared)) {
    InFlightDiagnostic diag = leaves.emitOpError(
        "does not round a tile that is cut to tf32; this is a defect of the "
        "compiler");
    diag.attachNote(cuts->getOwner()->getLoc()) << "it is read here";
    return diag;
  }
  if (isTakenForNarrow(cuts)) {
    InFlightDiagnostic diag = cuts->getOwner()->emitOpError(
        "takes numbers for narrow ones that may be others; this is a defect of "
        "the compiler");
    diag.attachNote(alloc.getLoc()) << "they are in this tile";
    return diag;
  }
  return success();
}

static LogicalResult checkRounding(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](AllocOp alloc) -> WalkResult {
    return alloc.getType().getElementType().isF32() ? checkRounding(alloc)
                                                    : success();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Proofs
//===----------------------------------------------------------------------===//

/// True if each pair is in order by what one part of the numbers tells.
static bool proveInParts(SyncFacts &facts) {
  SmallVector<DenseSet<Value>> parts = facts.getParts();
  if (parts.size() < 2)
    return false;
  DenseSet<SyncProof::Pair> left;
  for (auto [i, part] : llvm::enumerate(parts)) {
    SyncProof proof(facts, part);
    proof.run();
    if (proof.hasFailed())
      return false;
    DenseSet<SyncProof::Pair> common;
    for (const SyncProof::Pair &pair : proof.getOpen())
      if (i == 0 || left.contains(pair))
        common.insert(pair);
    left = std::move(common);
  }
  return left.empty();
}

static LogicalResult verify(gpu::GPUFuncOp kernel) {
  SyncFacts facts(kernel);
  if (failed(checkBarriers(kernel)) || failed(checkDivergence(facts)) ||
      failed(checkRoles(kernel)) || failed(checkClusters(kernel)) ||
      failed(checkRounding(kernel)))
    return failure();
  if (proveInParts(facts))
    return success();
  SyncProof proof(facts);
  proof.run();
  return failure(proof.hasFailed());
}

namespace {
struct VerifySyncPass : tl::impl::VerifySyncPassBase<VerifySyncPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(requirePlainLoops(kernel)) || failed(requireOffsets(kernel)) ||
          failed(verify(kernel)))
        return signalPassFailure();
  }
};
} // namespace
