//===- Requirements.cpp - What a pass needs of the passes before ----------===//
//
// See Requirements.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Requirements.h"

#include "tl/Dialect/TL/IR/TL.h"

using namespace mlir;
using namespace tl;

/// Fails for the first op for which `isMissing` holds.
static LogicalResult require(gpu::GPUFuncOp kernel, StringRef what,
                             StringRef pass,
                             function_ref<bool(Operation *)> isMissing) {
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (!isMissing(op))
      return WalkResult::advance();
    return op->emitOpError(what) << ": run `" << pass << "` first";
  });
  return failure(result.wasInterrupted());
}

static bool isShared(Operation *op) {
  auto alloc = dyn_cast<AllocOp>(op);
  return alloc && getSpace(alloc.getType()) == Space::Shared;
}

LogicalResult tl::requireSharedLayouts(gpu::GPUFuncOp kernel) {
  return require(kernel, "has no layout", "tl-infer-layouts",
                 [](Operation *op) {
                   return isShared(op) && !cast<AllocOp>(op).getLayoutAttr();
                 });
}

LogicalResult tl::requireLayouts(gpu::GPUFuncOp kernel) {
  auto lacksLayout = [](Operation *op) {
    if (auto loop = dyn_cast<ParallelOp>(op))
      return !loop.getLayoutAttr();
    auto alloc = dyn_cast<AllocOp>(op);
    return alloc && getSpace(alloc.getType()) != Space::Private &&
           !alloc.getLayoutAttr();
  };
  if (failed(require(kernel, "has no layout", "tl-infer-layouts", lacksLayout)))
    return failure();
  return require(kernel, "has no plan", "tl-plan-gemms", [](Operation *op) {
    auto gemm = dyn_cast<GemmOp>(op);
    return gemm && !gemm.getPlan();
  });
}

LogicalResult tl::requirePlainLoops(gpu::GPUFuncOp kernel) {
  return require(kernel, "is not a plain loop yet", "tl-expand-pipeline",
                 [](Operation *op) { return isa<PipelinedOp>(op); });
}

LogicalResult tl::requireOffsets(gpu::GPUFuncOp kernel) {
  return require(kernel, "has no offset", "tl-plan-shared-memory",
                 [](Operation *op) {
                   if (auto barriers = dyn_cast<AllocBarriersOp>(op))
                     return !barriers.getOffset();
                   return isShared(op) && !cast<AllocOp>(op).getOffset();
                 });
}
