//===- LowerPipes.cpp - Make barriers and waits of pipes ------------------===//
//
//   step       bulk                              groups
//   ----       ----                              ------
//   pipe       an mbarrier for each slot         nothing
//   acquire    block barrier, unless one stands between release and acquire
//   fill       completes on the slot's mbarrier  belongs to a group
//   commit     nothing                           closes the group
//   wait       for a phase of the mbarrier       for all groups but the last
//                                                ones; fence; block barrier
//   release    nothing                           nothing
//   drain      nothing                           wait for all groups
//
// Where an acquire has a phase, one role fills bulk slots and another one reads
// them. Each slot has a second mbarrier then, which completes a phase when all
// warps that read the slot have arrived: a release arrives at it, and an
// acquire waits for it. What is to be filled for the first time need not be
// waited for: that is what the phase before the first one stands for, which
// counts as complete. tl-verify-sync proves for each kernel that the steps of
// both roles agree.
//
// Where blocks of a cluster fetch tiles together, a slot is written by all of
// them. So a release arrives in each block, whose second mbarriers count the
// warps of all; before the first use of the mbarriers the cluster waits until
// they are set up in all blocks, and at the end until nobody uses them any
// more.
//
// Sound because
//  - an mbarrier completes a phase after one arrival for each ring, and the
//    bytes that each announced: a fill is one copy into each ring, all of them
//    or, behind the last iteration, none, and then nobody waits for it;
//  - groups complete in order, and `tl.pipe_wait` says how many of this pipe
//    may follow the one that it waits for. Groups of other pipes in between
//    only make it wait for more;
//  - each thread waits for its own groups, and the block barrier behind that
//    makes them visible to all. What `cp.async` wrote has been written by the
//    threads, so each fences it before the barrier if `wgmma` or a bulk store
//    reads it;
//  - a thread that is at a release has read the slot, and all threads have been
//    there at the next block barrier.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace tl {
#define GEN_PASS_DEF_LOWERPIPESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static constexpr int64_t kWarp = 32;

static bool isBulk(PipeOp pipe) {
  return pipe.getType().getEngine() == CopyEngine::Bulk;
}

/// True if `op` reads shared memory through the async proxy.
static bool readsByAsyncProxy(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getBulk() && isInSpace(copy.getSource(), Space::Shared);
  auto gemm = dyn_cast<GemmOp>(op);
  return gemm && gemm.getPlan() &&
         gemm.getPlan()->getInstruction() == Instruction::WGMMA;
}

