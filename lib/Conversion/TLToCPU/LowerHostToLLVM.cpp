//===- LowerHostToLLVM.cpp - Lower host functions to the LLVM dialect -----===//
//
// First the functions of `math` that LLVM could not vectorise are rewritten as
// arithmetic, and what the hardware has no instruction for is expanded; then
// one dialect conversion takes everything to LLVM. Nothing of bf16 is left to
// LLVM: it is computed with in f32, converted by integers, and stored in them.
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
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tl/Conversion/MathFunctions/FloatBuilder.h"
#include "tl/Conversion/MathFunctions/MathFunctions.h"
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

/// What bf16 is stored in is all that LLVM knows of it: a number that is live
/// in more than one block would be kept as an f32, and rounded again.
static void addBFloat16(LLVMTypeConverter &converter) {
  converter.addConversion([](BFloat16Type type) -> Type {
    return IntegerType::get(type.getContext(), 16);
  });
  converter.addConversion([&](VectorType type) -> std::optional<Type> {
    if (!type.getElementType().isBF16())
      return std::nullopt;
    return converter.convertType(
        type.clone(IntegerType::get(type.getContext(), 16)));
  });
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

/// Functions for which upstream's polynomial is good enough. Sine and cosine
/// are not among them: their argument reduction fails for large arguments.
static bool hasGoodPolynomial(StringRef name) {
  static const llvm::StringSet<> names = {"math.expm1", "math.log1p"};
  return names.contains(name);
}

/// 2^(`whole` + `rest`), in f32, by the Taylor series for |`rest`| <= 1/2; NaN
/// where `x` is. There is nothing upstream that keeps its accuracy for large
/// exponents, and attention kernels spend their time here.
static Value emitPowerOfTwo(OpBuilder &builder, Location loc,
                            const FloatBuilder &f, Value whole, Value rest,
                            Value x) {
  // The next term of the series is below 6e-9.
  constexpr int degree = 7;
  SmallVector<double> coefficients = {1};
  for (int i = 1; i <= degree; ++i)
    coefficients.push_back(coefficients.back() * llvm::numbers::ln2 / i);
  Value sum =
      f.polynomial(rest, SmallVector<double>(llvm::reverse(coefficients)));

  // 2^whole is the product of two powers whose exponents are in range even
  // where the result overflows or is denormal.
  Value bits = f.integer(0);
  Value exponent = LLVM::FPToSIOp::create(builder, loc, bits.getType(), whole);
  Value half = f.shiftRight(exponent, 1);
  for (Value by : {half, f.sub(exponent, half)})
    sum = f.mul(sum, f.bitsToFloat(f.shiftLeft(f.add(by, f.integer(127)), 23)));
  return f.select(f.isNaN(x), x, sum);
}

namespace {
/// Beyond these exponents the result is 0 or infinity.
constexpr double kLeastExponent = -151, kGreatestExponent = 129;

struct ExpandExp2 : OpRewritePattern<math::Exp2Op> {
  ExpandExp2(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!getElementTypeOrSelf(x.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    FloatBuilder f(rewriter, op.getLoc(), x.getType());
    Value clamped = f.max(f.min(x, f(kGreatestExponent)), f(kLeastExponent));
    Value whole = f.roundEven(clamped);
    rewriter.replaceOp(op, emitPowerOfTwo(rewriter, op.getLoc(), f, whole,
                                          f.sub(clamped, whole), x));
    return success();
  }
};

/// e^x = 2^(x log2(e)), with a log2(e) of two parts, so that the product of a
/// large argument keeps its low bits.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  ExpandExp(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!getElementTypeOrSelf(x.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    FloatBuilder f(rewriter, op.getLoc(), x.getType());
    constexpr float log2e = llvm::numbers::log2ef;
    // e^89 overflows and e^-104 is zero.
    Value clamped = f.max(f.min(x, f(89)), f(-104));
    Value whole = f.roundEven(f.mul(clamped, f(log2e)));
    Value rest = f.fma(clamped, f(log2e), f.neg(whole));
    rest = f.fma(clamped, f(llvm::numbers::log2e - double(log2e)), rest);
    rewriter.replaceOp(
        op, emitPowerOfTwo(rewriter, op.getLoc(), f, whole, rest, x));
    return success();
  }
};
} // namespace

