//===- LowerDivision.cpp - Division and square root without calls ---------===//
//
// The assembler makes calls of `div.rn`, `sqrt.rn` and 64-bit integer division:
// a subroutine for operands far from one. In a kernel with `wgmma` a call makes
// it wait for every one of these instructions (C7509). So the approximations of
// the hardware are corrected here, in line.
//
// Quotients in f32 are correctly rounded: two corrections by the exact
// remainder are, wherever no intermediate result is denormal or overflows. One
// test for all elements of a vector finds that out; where it fails all are
// computed in f64, which has more than twice the digits and more than the
// exponents, so that rounding again to f32 is exact even for denormal results.
// Narrower floats are divided in f32, which has more than twice their digits
// too.
//
// With `afn` on the op the division stays: the assembler's approximation has no
// calls.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tl/Conversion/MathFunctions/FloatBuilder.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tl;

/// Calls an intrinsic on `value` or on each of its elements.
static Value callIntrinsic(OpBuilder &builder, Location loc, StringRef name,
                           Value value) {
  auto call = [&](Value operand) -> Value {
    return LLVM::CallIntrinsicOp::create(builder, loc, operand.getType(),
                                         builder.getStringAttr(name), operand)
        .getResult(0);
  };
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector)
    return call(value);
  auto elements = vector::ToElementsOp::create(builder, loc, value);
  SmallVector<Value> results = llvm::map_to_vector(elements.getResults(), call);
  return vector::FromElementsOp::create(builder, loc, vector, results);
}

/// Whether all elements of a mask are set.
static Value emitAll(OpBuilder &builder, Location loc, Value mask) {
  if (!isa<VectorType>(mask.getType()))
    return mask;
  auto elements = vector::ToElementsOp::create(builder, loc, mask);
  Value all = elements.getResults().front();
  for (Value element : elements.getResults().drop_front())
    all = arith::AndIOp::create(builder, loc, all, element);
  return all;
}

static Type withElement(Type shape, Type element) {
  if (auto vector = dyn_cast<VectorType>(shape))
    return vector.clone(element);
  return element;
}

static bool isApproximate(arith::FastMathFlags flags) {
  return arith::bitEnumContainsAll(flags, arith::FastMathFlags::afn);
}

/// `quotient`, closer to `x` / `y` by what its remainder says; `inverse` is
/// about 1 / `y`.
static Value correct(const FloatBuilder &f, Value x, Value y, Value inverse,
                     Value quotient) {
  Value remainder = f.fma(f.neg(y), quotient, x);
  return f.fma(inverse, remainder, quotient);
}

/// `inverse`, with twice as many digits of 1 / `y`.
static Value refine(const FloatBuilder &f, Value y, Value inverse) {
  Value error = f.fma(f.neg(y), inverse, f(1));
  return f.fma(inverse, error, inverse);
}

/// x / y for any operands, in f64.
static Value divideInDouble(OpBuilder &builder, Location loc, Value x,
                            Value y) {
  Type narrow = x.getType();
  Type wide = withElement(narrow, builder.getF64Type());
  x = arith::ExtFOp::create(builder, loc, wide, x);
  y = arith::ExtFOp::create(builder, loc, wide, y);
  FloatBuilder f(builder, loc, wide);
  Value inverse = callIntrinsic(builder, loc, "llvm.nvvm.rcp.approx.ftz.d", y);
  // This is already right where it is zero, infinite or NaN, which corrections
  // are not.
  Value first = f.mul(x, inverse);
  inverse = refine(f, y, refine(f, y, inverse));
  Value quotient = correct(f, x, y, inverse, f.mul(x, inverse));
  Value size = f.abs(first);
  Value isPlain = f.both(f.greater(size, 0),
                         f.less(size, std::numeric_limits<double>::infinity()));
  return arith::TruncFOp::create(builder, loc, narrow,
                                 f.select(isPlain, quotient, first));
}

/// x / y in f32.
static Value divide(OpBuilder &builder, Location loc, Value x, Value y) {
  FloatBuilder f(builder, loc, x.getType());
  Value first = callIntrinsic(builder, loc, "llvm.nvvm.rcp.approx.ftz.f", y);
  Value inverse = refine(f, y, first);
  Value quotient = correct(f, x, y, inverse, f.mul(x, inverse));
  quotient = correct(f, x, y, inverse, quotient);

  // Reciprocals that overflow or are flushed make the estimate infinite, NaN or
  // zero, so that this tells of the divisor too. A remainder is exact as long
  // as the last of its 48 digits is above the least denormal number.
  Value estimate = f.abs(f.mul(x, first));
  Value isPlain = f.both(f.atLeast(estimate, std::ldexp(1.0, -125)),
                         f.both(f.atMost(estimate, std::ldexp(1.0, 126)),
                                f.atLeast(f.abs(x), std::ldexp(1.0, -100))));
  auto branch = scf::IfOp::create(
      builder, loc, emitAll(builder, loc, isPlain),
      [&](OpBuilder &plain, Location) {
        scf::YieldOp::create(plain, loc, quotient);
      },
      [&](OpBuilder &other, Location) {
        scf::YieldOp::create(other, loc, divideInDouble(other, loc, x, y));
      });
  return branch.getResult(0);
}

/// The square root in f32. What is tiny is scaled by a power of four, so that
/// the remainder is exact.
static Value emitSqrt(OpBuilder &builder, Location loc, Value x) {
  FloatBuilder f(builder, loc, x.getType());
  Value isTiny = f.less(x, std::ldexp(1.0, -100));
  Value scaled = f.mul(x, f.select(isTiny, f(std::ldexp(1.0, 64)), f(1)));
  Value inverse =
      callIntrinsic(builder, loc, "llvm.nvvm.rsqrt.approx.ftz.f", scaled);
  Value root = f.mul(scaled, inverse);
  Value remainder = f.fma(f.neg(root), root, scaled);
  root = f.fma(remainder, f.mul(inverse, f(0.5)), root);
  root = f.mul(root, f.select(isTiny, f(std::ldexp(1.0, -32)), f(1)));
  // Zeros and infinity are their own roots.
  Value isOwn = f.either(f.equal(x, 0),
                         f.equal(x, std::numeric_limits<double>::infinity()));
  return f.select(isOwn, x, root);
}

namespace {
struct ExpandDivision : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
    if (!element || element.getWidth() > 32 || isApproximate(op.getFastmath()))
      return rewriter.notifyMatchFailure(op, "approximate, or in f64");
    Location loc = op.getLoc();
    if (element.isF32()) {
      rewriter.replaceOp(op, divide(rewriter, loc, op.getLhs(), op.getRhs()));
      return success();
    }
    Type wide = withElement(type, rewriter.getF32Type());
    Value x = arith::ExtFOp::create(rewriter, loc, wide, op.getLhs());
    Value y = arith::ExtFOp::create(rewriter, loc, wide, op.getRhs());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type,
                                                 divide(rewriter, loc, x, y));
    return success();
  }
};

struct ExpandSqrt : OpRewritePattern<math::SqrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SqrtOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32() ||
        isApproximate(op.getFastmath()))
      return rewriter.notifyMatchFailure(op, "approximate, or not in f32");
    rewriter.replaceOp(op, emitSqrt(rewriter, op.getLoc(), op.getOperand()));
    return success();
  }
};
} // namespace

void tl::populateDivisionPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandDivision, ExpandSqrt>(patterns.getContext());
}
