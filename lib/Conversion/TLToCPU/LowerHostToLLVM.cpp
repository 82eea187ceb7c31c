//===- LowerHostToLLVM.cpp - Lower host functions to the LLVM dialect -----===//
//
// First the functions of `math` that LLVM could not vectorise are rewritten as
// arithmetic, and what the hardware has no instruction for is expanded; then
// one dialect conversion takes everything to LLVM.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "tl/Conversion/TLToCPU/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSet.h"

namespace tl {
#define GEN_PASS_DEF_LOWERHOSTTOLLVMPASS
#include "tl/Conversion/TLToCPU/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

void cpu::addMemorySpaces(LLVMTypeConverter &converter) {
  auto addressSpace = [](BaseMemRefType type, Attribute) -> Attribute {
    return IntegerAttr::get(IntegerType::get(type.getContext(), 64), 0);
  };
  converter.addTypeAttributeConversion(
      [=](BaseMemRefType type, FragmentAttr space) {
        return addressSpace(type, space);
      });
  converter.addTypeAttributeConversion(
      [=](BaseMemRefType type, gpu::AddressSpaceAttr space) {
        return addressSpace(type, space);
      });
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

/// Functions whose polynomial is as good as f32 allows over the whole range.
/// Sine and cosine are not: their argument reduction fails for large arguments.
static bool hasGoodPolynomial(StringRef name) {
  static const llvm::StringSet<> names = {
      "math.erf",   "math.exp",  "math.expm1", "math.log",
      "math.log1p", "math.log2", "math.tanh"};
  return names.contains(name);
}

static LogicalResult expand(Operation *module) {
  RewritePatternSet patterns(module->getContext());
  // f16 and bf16 functions are computed in f32.
  populateMathF32ExpansionPatterns(patterns, [](StringRef) { return true; });
  populateMathPolynomialApproximationPatterns(patterns, hasGoodPolynomial);
  math::populateExpansionPatterns(patterns, {"rsqrt"});
  arith::populateArithExpandOpsPatterns(patterns);
  // Not every x86 has conversions of bf16, and those that do flush denormals.
  arith::populateExpandBFloat16Patterns(patterns);
  vector::populateVectorTransposeLoweringPatterns(
      patterns, vector::VectorTransposeLowering::Shuffle1D);
  vector::populateVectorBroadcastLoweringPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static LogicalResult convertToLLVM(Operation *module) {
  MLIRContext *context = module->getContext();
  LLVMTypeConverter converter(context);
  cpu::addMemorySpaces(converter);
  RewritePatternSet patterns(context);
  populateSCFToControlFlowConversionPatterns(patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  index::populateIndexToLLVMConversionPatterns(converter, patterns);
  // Calls of the C library are for what LLVM has no intrinsic for.
  populateMathToLLVMConversionPatterns(converter, patterns,
                                       /*approximateLog1p=*/false,
                                       /*benefit=*/2);
  populateMathToLibmConversionPatterns(patterns, /*benefit=*/1);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);

  // The casts from parameters to buffers meet their opposites afterwards.
  LLVMConversionTarget target(*context);
  target.addLegalOp<gpu::GPUModuleOp, UnrealizedConversionCastOp>();
  if (failed(applyPartialConversion(module, target, std::move(patterns))))
    return failure();
  SmallVector<UnrealizedConversionCastOp> casts;
  module->walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
  reconcileUnrealizedCasts(casts);
  return success();
}

namespace {
struct LowerHostToLLVMPass
    : tl::impl::LowerHostToLLVMPassBase<LowerHostToLLVMPass> {
  void runOnOperation() override {
    if (failed(expand(getOperation())) || failed(convertToLLVM(getOperation())))
      signalPassFailure();
  }
};
} // namespace
