//===- LowerMath.cpp - Math functions without a library -------------------===//
//
// CUDA's own compilers link libdevice for this, which needs a CUDA toolkit.
// Here functions become the special function unit's instructions where these
// are accurate enough (after range reduction), and else polynomials,
// upstream's. f16 and bf16 are computed in f32.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToNVVM/Passes.h"

#include "Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tl/Conversion/MathFunctions/FloatBuilder.h"
#include "tl/Conversion/MathFunctions/MathFunctions.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Building blocks
//===----------------------------------------------------------------------===//

/// In f32 one instruction, exact to a unit in the last place; tiny results are
/// zero. In f64 it has 20 bits, which two steps of Newton's method double.
static Value emitReciprocal(OpBuilder &builder, Location loc,
                            const FloatBuilder &f, Value x) {
  if (getElementTypeOrSelf(x.getType()).isF32())
    return callIntrinsic(builder, loc, "llvm.nvvm.rcp.approx.ftz.f", x);
  Value inverse = callIntrinsic(builder, loc, "llvm.nvvm.rcp.approx.ftz.d", x);
  for (int i = 0; i < 2; ++i)
    inverse = f.fma(inverse, f.fma(f.neg(x), inverse, f(1)), inverse);
  return inverse;
}

static bool isF32(Value value) {
  return getElementTypeOrSelf(value.getType()).isF32();
}

namespace {

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// exp(x) = 2^j 2^f, with j the integer nearest to x log2(e) and f the rest.
///
/// `ex2.approx` of x log2(e) itself would lose the low bits of a large product:
/// up to 64 ulp. The rest is computed with a log2(e) of two parts, so that its
/// error is that of `ex2.approx` on [-0.5, 0.5]: 2 ulp. j is kept to exponents
/// of normal numbers; beyond them f takes the excess, which is what makes the
/// result overflow, or become denormal, by the last multiplication.
struct ReduceExpToEx2 : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!isF32(x))
      return rewriter.notifyMatchFailure(op, "not f32");
    FloatBuilder f(rewriter, op.getLoc(), x.getType());
    auto ex2 = [&](Value value) {
      return callIntrinsic(rewriter, op.getLoc(),
                           "llvm.nvvm.ex2.approx.ftz.f32", value);
    };
    constexpr float log2e = llvm::numbers::log2ef;
    if (isApproximate(op.getFastmath())) {
      rewriter.replaceOp(op, ex2(f.mul(x, f(log2e))));
      return success();
    }

    // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits,
    // with the exponent's bias.
    constexpr double bias = 12582912.0 + 127;
    Value shifted = f.fma(x, f(log2e), f(bias));
    shifted = f.min(f.max(shifted, f(bias - 126)), f(bias + 127));
    Value minusJ = f.sub(f(bias), shifted);
    Value rest = f.fma(x, f(log2e), minusJ);
    rest = f.fma(x, f(llvm::numbers::log2e - double(log2e)), rest);
    // The bits of 2^j.
    Value scale = f.shiftLeft(f.floatToBits(shifted), 23);
    Value mantissa = ex2(rest), power = f.bitsToFloat(scale);
    auto factor = op->getAttrOfType<StringAttr>(kFactorAttr);
    rewriter.replaceOp(op, !factor            ? f.mul(mantissa, power)
                           : factor == kPower ? power
                                              : mantissa);
    return success();
  }
};

/// exp(x) = 2^j (1 + r + r^2 q(r)) of an x that is not positive, within 1 ulp,
/// half of what `ex2.approx` is off at worst; it takes nine instructions more.
///
/// q is a minimax fit on [-ln(2) / 2, ln(2) / 2]. 2^j is a product of two
/// powers, so that a result that is denormal is rounded once, by the last one.
struct ExpandExpOfSigmoid : OpRewritePattern<math::ExpOp> {
  explicit ExpandExpOfSigmoid(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getOperand()) || !op->hasAttr(kSigmoidAttr) ||
        isApproximate(op.getFastmath()))
      return rewriter.notifyMatchFailure(op,
                                         "not of a sigmoid, or approximate");
    FloatBuilder f(rewriter, op.getLoc(), op.getOperand().getType());
    // Below, the result is zero.
    Value x = arith::MaximumFOp::create(rewriter, op.getLoc(), op.getOperand(),
                                        f(-105));
    // The low bits of the sum are j + 254, twice the exponent's bias.
    constexpr double shift = 12582912.0 + 254;
    // ln 2 in two parts; the first times any j is exact.
    constexpr double high = 0.693145751953125;
    Value shifted = f.fma(x, f(llvm::numbers::log2e), f(shift));
    Value minusJ = f.sub(f(shift), shifted);
    Value r = f.fma(minusJ, f(high), x);
    r = f.fma(minusJ, f(llvm::numbers::ln2 - high), r);
    Value q = f.polynomial(r, {0.001381454009, 0.008368745108, 0.04166839079,
                               0.166665204, 0.4999999343});
    Value mantissa = f.add(f.fma(f.mul(r, r), q, r), f(1));
    Value bits = f.floatToBits(shifted);
    Value half = f.shiftRight(bits, 1);
    for (Value exponent : {half, f.sub(bits, half)})
      mantissa = f.mul(mantissa, f.bitsToFloat(f.shiftLeft(exponent, 23)));
    rewriter.replaceOp(op, mantissa);
    return success();
  }
};