static bool feedsAsyncProxy(PipeOp pipe) {
  for (Value ring : pipe.getRings())
    for (Operation *slot : ring.getUsers())
      if (isa<SlotOp>(slot) &&
          llvm::any_of(slot->getUsers(), readsByAsyncProxy))
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Acquire
//===----------------------------------------------------------------------===//

/// True if passing `op` itself, not something inside of it, means that all
/// threads have come there.
static bool isBlockBarrier(Operation *op) {
  if (auto wait = dyn_cast<PipeWaitOp>(op))
    return wait.getPipe().getType().getEngine() == CopyEngine::Groups;
  return isa<gpu::BarrierOp>(op);
}

static bool containsRelease(Operation *op, Value pipe) {
  return op
      ->walk([&](PipeReleaseOp release) {
        return release.getPipe() == pipe ? WalkResult::interrupt()
                                         : WalkResult::advance();
      })
      .wasInterrupted();
}

/// True if on some way to `acquire` no block barrier follows the last release.
/// Walks backwards, out of regions but never into them.
static bool needsBarrier(PipeAcquireOp acquire) {
  Value pipe = acquire.getPipe();
  for (Operation *op = acquire; !isa<gpu::GPUFuncOp>(op);
       op = op->getParentOp()) {
    // The way to the start of a loop's body leads from its end.
    if (isa<LoopLikeOpInterface>(op) && containsRelease(op, pipe))
      return true;
    for (Operation *before = op->getPrevNode(); before;
         before = before->getPrevNode()) {
      if (isBlockBarrier(before))
        return false;
      if (containsRelease(before, pipe))
        return true;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// One pipe
//===----------------------------------------------------------------------===//

/// Lets the copies into the rings complete on the barriers of their slots.
static void attachBarriers(PipeOp pipe, Value barriers) {
  // New operands move the old ones, which are links of the lists of uses.
  SmallVector<std::pair<CopyOp, SlotOp>> fills;
  for (Value ring : pipe.getRings())
    for (Operation *user : ring.getUsers())
      if (auto slot = dyn_cast<SlotOp>(user))
        for (Operation *filler : slot->getUsers())
          if (auto copy = dyn_cast<CopyOp>(filler))
            if (copy.getTarget() == slot.getView())
              fills.push_back({copy, slot});
  for (auto [copy, slot] : fills) {
    copy.getBarrierMutable().assign(barriers);
    copy.getBarrierIndexMutable().assign(slot.getIndex());
  }
}

static Value makeBarriers(PipeOp pipe, int64_t arrivals) {
  OpBuilder builder(pipe);
  auto space = gpu::AddressSpaceAttr::get(pipe.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({pipe.getType().getStages()},
                              MBarrierType::get(pipe.getContext()),
                              MemRefLayoutAttrInterface(), space);
  return AllocBarriersOp::create(builder, pipe.getLoc(), type, arrivals,
                                 /*offset=*/nullptr);
}

/// True if the blocks of the cluster fill slots of `pipe` together.
static bool isShared(PipeOp pipe) {
  for (Value ring : pipe.getRings())
    for (Operation *slot : ring.getUsers())
      if (llvm::any_of(slot->getUsers(), isMulticast))
        return true;
  return false;
}

/// How many warps of a block release each slot of a pipe, if that is what an
/// acquire waits for; else 0.
static int64_t countReleases(PipeOp pipe) {
  bool hasPhase = llvm::any_of(pipe->getUsers(), [](Operation *step) {
    auto acquire = dyn_cast<PipeAcquireOp>(step);
    return acquire && acquire.getPhase();
  });
  for (Operation *step : pipe->getUsers())
    if (isa<PipeReleaseOp>(step) && hasPhase)
      return llvm::divideCeil(getThreads(step).count, kWarp);
  return 0;
}

namespace {
/// The mbarriers of a pipe, or null.
struct PipeBarriers {
  Value full, empty;
  /// Those of all blocks of the cluster are arrived at.
  bool inCluster = false;
};
} // namespace

static void lowerStep(Operation *step, const PipeBarriers &barriers,
                      bool needsFence) {
  OpBuilder builder(step);
  Location loc = step->getLoc();
  if (auto acquire = dyn_cast<PipeAcquireOp>(step)) {
    if (barriers.empty) {
      Value other = arith::XOrIOp::create(
          builder, loc, acquire.getPhase(),
          arith::ConstantIntOp::create(builder, loc, 1, 32));
      WaitBarrierOp::create(builder, loc, barriers.empty, acquire.getSlot(),
                            other);
    }
  } else if (auto release = dyn_cast<PipeReleaseOp>(step)) {
    if (barriers.empty)
      ArriveBarrierOp::create(builder, loc, barriers.empty, release.getSlot(),
                              barriers.inCluster);
  } else if (auto wait = dyn_cast<PipeWaitOp>(step)) {
    if (barriers.full) {
      WaitBarrierOp::create(builder, loc, barriers.full, wait.getSlot(),
                            wait.getPhase());
    } else {
      WaitCopiesOp::create(builder, loc, wait.getAhead());
      if (needsFence)
        FenceAsyncOp::create(builder, loc, /*device=*/false);
      gpu::BarrierOp::create(builder, loc);
    }
  } else if (isa<PipeCommitOp>(step) && !barriers.full) {
    CommitCopiesOp::create(builder, loc);
  } else if (isa<PipeDrainOp>(step) && !barriers.full) {
    WaitCopiesOp::create(builder, loc, 0);
  }
  step->erase();
}

static void lower(PipeOp pipe) {
  PipeBarriers barriers;
  if (isBulk(pipe)) {
    barriers.full = makeBarriers(pipe, pipe.getRings().size());
    attachBarriers(pipe, barriers.full);
    barriers.inCluster = isShared(pipe);
    int64_t blocks =
        barriers.inCluster
            ? getClusterSize(pipe->getParentOfType<gpu::GPUFuncOp>())
            : 1;
    if (int64_t releases = countReleases(pipe))
      barriers.empty = makeBarriers(pipe, releases * blocks);
  }
  bool needsFence = !isBulk(pipe) && feedsAsyncProxy(pipe);
  for (Operation *step : llvm::make_early_inc_range(pipe->getUsers()))
    lowerStep(step, barriers, needsFence);
  pipe.erase();
}

/// Has the cluster wait until mbarriers are set up, and again at the end.
static void addClusterBarriers(gpu::GPUFuncOp kernel) {
  Block &body = kernel.getBody().front();
  AllocBarriersOp last;
  for (auto barriers : body.getOps<AllocBarriersOp>())
    last = barriers;
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointAfter(last);
  ClusterBarrierOp::create(builder, last.getLoc());
  builder.setInsertionPoint(body.getTerminator());
  ClusterBarrierOp::create(builder, kernel.getLoc());
}

namespace {
struct LowerPipesPass : tl::impl::LowerPipesPassBase<LowerPipesPass> {
  void runOnOperation() override {
    // While the steps of all pipes are still there to be seen.
    SmallVector<PipeAcquireOp> acquires;
    getOperation().walk([&](PipeAcquireOp op) { acquires.push_back(op); });
    for (PipeAcquireOp acquire : acquires)
      if (!acquire.getPhase() && needsBarrier(acquire)) {
        OpBuilder builder(acquire);
        gpu::BarrierOp::create(builder, acquire.getLoc());
      }
    SmallVector<PipeOp> pipes;
    getOperation().walk([&](PipeOp pipe) { pipes.push_back(pipe); });
    llvm::SmallSetVector<gpu::GPUFuncOp, 1> inClusters;
    for (PipeOp pipe : pipes)
      if (isShared(pipe))
        inClusters.insert(pipe->getParentOfType<gpu::GPUFuncOp>());
    llvm::for_each(pipes, lower);
    llvm::for_each(inClusters, addClusterBarriers);
  }
};
} // namespace
