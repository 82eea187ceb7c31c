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
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

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

namespace {
/// 2^x in f32 by its Taylor series around the nearest integer. There is nothing
/// upstream that keeps its accuracy for large exponents, and attention kernels
/// spend their time here.
struct ExpandExp2 : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override;
};
} // namespace

LogicalResult ExpandExp2::matchAndRewrite(math::Exp2Op op,
                                          PatternRewriter &rewriter) const {
  if (!getElementTypeOrSelf(op.getType()).isF32())
    return rewriter.notifyMatchFailure(op, "not f32");
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Type type = op.getType();
  // A constant in the shape of the operand.
  auto constant = [&](Attribute value, Type element) -> Value {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(shaped.clone(element), value));
    return arith::ConstantOp::create(b, cast<TypedAttr>(value));
  };
  auto number = [&](double value) {
    return constant(b.getF32FloatAttr(static_cast<float>(value)),
                    b.getF32Type());
  };
  auto integer = [&](int32_t value) {
    return constant(b.getI32IntegerAttr(value), b.getI32Type());
  };
  auto withElement = [&](Type element) -> Type {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped ? shaped.clone(element) : element;
  };

  // Beyond these bounds the result is 0 or infinity.
  Value x = op.getOperand();
  Value clamped = arith::MinimumFOp::create(b, x, number(129));
  clamped = arith::MaximumFOp::create(b, clamped, number(-151));
  Value whole = math::RoundEvenOp::create(b, clamped);
  Value rest = arith::SubFOp::create(b, clamped, whole);

  // The next term of the series is below 6e-9 for |rest| <= 1/2.
  constexpr int degree = 7;
  double coefficients[degree + 1] = {1};
  for (int i = 1; i <= degree; ++i)
    coefficients[i] = coefficients[i - 1] * llvm::numbers::ln2 / i;
  Value sum = number(coefficients[degree]);
  for (int i = degree - 1; i >= 0; --i)
    sum = math::FmaOp::create(b, sum, rest, number(coefficients[i]));

  // 2^whole is the product of two powers whose exponents are in range even
  // where the result overflows or is denormal.
  Value exponent =
      arith::FPToSIOp::create(b, withElement(b.getI32Type()), whole);
  Value half = arith::ShRSIOp::create(b, exponent, integer(1));
  auto scale = [&](Value by) {
    Value biased = arith::AddIOp::create(b, by, integer(127));
    Value bits = arith::ShLIOp::create(b, biased, integer(23));
    sum =
        arith::MulFOp::create(b, sum, arith::BitcastOp::create(b, type, bits));
  };
  scale(half);
  scale(arith::SubIOp::create(b, exponent, half));

  // A NaN has no exponent.
  Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNaN, x, sum);
  return success();
}

static LogicalResult expand(Operation *module) {
  RewritePatternSet patterns(module->getContext());
  // f16 and bf16 functions are computed in f32.
  populateMathF32ExpansionPatterns(patterns, [](StringRef) { return true; });
  populateMathPolynomialApproximationPatterns(patterns, hasGoodPolynomial);
  math::populateExpansionPatterns(patterns, {"rsqrt"});
  patterns.add<ExpandExp2>(patterns.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  // Not every x86 has conversions of bf16, and those that do flush denormals.
  arith::populateExpandBFloat16Patterns(patterns);
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
