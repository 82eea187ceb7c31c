//===- AttachTarget.cpp - Say which chip the kernels are for --------------===//
//
// The target is an attribute of each kernel's module, so that it is part of
// what the cache fingerprints and every later pass reads it from the IR.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

namespace tl {
#define GEN_PASS_DEF_ATTACHTARGETPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

namespace {
struct AttachTargetPass : tl::impl::AttachTargetPassBase<AttachTargetPass> {
  using AttachTargetPassBase::AttachTargetPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(Target::parse(chip, [&] { return module.emitError(); })))
      return signalPassFailure();
    auto target = TargetAttr::get(&getContext(), chip);
    auto unit = UnitAttr::get(&getContext());
    for (auto kernels : module.getOps<gpu::GPUModuleOp>()) {
      if (chip == "cpu" && !kernels.getOps<CudaUnitOp>().empty()) {
        kernels.emitError("source kernel `")
            << kernels.getName()
            << "` is device code, and cannot be compiled for `cpu`; compile "
               "for a GPU, such as `sm_90a`";
        return signalPassFailure();
      }
      if (!kernels->hasAttr(kTargetAttr))
        kernels->setAttr(kTargetAttr, target);
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
