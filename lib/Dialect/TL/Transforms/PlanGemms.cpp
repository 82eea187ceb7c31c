//===- PlanGemms.cpp - Choose the instruction of each gemm ----------------===//
//
// Comes before layouts, because hardware fixes where an accumulator lies. Gemms
// on one accumulator take the plan of the first where they can, so that it can
// stay in its registers.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/GemmPlan.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tl-plan-gemms"

namespace tl {
#define GEN_PASS_DEF_PLANGEMMSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static void planGemms(gpu::GPUFuncOp kernel, const Target &target) {
  llvm::DenseMap<Value, GemmPlanAttr> plans;
  kernel.walk([&](GemmOp gemm) {
    GemmPlanAttr &known = plans[gemm.getAcc()];
    if (GemmPlanAttr given = gemm.getPlanAttr()) {
      known = given;
      return;
    }
    std::string reason;
    GemmPlanAttr plan =
        planGemm(gemm, target, getThreads(gemm).count, known, reason);
    gemm.setPlanAttr(plan);
    if (!known)
      known = plan;
    if (!reason.empty())
      remark::missed(gemm.getLoc(),
                     remark::RemarkOpts::name("gemm").category(DEBUG_TYPE))
          << llvm::formatv("gemm uses {0}: {1}",
                           stringifyInstruction(plan.getInstruction()), reason)
                 .str();
  });
}

namespace {
struct PlanGemmsPass : tl::impl::PlanGemmsPassBase<PlanGemmsPass> {
  void runOnOperation() override {
    FailureOr<Target> target = Target::of(getOperation());
    if (failed(target))
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      planGemms(kernel, *target);
  }
};
} // namespace
