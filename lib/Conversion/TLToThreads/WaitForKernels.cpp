//===- WaitForKernels.cpp - Wait for what is launched before a kernel -----===//
//
// Sound because the wait stands in front of every op that may touch device
// memory, which tl-verify-thread-level checks, where all threads come by; and
// because all that is done before it is arithmetic, setting up what is in
// shared memory, and fetching into the L2 cache, where memory's contents are
// one, who ever writes them. The kernel's last write is behind its wait, so
// that whoever waits for this kernel has waited for those before it.
//
// What is fetched are the boxes of bulk loads that stand in front of the first
// loop: the branches around them are copied, with nothing in them but these
// fetches and arithmetic.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/Passes.h"
#include "tl/Dialect/TL/Analysis/ThreadLevel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

namespace tl {
#define GEN_PASS_DEF_WAITFORKERNELSPASS
#include "tl/Conversion/TLToThreads/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using BulkLoad = NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp;

/// True if `op` is a loop, or holds one.
static bool hasLoop(Operation *op) {
  return op->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// The branches behind `wait`, up to the first loop, that load boxes.
static SmallVector<scf::IfOp> findLoads(Operation *wait) {
  SmallVector<scf::IfOp> branches;
  for (Operation *op = wait->getNextNode(); op && !hasLoop(op);
       op = op->getNextNode())
    if (auto branch = dyn_cast<scf::IfOp>(op);
        branch && branch.getNumResults() == 0 &&
        branch.walk([](BulkLoad) { return WalkResult::interrupt(); })
            .wasInterrupted())
      branches.push_back(branch);
  return branches;
}

/// Adds what stands between `wait` and `branch`, and the branch needs. False if
/// that is more than arithmetic.
static bool addOperands(scf::IfOp branch, Operation *wait,
                        llvm::SetVector<Operation *> &needed) {
  llvm::SetVector<Operation *> found;
  SmallVector<Operation *> worklist = {branch};
  auto visit = [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    if (!op || op->getBlock() != wait->getBlock() ||
        op->isBeforeInBlock(wait) || !found.insert(op))
      return;
    worklist.push_back(op);
  };
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (op != branch && (op->getNumRegions() != 0 || !isMemoryEffectFree(op)))
      return false;
    op->walk(
        [&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
  }
  needed.insert_range(found);
  return true;
}

/// Makes fetches of the loads in a copied branch, and takes away what else has
/// effects. False, with nothing promised of the branch, if something that is
/// left uses a result of that.
static bool keepFetches(scf::IfOp branch) {
  SmallVector<Operation *> others;
  branch.walk([&](Operation *op) {
    if (auto load = dyn_cast<BulkLoad>(op)) {
      OpBuilder builder(load);
      NVVM::CpAsyncBulkTensorPrefetchOp::create(
          builder, load.getLoc(), load.getTmaDescriptor(),
          load.getCoordinates(), /*im2colOffsets=*/ValueRange(),
          NVVM::TMALoadMode::TILE, /*l2CacheHint=*/Value());
      others.push_back(op);
    } else if (!isa<scf::IfOp, scf::YieldOp>(op) && !isMemoryEffectFree(op)) {
      others.push_back(op);
    }
  });
  for (Operation *op : llvm::reverse(others)) {
    if (!op->use_empty())
      return false;
    op->erase();
  }
  return true;
}

/// Fetches the first boxes in front of `wait`.
static void fetchFirstBoxes(Operation *wait) {
  SmallVector<scf::IfOp> branches;
  llvm::SetVector<Operation *> needed;
  for (scf::IfOp branch : findLoads(wait))
    if (addOperands(branch, wait, needed))
      branches.push_back(branch);
  OpBuilder builder(wait);
  IRMapping copies;
  SmallVector<Operation *> ordered = needed.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ordered)
    builder.clone(*op, copies);
  for (scf::IfOp branch : branches) {
    auto copy = cast<scf::IfOp>(builder.clone(*branch, copies));
    if (!keepFetches(copy))
      copy.erase();
  }
}

static void waitForKernels(gpu::GPUFuncOp kernel) {
  Block &body = kernel.getBody().front();
  auto first = llvm::find_if(
      body, [](Operation &op) { return mayTouchDeviceMemory(&op); });
  OpBuilder builder(first == body.end() ? body.getTerminator() : &*first);
  Location loc = kernel.getLoc();
  auto wait = NVVM::GriddepcontrolOp::create(builder, loc,
                                             NVVM::GridDepActionKind::wait);
  fetchFirstBoxes(wait);
  builder.setInsertionPointToStart(&body);
  NVVM::GriddepcontrolOp::create(builder, loc,
                                 NVVM::GridDepActionKind::launch_dependents);
}

namespace {
struct WaitForKernelsPass
    : tl::impl::WaitForKernelsPassBase<WaitForKernelsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (kernel->hasAttr(kDependentAttr))
        waitForKernels(kernel);
  }
};
} // namespace
