//===- AssignStages.cpp - Decide which copies run ahead, and by what ------===//
//
// Sound because a copy is marked `tl.ahead` only if no statement can see that
// it was started early, which RunAhead.cpp defines, and because the engine can
// carry out every copy that is marked, which BulkCopy.cpp and the verifiers of
// `tl.pipelined` and `tl.copy` check; and a gemm is marked `tl.delayed` only if
// no statement can see that it is done late, which DelayedGemm.cpp defines. The
// pass moves nothing.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/BulkCopy.h"
#include "tl/Dialect/TL/Analysis/DelayedGemm.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/Analysis/RunAhead.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tl-assign-stages"

namespace tl {
#define GEN_PASS_DEF_ASSIGNSTAGESPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static remark::RemarkOpts remarkOptions() {
  return remark::RemarkOpts::name("pipeline").category(DEBUG_TYPE);
}

/// True if a slot and its phase can be carried to where the loop stands from
/// the kernel's start: a second run of the loop must know where the first one
/// stopped.
static bool canCarryPhase(PipelinedOp loop) {
  for (Operation *parent = loop->getParentOp(); !isa<gpu::GPUFuncOp>(parent);
       parent = parent->getParentOp())
    if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp, PipelinedOp>(parent))
      return false;
  return true;
}

/// The engine for all copies of a loop; says in a remark why it is not the bulk
/// copy engine, if the target has one.
static CopyEngine chooseEngine(PipelinedOp loop, ArrayRef<CopyOp> copies,
                               const Target &target) {
  if (!target.hasBulkCopy())
    return CopyEngine::Groups;
  auto refuse = [](Operation *op, const std::string &reason) {
    remark::missed(op->getLoc(), remarkOptions())
        << "the loop's copies do not use the bulk copy engine: " + reason;
    return CopyEngine::Groups;
  };
  if (!canCarryPhase(loop))
    return refuse(loop, "the loop stands in control flow through which its "
                        "state cannot be carried");
  for (CopyOp copy : copies) {
    auto alloc = copy.getTarget().getDefiningOp<AllocOp>();
    std::string reason;
    if (!getBulkCopyShape(copy, cast<SharedLayoutAttr>(alloc.getLayoutAttr()),
                          reason))
      return refuse(copy, reason);
  }
  return CopyEngine::Bulk;
}

static void assign(PipelinedOp loop, const Target &target) {
  if (loop.getStages() < 2 || getEngine(loop))
    return;
  RunAhead found = RunAhead::of(loop);
  if (found.copies.empty()) {
    remark::missed(loop.getLoc(), remarkOptions())
        << "loop is not pipelined: " + found.whyNone();
    return;
  }
  for (auto &[copy, reason] : found.refusals)
    remark::missed(copy.getLoc(), remarkOptions())
        << "copy does not run ahead: " + reason;
  Builder builder(loop.getContext());
  CopyEngine engine = chooseEngine(loop, found.copies, target);
  loop->setAttr(kEngineAttr,
                builder.getStringAttr(stringifyCopyEngine(engine)));
  for (CopyOp copy : found.copies)
    copy->setAttr(kAheadAttr, builder.getUnitAttr());

  std::string reason;
  if (std::optional<DelayedGemm> delayed = DelayedGemm::of(loop, reason)) {
    delayed->gemm->setAttr(kDelayedAttr, builder.getUnitAttr());
    remark::passed(delayed->gemm.getLoc(), remarkOptions())
        << "gemm runs beside the next iteration";
  } else if (!reason.empty()) {
    remark::missed(loop.getLoc(), remarkOptions())
        << "the last gemm does not run beside the next iteration: " + reason;
  }
}

namespace {
struct AssignStagesPass : tl::impl::AssignStagesPassBase<AssignStagesPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(requireSharedLayouts(kernel)))
        return signalPassFailure();
    getOperation().walk([&](PipelinedOp loop) { assign(loop, *target); });
  }
};
} // namespace
