//===- OverlapLaunches.cpp - Let kernels begin while others end -----------===//
//
// A kernel that may be launched before the ones in front of it are done costs
// no time between them: its blocks come to where others have left, and set up
// what they need.
//
// Sound because the kernel waits by itself: it is marked here, and what the
// mark promises is put there by tl-wait-for-kernels and held to by
// tl-verify-thread-level. The launch does not see whether the kernel waits,
// which is compiled apart from it; so the mark, without which nobody would
// notice, is on the kernel's module, as its target is. Passes over a module may
// make kernels anew, and leave out what they do not know, but not the module.
// The mark is part of the kernel's key. A kernel's wait
// is one for all kernels before it, since each of these has waited in all of
// its blocks before it was done. A source kernel that is launched so may not
// have: the kernel behind it is launched when all before are done.
//
// Not for blocks that only load, compute and store, and fill a GPU: they find
// room when those of the kernel before have ended, have nothing to set up, and
// each of them waits. 2048 blocks of 128 threads took 2.8 us one after the
// other on an H200, where ones of TileLang's without waits took 2.0, and 8192
// blocks 5.4 and 3.6.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/Passes.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/ThreadLevel.h"
#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/LaunchBounds.h"
#include "tl/Dialect/TL/IR/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"

namespace tl {
#define GEN_PASS_DEF_OVERLAPLAUNCHESPASS
#include "tl/Conversion/TLToThreads/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// True if the launch before is one of a source kernel that waits by itself, or
/// does not.
static bool isBehindOthers(LaunchOp launch) {
  for (Operation *op = launch->getPrevNode(); op; op = op->getPrevNode())
    if (auto before = dyn_cast<LaunchOp>(op))
      return before.getDependent() && !isa_and_nonnull<gpu::GPUFuncOp>(
                                          SymbolTable::lookupNearestSymbolFrom(
                                              before, before.getKernel()));
  return false;
}

/// True if the blocks of `launch` fill a GPU.
static bool fillsGPU(LaunchOp launch) {
  int64_t threads = llvm::product_of(launch.getBlock());
  for (Value extent : launch.getGrid()) {
    std::optional<int64_t> known = getConstantIntValue(extent);
    if (!known)
      return false;
    threads =
        std::min(threads * std::min(*known, kThreadsOfGPU), kThreadsOfGPU);
  }
  return threads == kThreadsOfGPU;
}

/// Elements of a fragment that a thread of a short block has at most.
static constexpr int64_t kFewElements = 4;

/// True if blocks of `kernel`, of so many threads, load a few elements for each
/// of them, compute and store, and have nothing to set up before.
static bool isShort(gpu::GPUFuncOp kernel, int64_t threads) {
  WalkResult result = kernel.walk([&](Operation *op) {
    auto loop = dyn_cast<ParallelOp>(op);
    auto alloc = dyn_cast<AllocOp>(op);
    auto copy = dyn_cast<CopyOp>(op);
    bool isShort = true;
    if (loop)
      isShort = llvm::product_of(loop.getExtents()) <= kFewElements * threads;
    else if (copy)
      isShort = llvm::product_of(copy.getTile()) <= kFewElements * threads;
    else if (alloc)
      isShort = !isInSpace(alloc, Space::Shared) &&
                alloc.getType().getNumElements() <= kFewElements * threads;
    else
      isShort = !isa<LoopLikeOpInterface, PipelinedOp, GemmOp, AllocBarriersOp,
                     CallSourceOp>(op);
    return isShort ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// Has the kernel of a launch wait by itself. Fails, after an error, if it has
/// no target.
static LogicalResult overlap(LaunchOp launch) {
  auto kernel = dyn_cast_or_null<gpu::GPUFuncOp>(
      SymbolTable::lookupNearestSymbolFrom(launch, launch.getKernel()));
  if (!kernel || launch.getCooperative() || isBehindOthers(launch))
    return success();
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  FailureOr<Target> target = Target::of(module);
  if (failed(target))
    return failure();
  // PTX ISA, "griddepcontrol".
  constexpr int firstWithDependentLaunches = 90;
  if (target->isCPU() || target->getCapability() < firstWithDependentLaunches)
    return success();
  if (fillsGPU(launch) && isShort(kernel, llvm::product_of(launch.getBlock())))
    return success();
  launch.setDependent(true);
  module->setAttr(kDependentAttr, UnitAttr::get(launch.getContext()));
  return success();
}

namespace {
struct OverlapLaunchesPass
    : tl::impl::OverlapLaunchesPassBase<OverlapLaunchesPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk(
        [](LaunchOp launch) { return WalkResult(overlap(launch)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