/// exp2 of f32 is one instruction. The form that keeps denormal results takes
/// three more; `afn` on the op gives that up.
struct Exp2ToEx2 : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getOperand()))
      return rewriter.notifyMatchFailure(op, "not f32");
    rewriter.replaceOp(op, callIntrinsic(rewriter, op.getLoc(),
                                         isApproximate(op.getFastmath())
                                             ? "llvm.nvvm.ex2.approx.ftz.f32"
                                             : "llvm.nvvm.ex2.approx.f32",
                                         op.getOperand()));
    return success();
  }
};

struct RsqrtToApprox : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getOperand()))
      return rewriter.notifyMatchFailure(op, "not f32");
    rewriter.replaceOp(op, callIntrinsic(rewriter, op.getLoc(),
                                         isApproximate(op.getFastmath())
                                             ? "llvm.nvvm.rsqrt.approx.ftz.f"
                                             : "llvm.nvvm.rsqrt.approx.f",
                                         op.getOperand()));
    return success();
  }
};

/// An op with `afn` becomes one instruction, times `scale`.
template <typename OpTy>
struct ApproximateByInstruction : OpRewritePattern<OpTy> {
  ApproximateByInstruction(MLIRContext *context, StringRef intrinsic,
                           double scale = 1.0)
      : OpRewritePattern<OpTy>(context, /*benefit=*/3), intrinsic(intrinsic),
        scale(scale) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op.getOperand()) || !isApproximate(op.getFastmath()))
      return rewriter.notifyMatchFailure(op, "not an approximate op of f32");
    Value result =
        callIntrinsic(rewriter, op.getLoc(), intrinsic, op.getOperand());
    if (scale != 1.0) {
      FloatBuilder f(rewriter, op.getLoc(), result.getType());
      result = f.mul(result, f(scale));
    }
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  StringRef intrinsic;
  double scale;
};

} // namespace

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

bool tl::isNativeMath(Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
            math::CountLeadingZerosOp, math::CountTrailingZerosOp,
            math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp,
            math::IsNaNOp, math::RoundEvenOp, math::RoundOp, math::SqrtOp,
            math::TruncOp>([](auto) { return true; })
      // `lowerDivisions` makes it; f32 has an instruction.
      .Case<math::RsqrtOp>(
          [](auto op) { return getElementTypeOrSelf(op.getType()).isF64(); })
      .Default(false);
}

LogicalResult tl::lowerMath(Operation *root, bool fastMath) {
  MLIRContext *context = root->getContext();
  RewritePatternSet patterns(context);
  auto any = [](StringRef) { return true; };
  populateMathF32ExpansionPatterns(patterns, any, /*benefit=*/4);
  math::populateExpansionPatterns(patterns, {"cosh", "fpowi", "powf", "tan"});
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    return name != math::ExpOp::getOperationName() &&
           name != math::RsqrtOp::getOperationName();
  });
  patterns.add<Exp2ToEx2, ExpandExpOfSigmoid, ReduceExpToEx2, RsqrtToApprox>(
      context);
  populateFunctionPatterns(patterns);
  populateMathFunctionPatterns(patterns, emitReciprocal);
  populateDoubleFunctionPatterns(patterns, emitReciprocal);
  populateSinePatterns(patterns);
  if (fastMath) {
    constexpr StringLiteral lg2 = "llvm.nvvm.lg2.approx.ftz.f";
    patterns.add<ApproximateByInstruction<math::LogOp>>(context, lg2,
                                                        llvm::numbers::ln2);
    patterns.add<ApproximateByInstruction<math::Log2Op>>(context, lg2);
    patterns.add<ApproximateByInstruction<math::SinOp>>(
        context, "llvm.nvvm.sin.approx.ftz.f");
    patterns.add<ApproximateByInstruction<math::CosOp>>(
        context, "llvm.nvvm.cos.approx.ftz.f");
  }
  if (failed(applyToOps(root, std::move(patterns))))
    return failure();

  WalkResult result = root->walk([](Operation *op) {
    if (!isa<math::MathDialect>(op->getDialect()) || isNativeMath(op))
      return WalkResult::advance();
    op->emitOpError("has no lowering to NVIDIA GPUs for ")
        << op->getResult(0).getType() << "; cast to `f32`";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
