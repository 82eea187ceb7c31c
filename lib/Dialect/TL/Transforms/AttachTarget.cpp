//===- AttachTarget.cpp - Say which chip the kernels are for --------------===//
//
// The target is an attribute of each kernel's module, so that it is part of
// what the cache fingerprints and every later pass reads it from the IR.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Calls.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

namespace tl {
#define GEN_PASS_DEF_ATTACHTARGETPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// Blocks form clusters from compute capability 9.0 on (CUDA programming guide,
/// "Thread Block Clusters"). On the CPU they are blocks like others.
static LogicalResult verifyClusters(ModuleOp module, const Target &target) {
  static constexpr int kFirstWithClusters = 90;
  if (target.isCPU() || target.getCapability() >= kFirstWithClusters)
    return success();
  WalkResult result = module.walk([&](LaunchOp launch) {
    if (llvm::product_of(launch.getCluster().value_or(ArrayRef<int64_t>())) <=
        1)
      return WalkResult::advance();
    launch.emitError("launches clusters of blocks, which `")
        << target.getChip()
        << "` does not have; launch it without them, or compile for `sm_90` or "
           "later";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct AttachTargetPass : tl::impl::AttachTargetPassBase<AttachTargetPass> {
  using AttachTargetPassBase::AttachTargetPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Target> parsed =
        Target::parse(chip, [&] { return module.emitError(); });
    if (failed(parsed) || failed(verifyClusters(module, *parsed)))
      return signalPassFailure();
    auto attached = TargetAttr::get(&getContext(), chip);
    auto unit = UnitAttr::get(&getContext());
    for (auto kernels : module.getOps<gpu::GPUModuleOp>()) {
      if (chip == "cpu" && !kernels.getOps<CudaUnitOp>().empty()) {
        kernels.emitError("source kernel `")
            << kernels.getName()
            << "` is device code, and cannot be compiled for `cpu`; compile "
               "for a GPU, such as `sm_90a`";
        return signalPassFailure();
      }
      if (CallSourceOp call =
              chip == "cpu" ? findSourceCall(kernels) : CallSourceOp()) {
        call.emitError("`")
            << call.getFunction()
            << "` is CUDA C++, and cannot be compiled for `cpu`; compile for a "
               "GPU, such as `sm_90a`, or write it in the language";
        return signalPassFailure();
      }
      if (!kernels->hasAttr(kTargetAttr))
        kernels->setAttr(kTargetAttr, attached);
      if (lineInfo)
        kernels->setAttr(
            kLineInfoAttr,
            StringAttr::get(&getContext(), findCommonFolder(kernels)));
      if (fastMath)
        kernels->setAttr(kFastMathAttr, unit);
    }
  }
};
} // namespace
