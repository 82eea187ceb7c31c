//===- PlanGemms.cpp - Choose the instruction of each gemm ----------------===//
//
// Comes before layouts, because hardware fixes where an accumulator lies. Gemms
// on one accumulator take the plan of the first where they can, so that it can
// stay in its registers.
//
// Chips before sm_89 do not multiply floats of 8 bits: their tiles are copied
// to ones of f16, which holds each of them, so that the products are the same.
// The copies stand before the gemm, and nothing else sees them.
//
// Sound with any plan: it says how a product is computed, not what. That
// layouts fit the plans is what tl-verify-layouts checks.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/GemmPlan.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "tl-plan-gemms"

namespace tl {
#define GEN_PASS_DEF_PLANGEMMSPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

static bool isSmallFloat(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

/// Copies an operand of 8-bit floats to a tile of f16, and takes that.
static void widenOperand(GemmOp gemm, bool ofB, gpu::GPUFuncOp kernel) {
  MemRefType type = gemm.getOperandType(ofB);
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  auto wide = MemRefType::get(type.getShape(), builder.getF16Type(),
                              AffineMap(), type.getMemorySpace());
  Value tile =
      AllocOp::create(builder, gemm->getLoc(), wide,
                      /*layout=*/Attribute(), /*offset=*/IntegerAttr());
  builder.setInsertionPoint(gemm);
  SmallVector<Value> place;
  if (gemm.hasWindow(ofB))
    for (int64_t first : gemm.getPlace(ofB))
      place.push_back(
          arith::ConstantIndexOp::create(builder, gemm->getLoc(), first));
  CopyOp::create(builder, gemm->getLoc(), ofB ? gemm.getB() : gemm.getA(),
                 place, tile, ValueRange(),
                 builder.getDenseI64ArrayAttr(type.getShape()), /*async=*/false,
                 /*bulk=*/false, /*barrier=*/Value(), /*barrierIndex=*/Value());
  gemm.setOperand(ofB, tile);
}

/// Has a gemm multiply f16 if the target does not multiply its operands. True
/// if it does so.
static bool widen(GemmOp gemm, gpu::GPUFuncOp kernel, const Target &target) {
  constexpr int firstWithSmallFloats = 89;
  auto type = cast<MemRefType>(gemm.getA().getType());
  if (!isSmallFloat(type.getElementType()) ||
      target.getCapability() >= firstWithSmallFloats)
    return false;
  bool isSame =
      gemm.getA() == gemm.getB() &&
      gemm.getPlace(/*ofB=*/false) == gemm.getPlace(/*ofB=*/true) &&
      gemm.getOperandShape(/*ofB=*/false) == gemm.getOperandShape(/*ofB=*/true);
  widenOperand(gemm, /*ofB=*/false, kernel);
  if (isSame)
    gemm.setOperand(/*ofB=*/true, gemm.getA());
  else
    widenOperand(gemm, /*ofB=*/true, kernel);
  return true;
}

static void planGemms(gpu::GPUFuncOp kernel, const Target &target) {
  llvm::DenseMap<Value, GemmPlanAttr> plans;
  kernel.walk([&](GemmOp gemm) {
    GemmPlanAttr &known = plans[gemm.getAcc()];
    if (GemmPlanAttr given = gemm.getPlanAttr()) {
      known = given;
      return;
    }
    std::string reason;
    bool isWidened = widen(gemm, kernel, target);
    GemmPlanAttr plan =
        planGemm(gemm, target, getThreads(gemm).count, known, reason);
    if (isWidened && reason.empty())
      reason =
          "the chip does not multiply floats of 8 bits: they are converted "
          "to f16";
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
