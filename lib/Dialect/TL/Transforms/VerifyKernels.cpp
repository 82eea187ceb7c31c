//===- VerifyKernels.cpp - Check what concerns more than one op -----------===//
//
// Op verifiers see one op. This pass checks what needs the whole module before
// anything is rewritten, so that errors are about the user's program.
//
//===----------------------------------------------------------------------===//

#include "Mistakes.h"

#include "tl/Dialect/TL/IR/Prints.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace tl {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// Given names must differ: each becomes a symbol of the module.
static LogicalResult verifyNames(ModuleOp module) {
  llvm::StringMap<KernelOp> seen;
  WalkResult result = module.walk([&](KernelOp kernel) {
    if (!kernel.getName())
      return WalkResult::advance();
    auto [it, inserted] = seen.try_emplace(*kernel.getName(), kernel);
    if (inserted)
      return WalkResult::advance();
    InFlightDiagnostic diag = kernel.emitOpError("is named `")
                              << *kernel.getName()
                              << "`, as another kernel of this module is";
    diag.attachNote(it->second.getLoc()) << "the other one is here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// A tile op outside of a kernel has no block to run on.
static LogicalResult verifyPlace(Operation *op) {
  if (op->getParentOfType<KernelOp>())
    return success();
  // Nobody passes the record that an outlined kernel would print to.
  if (!isa<PrintOp, AssertOp>(op) &&
      (!isa<TileOpInterface, AllocOp, AtomicOp, PipelinedOp, LoadOp, StoreOp>(
           op) ||
       op->getParentOfType<gpu::GPUFuncOp>()))
    return success();
  return op->emitOpError("belongs inside a kernel (`with T.Kernel(...)`)");
}

/// A launch plan is a list: launches do not stand inside control flow.
static LogicalResult verifyHost(Operation *op) {
  if (!isa<KernelOp, LaunchOp, SourceKernelOp>(op) ||
      isa<func::FuncOp>(op->getParentOp()))
    return success();
  if (op->getParentOfType<KernelOp>())
    return op->emitOpError("cannot be inside another kernel");
  InFlightDiagnostic diag =
      op->emitOpError("cannot be inside host control flow: a launch plan is a "
                      "list of launches; decide with Python values, or inside "
                      "the kernel");
  diag.attachNote(op->getParentOp()->getLoc()) << "the control flow is here";
  return diag;
}

/// Warns of what has a meaning, but hardly the intended one.
static void warnOfMistakes(Operation *op) {
  if (!isa<KernelOp, gpu::GPUFuncOp>(op))
    return;
  Region &body = op->getRegion(0);
  warnOfUnwritten(body);
  warnOfRaces(body);
  if (auto kernel = dyn_cast<KernelOp>(op))
    warnOfIdleThreads(body, llvm::product_of(kernel.getThreads()));
}

namespace {
struct VerifyKernelsPass : tl::impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    WalkResult result = module.walk([](Operation *op) {
      if (failed(verifyPlace(op)) || failed(verifyHost(op)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted() || failed(verifyNames(module)))
      return signalPassFailure();
    module.walk(warnOfMistakes);
    markAllAnalysesPreserved();
  }
};
} // namespace