static Value emitReciprocal(OpBuilder &, Location, const FloatBuilder &f,
                            Value x) {
  return f.div(f(1), x);
}

namespace {
/// `arith.fptosi` and `arith.fptoui` saturate, and make 0 of a NaN; LLVM's are
/// undefined there.
template <typename OpTy>
struct SaturateConversion : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    StringRef name = std::is_same_v<OpTy, arith::FPToSIOp> ? "llvm.fptosi.sat"
                                                           : "llvm.fptoui.sat";
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op.getType(), rewriter.getStringAttr(name), op.getIn());
    return success();
  }
};
} // namespace

/// Whether `op` computes with floats, rather than moving or converting them.
static bool computes(Operation *op) {
  if (isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp, arith::ExtFOp,
          arith::TruncFOp>(op))
    return false;
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
         isa<vector::ReductionOp, vector::FMAOp>(op);
}

/// `type`, with f32 in place of bf16.
static Type widen(Type type) {
  if (!getElementTypeOrSelf(type).isBF16())
    return type;
  Type single = Float32Type::get(type.getContext());
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(single);
  return single;
}

/// Computes `op` with f32 in place of bf16.
static void computeInSingle(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  for (OpOperand &operand : op->getOpOperands())
    if (Type type = operand.get().getType(); widen(type) != type)
      operand.set(
          arith::ExtFOp::create(builder, loc, widen(type), operand.get()));
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    Type type = result.getType();
    if (widen(type) == type)
      continue;
    result.setType(widen(type));
    auto rounded = arith::TruncFOp::create(builder, loc, type, result);
    result.replaceAllUsesExcept(rounded, rounded);
  }
}

/// What the next step would have rounded twice.
static LogicalResult roundOnce(Operation *module) {
  RewritePatternSet patterns(module->getContext());
  populateBFloat16IntegerPatterns(patterns);
  populateBFloat16FusedPatterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

/// Has arithmetic of bf16 done in f32, and each result rounded. Sound because
/// f32 has more than twice the bits of bf16 and two: a sum, product, quotient
/// or root that is rounded to f32 first is rounded to bf16 as if it were not.
static void computeBFloat16InSingle(Operation *module) {
  SmallVector<Operation *> ops;
  module->walk([&](Operation *op) {
    if (computes(op))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    computeInSingle(op);
}

/// Conversions that formulas make are in range: they come later.
static LogicalResult lowerConversions(Operation *module) {
  RewritePatternSet patterns(module->getContext());
  patterns.add<SaturateConversion<arith::FPToSIOp>,
               SaturateConversion<arith::FPToUIOp>>(patterns.getContext());
  return applyPatternsGreedily(module, std::move(patterns));
}

static LogicalResult expand(Operation *module) {
  RewritePatternSet patterns(module->getContext());
  // f16 and bf16 functions are computed in f32.
  populateMathF32ExpansionPatterns(patterns, [](StringRef) { return true; });
  populateMathPolynomialApproximationPatterns(patterns, hasGoodPolynomial);
  math::populateExpansionPatterns(patterns, {"rsqrt"});
  patterns.add<ExpandExp, ExpandExp2>(patterns.getContext());
  populateMathFunctionPatterns(patterns, emitReciprocal);
  populateSmallFloatPatterns(patterns);
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  // LLVM would call a function that no library has to round, or take an
  // instruction that makes zero of denormals.
  populateBFloat16DoublePatterns(patterns);
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
  addBFloat16(converter);
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
    Operation *module = getOperation();
    if (failed(roundOnce(module)))
      return signalPassFailure();
    computeBFloat16InSingle(module);
    if (failed(lowerConversions(module)) || failed(expand(module)) ||
        failed(convertToLLVM(module)))
      return signalPassFailure();
    fenceHalves(module);
  }
};
} // namespace
