//===- ApproximateFunctions.cpp - Functions within a few ulp --------------===//
//
// Formulas for functions whose upstream expansions lose all bits near zero
// (the hyperbolic functions, by cancellation), overflow early, or do
// not reach the precision of f32 (atan). Polynomials are Chebyshev fits of the
// function's remainder after its leading terms, so that zero stays exact.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "tl/Conversion/MathFunctions/FloatBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// atan, from that of an argument up to tan(pi / 8).
static Value emitArcTangent(const FloatBuilder &f, Value x) {
  using llvm::numbers::pi;
  Value a = f.abs(x);
  Value large = f.greater(a, 2.414213562373095);   // tan(3 pi / 8)
  Value medium = f.greater(a, 0.4142135623730950); // tan(pi / 8)
  Value reduced = f.select(medium, f.div(f.sub(a, f(1)), f.add(a, f(1))), a);
  reduced = f.select(large, f.div(f(-1), a), reduced);
  Value offset = f.select(large, f(pi / 2), f.select(medium, f(pi / 4), f(0)));
  Value z = f.mul(reduced, reduced);
  Value p = f.polynomial(z, {-0.0643103871072, 0.107373969672, -0.142633665797,
                             0.199995233972, -0.333333316865});
  Value result = f.add(offset, f.fma(p, f.mul(z, reduced), reduced));
  return f.copySign(result, x);
}

/// (t + t / (t + 1)) / 2 with t = e^|x| - 1. The quotient is written so that it
/// is 1 for an infinite t.
static Value emitSinh(const FloatBuilder &f, OpBuilder &builder, Location loc,
                      Value x) {
  Value t = math::ExpM1Op::create(builder, loc, f.abs(x));
  Value quotient = f.div(f(1), f.add(f(1), f.div(f(1), t)));
  return f.copySign(f.mul(f(0.5), f.add(t, quotient)), x);
}

/// log1p(a + a^2 / (1 + sqrt(a^2 + 1))) with a = |x|, divided through by a so
/// that no square overflows.
static Value emitArcSinh(const FloatBuilder &f, OpBuilder &builder,
                         Location loc, Value x) {
  Value a = f.abs(x);
  Value inverse = f.div(f(1), a);
  Value root = f.sqrt(f.fma(inverse, inverse, f(1)));
  Value sum = f.add(a, f.div(a, f.add(inverse, root)));
  return f.copySign(math::Log1pOp::create(builder, loc, sum), x);
}

/// log1p(t + sqrt(t) sqrt(t + 2)) with t = x - 1.
static Value emitArcCosh(const FloatBuilder &f, OpBuilder &builder,
                         Location loc, Value x) {
  Value t = f.sub(x, f(1));
  Value root = f.mul(f.sqrt(t), f.sqrt(f.add(t, f(2))));
  return math::Log1pOp::create(builder, loc, f.add(t, root));
}

/// log1p(2 a / (1 - a)) / 2 with a = |x|.
static Value emitArcTanh(const FloatBuilder &f, OpBuilder &builder,
                         Location loc, Value x) {
  Value a = f.abs(x);
  Value quotient = f.div(f.add(a, a), f.sub(f(1), a));
  Value log = math::Log1pOp::create(builder, loc, quotient);
  return f.copySign(f.mul(f(0.5), log), x);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// Replaces an op of f32 by a formula.
template <typename OpTy>
struct ReplaceByFormula : OpRewritePattern<OpTy> {
  using Formula = Value (*)(const FloatBuilder &, OpBuilder &, Location, Value);

  ReplaceByFormula(MLIRContext *context, Formula formula)
      : OpRewritePattern<OpTy>(context, /*benefit=*/2), formula(formula) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!getElementTypeOrSelf(x.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    FloatBuilder f(rewriter, op.getLoc(), x.getType());
    rewriter.replaceOp(op, formula(f, rewriter, op.getLoc(), x));
    return success();
  }

private:
  Formula formula;
};
} // namespace

void tl::populateFunctionPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ReplaceByFormula<math::AtanOp>>(
      context, [](const FloatBuilder &f, OpBuilder &, Location, Value x) {
        return emitArcTangent(f, x);
      });
  patterns.add<ReplaceByFormula<math::Log10Op>>(
      context,
      [](const FloatBuilder &f, OpBuilder &builder, Location loc, Value x) {
        Value log = math::LogOp::create(builder, loc, x);
        return f.mul(log, f(1 / llvm::numbers::ln10));
      });
  patterns.add<ReplaceByFormula<math::SinhOp>>(context, emitSinh);
  patterns.add<ReplaceByFormula<math::AsinhOp>>(context, emitArcSinh);
  patterns.add<ReplaceByFormula<math::AcoshOp>>(context, emitArcCosh);
  patterns.add<ReplaceByFormula<math::AtanhOp>>(context, emitArcTanh);
}
