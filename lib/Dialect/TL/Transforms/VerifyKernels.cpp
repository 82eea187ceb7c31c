//===- VerifyKernels.cpp - Check what concerns more than one op -----------===//
//
// Op verifiers see one op. This pass checks what needs the whole module before
// anything is rewritten, so that errors are about the user's program.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/TL.h"
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
  if (!isa<TileOpInterface, AllocOp, PipelinedOp, LoadOp, StoreOp>(op) ||
      op->getParentOfType<KernelOp>() || op->getParentOfType<gpu::GPUFuncOp>())
    return success();
  return op->emitOpError("expects to be inside a `tl.kernel`");
}

/// Which thread holds an element of a fragment is known only to the loop that
/// is spread like it.
static LogicalResult verifyFragmentAccess(Operation *op) {
  Value buffer;
  if (auto load = dyn_cast<LoadOp>(op))
    buffer = load.getSource();
  else if (auto store = dyn_cast<StoreOp>(op))
    buffer = store.getTarget();
  if (!buffer || !isInSpace(buffer, Space::Fragment) ||
      op->getParentOfType<ParallelOp>())
    return success();
  return op->emitOpError("accesses an element of a fragment outside of "
                         "`tl.parallel`; put it into a parallel loop, or use "
                         "workgroup or private memory");
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

/// An op that reads `buffer`, if no op writes it; null if one does, or may.
static Operation *findReadOfUnwritten(AllocOp buffer) {
  Operation *read = nullptr;
  SmallVector<Value> views = {buffer.getResult()};
  while (!views.empty()) {
    Value view = views.pop_back_val();
    for (Operation *user : view.getUsers()) {
      if (auto slot = dyn_cast<SlotOp>(user)) {
        views.push_back(slot.getResult());
        continue;
      }
      if (isa<memref::DimOp>(user))
        continue;
      auto interface = dyn_cast<MemoryEffectOpInterface>(user);
      SmallVector<MemoryEffects::EffectInstance> effects;
      if (interface)
        interface.getEffectsOnValue(view, effects);
      if (effects.empty() ||
          !llvm::all_of(effects, [](const MemoryEffects::EffectInstance &it) {
            return isa<MemoryEffects::Read>(it.getEffect());
          }))
        return nullptr;
      read = user;
    }
  }
  return read;
}

/// What is read and never written has no value: nearly always a line is
/// missing. Memory that some paths leave unwritten is the program's affair.
static void warnOfUnwritten(AllocOp buffer) {
  Operation *read = findReadOfUnwritten(buffer);
  if (!read)
    return;
  StringAttr given = getGivenName(buffer.getLoc());
  std::string name = given ? ("`" + given.getValue() + "`").str() : "a buffer";
  InFlightDiagnostic diag = read->emitWarning("reads ")
                            << name << ", but nothing writes it";
  diag.attachNote(buffer.getLoc()) << "it is allocated here";
}

namespace {
struct VerifyKernelsPass : tl::impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    WalkResult result = module.walk([](Operation *op) {
      if (failed(verifyPlace(op)) || failed(verifyFragmentAccess(op)) ||
          failed(verifyHost(op)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted() || failed(verifyNames(module)))
      return signalPassFailure();
    module.walk(warnOfUnwritten);
    markAllAnalysesPreserved();
  }
};
} // namespace
