//===- LowerDivision.cpp - Division and square root without calls ---------===//
//
// The assembler makes calls of `div.rn`, `sqrt.rn` and 64-bit integer division:
// a subroutine for operands far from one. In a kernel with `wgmma` a call makes
// it wait for every one of these instructions (C7509). So the approximations of
// the hardware are corrected here, in line.
//
// Quotients are correctly rounded wherever no intermediate result is denormal
// or overflows: in f32 by one correction by the remainder, if the inverse is as
// good as `invertSingle` makes it; in f64 by two, with an inverse that is
// rounded to nearest. One test for all elements of a vector finds that out.
// Where it fails, those in f32 are computed one by one in f64, which has more
// than twice the digits and more than the exponents, so that rounding again to
// f32 is exact even for denormal results; those in f64 are computed of numbers
// between one and two, and scaled.
// Narrower floats are divided in f32, which has more than twice their digits
// too.
//
// 64-bit integers are divided in 32 bits where they fit. Else a quotient that
// is a little too small in f64 leaves a remainder whose quotient is so small
// that it is right, or one less.
//
// With `afn` on the op the division of f32 stays: the assembler's approximation
// has no calls.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tl/Conversion/MathFunctions/FloatBuilder.h"
#include "tl/Conversion/TLToNVVM/Passes.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tl;

static Type withElement(Type shape, Type element) {
  if (auto vector = dyn_cast<VectorType>(shape))
    return vector.clone(element);
  return element;
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

/// The elements of `quotient` that are plain, and those of x / y elsewhere.
/// Each has a branch of its own: f64 of all of a vector at once would take
/// registers from the whole kernel for what hardly ever runs.
static Value mendInDouble(OpBuilder &builder, Location loc, Value isPlain,
                          Value quotient, Value x, Value y) {
  auto type = dyn_cast<VectorType>(x.getType());
  if (!type)
    return divideInDouble(builder, loc, x, y);
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i) {
    auto element = [&](OpBuilder &b, Value of) -> Value {
      return vector::ExtractOp::create(b, loc, of, i);
    };
    auto mended = scf::IfOp::create(
        builder, loc, element(builder, isPlain),
        [&](OpBuilder &plain, Location) {
          scf::YieldOp::create(plain, loc, element(plain, quotient));
        },
        [&](OpBuilder &other, Location) {
          Value a = element(other, x), b = element(other, y);
          scf::YieldOp::create(other, loc, divideInDouble(other, loc, a, b));
        });
    quotient = vector::InsertOp::create(builder, loc, mended.getResult(0),
                                        quotient, i);
  }
  return quotient;
}

/// 1 / y, rounded to nearest; `first` has 20 bits of it. That is what the last
/// step of three gives, but where all digits of `y` are ones: beside a power of
/// two it ends in a tie there, and the last digit of the inverse is a one.
/// (P. W. Markstein, Computation of elementary functions on the IBM RISC
/// System/6000 processor, 1990.)
static Value invert(const FloatBuilder &f, Value y, Value first) {
  Value inverse = first;
  for (int i = 0; i < 3; ++i)
    inverse = refine(f, y, inverse);
  Value bits = f.floatToBits(y);
  Value isOnes =
      f.sub(f.shiftDown(f.add(bits, f.integer(1)), 52), f.shiftDown(bits, 52));
  return f.bitsToFloat(f.either(f.floatToBits(inverse), isOnes));
}

/// x / y of numbers whose quotient is normal, as is its remainder.
static Value divideNormal(const FloatBuilder &f, Value x, Value y,
                          Value first) {
  Value inverse = invert(f, y, first);
  Value quotient = correct(f, x, y, inverse, f.mul(x, inverse));
  return correct(f, x, y, inverse, quotient);
}

namespace {
/// A number as `mantissa` 2^`exponent`, the first between one and two; what is
/// zero, infinite or NaN is its own mantissa.
struct Normalized {
  Value mantissa, exponent;
};
} // namespace

static Normalized normalize(const FloatBuilder &f, Value x) {
  Value isTiny = f.less(x, std::numeric_limits<double>::min());
  Value scaled = f.mul(x, f.select(isTiny, f(0x1p54), f(1)));
  Value bits = f.floatToBits(scaled);
  Value exponent = f.sub(f.shiftDown(bits, 52), f.integer(1023));
  Value mantissa = f.bitsToFloat(f.sub(bits, f.shiftLeft(exponent, 52)));
  exponent = f.sub(exponent, f.select(isTiny, f.integer(54), f.integer(0)));
  Value isNumber = f.both(f.greater(x, 0),
                          f.less(x, std::numeric_limits<double>::infinity()));
  return {f.select(isNumber, mantissa, x),
          f.select(isNumber, exponent, f.integer(0))};
}

/// `x` 2^`exponent`, with exponents from -1080 to 1030; rounded once.
static Value scale(const FloatBuilder &f, Value x, Value exponent) {
  auto power = [&](Value of) {
    return f.bitsToFloat(f.shiftLeft(f.add(of, f.integer(1023)), 52));
  };
  Value half = f.shiftRight(exponent, 1);
  x = f.mul(x, power(half));
  return f.mul(x, power(f.sub(exponent, half)));
}

/// x / y of any positive numbers, in f64.
///
/// Scaling a quotient rounds it a second time where the result is denormal.
/// That is wrong only if the quotient, once rounded, lies in the middle between
/// two results, and the remainder says that the exact one does not.
static Value divideAny(OpBuilder &builder, Location loc, const FloatBuilder &f,
                       Value x, Value y) {
  auto [a, aExponent] = normalize(f, x);
  auto [b, bExponent] = normalize(f, y);
  Value inverse = callIntrinsic(builder, loc, "llvm.nvvm.rcp.approx.ftz.d", b);
  Value special = f.mul(a, inverse);
  Value quotient = divideNormal(f, a, b, inverse);
  Value remainder = f.fma(f.neg(quotient), b, a);
  Value exponent = f.clampInteger(f.sub(aExponent, bExponent), -1080, 1030);
  Value result = scale(f, quotient, exponent);

  Value back =
      scale(f, f.mul(result, f(0x1p64)), f.sub(f.integer(-64), exponent));
  Value lost = f.sub(quotient, back);
  Value moderate = f.clampInteger(exponent, -1080, 900);
  Value middle = scale(f, f(1), f.sub(f.integer(-1075), moderate));
  Value bits = f.floatToBits(result);
  // Where nothing is lost there is no middle: its power of two may be zero.
  Value isBelow = f.both(f.greater(remainder, 0), f.greater(lost, 0));
  isBelow = f.both(isBelow, f.equal(lost, middle));
  Value isAbove = f.both(f.less(remainder, 0), f.less(lost, 0));
  isAbove = f.both(isAbove, f.equal(lost, f.neg(middle)));
  bits = f.select(isBelow, f.add(bits, f.integer(1)), bits);
  bits = f.select(isAbove, f.sub(bits, f.integer(1)), bits);
  Value isPlain =
      f.both(f.greater(special, 0),
             f.less(special, std::numeric_limits<double>::infinity()));
  return f.select(isPlain, f.bitsToFloat(bits), special);
}

/// x / y in f64.
static Value divideDoubles(OpBuilder &builder, Location loc, Value x, Value y) {
  FloatBuilder f(builder, loc, x.getType());
  Value first = callIntrinsic(builder, loc, "llvm.nvvm.rcp.approx.ftz.d", y);
  Value quotient = divideNormal(f, x, y, first);
  // As in f32.
  Value estimate = f.abs(f.mul(x, first));
  Value isPlain = f.both(
      f.both(f.atLeast(estimate, 0x1p-1000), f.atMost(estimate, 0x1p1000)),
      f.atLeast(f.abs(x), 0x1p-900));
  auto branch = scf::IfOp::create(
      builder, loc, f.all(isPlain),
      [&](OpBuilder &plain, Location) {
        scf::YieldOp::create(plain, loc, quotient);
      },
      [&](OpBuilder &other, Location) {
        FloatBuilder g(other, loc, x.getType());
        Value size = divideAny(other, loc, g, g.abs(x), g.abs(y));
        Value isNegative = g.signsDiffer(x, y);
        scf::YieldOp::create(other, loc,
                             g.select(isNegative, g.neg(size), size));
      });
  return branch.getResult(0);
}

/// About one over the square root, in f64; infinite for denormal numbers.
static Value approximateRoot(OpBuilder &builder, Location loc, Value x) {
  return callIntrinsic(builder, loc, "llvm.nvvm.rsqrt.approx.ftz.d", x);
}

/// `inverse`, with as many digits of 1 / sqrt(`x`) as f64 has.
static Value refineRoot(const FloatBuilder &f, Value x, Value inverse) {
  for (int i = 0; i < 3; ++i) {
    Value error = f.fma(f.neg(f.mul(x, inverse)), inverse, f(1));
    inverse = f.fma(f.mul(inverse, f(0.5)), error, inverse);
  }
  return inverse;
}

/// 1 / y in f32, so good that one correction of a quotient is enough.
///
/// The hardware's reciprocal is wrong by one in its last place (PTX ISA,
/// `rcp.approx.ftz.f32`), r = (1 - e) / y, and 1 / y = r + r (e + e^2 + ...).
/// The sum is rounded up: where all digits of `y` are ones, 1 / y is above a
/// tie by less than e^2. That all quotients are then correctly rounded, also of
/// a reciprocal that is wrong by four, QuotientsTest.cpp shows by trying those
/// that are near a tie. Without e^2 there are five divisors with a wrong one.
static Value invertSingle(OpBuilder &builder, Location loc,
                          const FloatBuilder &f, Value y) {
  Value first = callIntrinsic(builder, loc, "llvm.nvvm.rcp.approx.ftz.f", y);
  Value error = f.fma(f.neg(y), first, f(1));
  error =
      callIntrinsic(builder, loc, "llvm.nvvm.fma.rp.f", {error, error, error});
  return f.fma(first, error, first);
}

/// x / y in f32, of as many as share a test.
static Value divideTogether(OpBuilder &builder, Location loc, Value x,
                            Value y) {
  FloatBuilder f(builder, loc, x.getType());
  Value inverse = invertSingle(builder, loc, f, y);
  Value quotient = correct(f, x, y, inverse, f.mul(x, inverse));

  // The quotient is NaN or zero where its first estimate or the reciprocal is
  // infinite, is flushed or is NaN: the remainder is infinite or NaN then, or
  // the estimate is zero. So this tells of the divisor too, and of what is too
  // large; what is infinite only once it is corrected is right. A remainder is
  // exact as long as the last of its 48 digits is above the least denormal
  // number.
  Value isPlain = f.both(f.atLeast(f.abs(quotient), std::ldexp(1.0, -125)),
                         f.atLeast(f.abs(x), std::ldexp(1.0, -100)));
  auto branch = scf::IfOp::create(
      builder, loc, f.all(isPlain),
      [&](OpBuilder &plain, Location) {
        scf::YieldOp::create(plain, loc, quotient);
      },
      [&](OpBuilder &other, Location) {
        scf::YieldOp::create(other, loc,
                             mendInDouble(other, loc, isPlain, quotient, x, y));
      });
  return branch.getResult(0);
}

/// x / y in f32, four at a time: what is to be mended is kept beside what it is
/// mended from, which in a long vector takes registers.
static Value divide(OpBuilder &builder, Location loc, Value x, Value y) {
  auto type = dyn_cast<VectorType>(x.getType());
  constexpr int64_t kGroup = 4;
  if (!type || type.getNumElements() <= kGroup)
    return divideTogether(builder, loc, x, y);
  Value result = x;
  for (int64_t i = 0, e = type.getNumElements(); i < e; i += kGroup) {
    auto group = [&](Value of) -> Value {
      return vector::ExtractStridedSliceOp::create(builder, loc, of, i,
                                                   std::min(kGroup, e - i), 1);
    };
    Value part = divideTogether(builder, loc, group(x), group(y));
    result =
        vector::InsertStridedSliceOp::create(builder, loc, part, result, i, 1);
  }
  return result;
}

/// x / y in f32, of numbers of which neither the reciprocal nor the quotient
/// overflows or is flushed: within 0.6 ulp.
static Value divideModerate(OpBuilder &builder, Location loc, Value x,
                            Value y) {
  FloatBuilder f(builder, loc, x.getType());
  Value inverse = callIntrinsic(builder, loc, "llvm.nvvm.rcp.approx.ftz.f", y);
  return correct(f, x, y, inverse, f.mul(x, inverse));
}

/// The square root. What is tiny is scaled by a power of four, so that the
/// remainder is exact.
static Value emitSqrt(OpBuilder &builder, Location loc, Value x) {
  FloatBuilder f(builder, loc, x.getType());
  bool isDouble = getElementTypeOrSelf(x.getType()).isF64();
  Value isTiny = f.less(x, isDouble ? 0x1p-900 : 0x1p-100);
  Value scaled =
      f.mul(x, f.select(isTiny, f(isDouble ? 0x1p200 : 0x1p64), f(1)));
  Value inverse =
      isDouble
          ? refineRoot(f, scaled, approximateRoot(builder, loc, scaled))
          : callIntrinsic(builder, loc, "llvm.nvvm.rsqrt.approx.ftz.f", scaled);
  Value root = f.mul(scaled, inverse);
  Value half = f.mul(inverse, f(0.5));
  for (int i = 0; i < (isDouble ? 2 : 1); ++i)
    root = f.fma(f.fma(f.neg(root), root, scaled), half, root);
  root = f.mul(root, f.select(isTiny, f(isDouble ? 0x1p-100 : 0x1p-32), f(1)));
  // Zeros and infinity are their own roots.
  Value isOwn = f.either(f.equal(x, 0),
                         f.equal(x, std::numeric_limits<double>::infinity()));
  return f.select(isOwn, x, root);
}

/// One over the square root, in f64.
static Value emitReciprocalRoot(OpBuilder &builder, Location loc, Value x) {
  FloatBuilder f(builder, loc, x.getType());
  Value isTiny = f.less(x, 0x1p-900);
  Value scaled = f.mul(x, f.select(isTiny, f(0x1p200), f(1)));
  Value first = approximateRoot(builder, loc, scaled);
  Value result = refineRoot(f, scaled, first);
  result = f.mul(result, f.select(isTiny, f(0x1p100), f(1)));
  // Of zeros and infinity the approximation is right.
  Value isOwn = f.either(f.equal(x, 0),
                         f.equal(x, std::numeric_limits<double>::infinity()));
  return f.select(isOwn, first, result);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// The quotient of 64-bit integers without sign, or the remainder; of a
/// division by zero, anything.
static Value divideWide(OpBuilder &builder, Location loc, Value n, Value d,
                        bool isRemainder) {
  Type type = n.getType();
  Type wide = withElement(type, builder.getF64Type());
  FloatBuilder f(builder, loc, wide);
  auto toFloat = [&](Value value) -> Value {
    return arith::UIToFPOp::create(builder, loc, wide, value);
  };
  auto toInteger = [&](Value value) -> Value {
    return arith::FPToUIOp::create(builder, loc, type, value);
  };
  Value divisor = toFloat(d);
  Value inverse =
      callIntrinsic(builder, loc, "llvm.nvvm.rcp.approx.ftz.d", divisor);
  inverse = refine(f, divisor, refine(f, divisor, inverse));
  // All roundings together are less than this, so that no quotient is too
  // large; the first one is at most 2^15 too small.
  inverse = f.mul(inverse, f(1 - 0x1p-50));
  Value quotient = toInteger(f.mul(toFloat(n), inverse));
  Value remainder = f.sub(n, f.mul(quotient, d));
  Value more = toInteger(f.mul(toFloat(remainder), inverse));
  quotient = f.add(quotient, more);
  remainder = f.sub(remainder, f.mul(more, d));
  Value isLess = f.isBelow(remainder, d);
  if (isRemainder)
    return f.select(isLess, remainder, f.sub(remainder, d));
  return f.select(isLess, quotient, f.add(quotient, f.integer(1)));
}

/// The same, in 32 bits where both fit.
static Value divideIntegers(OpBuilder &builder, Location loc, Value n, Value d,
                            bool isRemainder) {
  Type type = n.getType();
  Type narrow = withElement(type, builder.getI32Type());
  FloatBuilder f(builder, loc, withElement(type, builder.getF64Type()));
  Value fits = f.isBelow(f.either(n, d), f.bits(uint64_t(1) << 32));
  auto branch = scf::IfOp::create(
      builder, loc, f.all(fits),
      [&](OpBuilder &builder, Location loc) {
        Value a = arith::TruncIOp::create(builder, loc, narrow, n);
        Value b = arith::TruncIOp::create(builder, loc, narrow, d);
        Value result =
            isRemainder ? arith::RemUIOp::create(builder, loc, a, b).getResult()
                        : arith::DivUIOp::create(builder, loc, a, b);
        result = arith::ExtUIOp::create(builder, loc, type, result);
        scf::YieldOp::create(builder, loc, result);
      },
      [&](OpBuilder &builder, Location loc) {
        scf::YieldOp::create(builder, loc,
                             divideWide(builder, loc, n, d, isRemainder));
      });
  return branch.getResult(0);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Whether an op of floats is to be exact; f64 has no approximation.
static bool isExact(Operation *op, arith::FastMathFlags flags) {
  return !isApproximate(flags) ||
         getElementTypeOrSelf(op->getResult(0).getType()).isF64();
}

bool tl::isExpandedDivision(Operation *op) {
  if (auto division = dyn_cast<arith::DivFOp>(op))
    return isExact(op, division.getFastmath());
  Type element = op->getNumResults() == 1
                     ? getElementTypeOrSelf(op->getResult(0).getType())
                     : Type();
  if (auto root = dyn_cast<math::SqrtOp>(op))
    return isExact(op, root.getFastmath());
  if (isa<math::RsqrtOp>(op))
    return element.isF64();
  // LLVM divides by constants with products.
  return isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::DivSIOp,
             arith::DivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
             arith::RemUIOp>(op) &&
         element.isInteger(64) &&
         !matchPattern(op->getOperand(1), m_Constant());
}

namespace {
struct ExpandDivision : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isExpandedDivision(op))
      return rewriter.notifyMatchFailure(op, "approximate");
    Type type = op.getType();
    Type element = getElementTypeOrSelf(type);
    Location loc = op.getLoc();
    Value x = op.getLhs(), y = op.getRhs();
    if (element.isF64()) {
      rewriter.replaceOp(op, divideDoubles(rewriter, loc, x, y));
      return success();
    }
    if (element.isF32()) {
      auto emit = op->hasAttr(kSigmoidAttr) ? divideModerate : divide;
      rewriter.replaceOp(op, emit(rewriter, loc, x, y));
      return success();
    }
    Type wide = withElement(type, rewriter.getF32Type());
    x = arith::ExtFOp::create(rewriter, loc, wide, x);
    y = arith::ExtFOp::create(rewriter, loc, wide, y);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type,
                                                 divide(rewriter, loc, x, y));
    return success();
  }
};

struct ExpandSqrt : OpRewritePattern<math::SqrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SqrtOp op,
                                PatternRewriter &rewriter) const override {
    // `lowerMath` has made those of narrower floats roots of f32.
    Type element = getElementTypeOrSelf(op.getType());
    if (!isExpandedDivision(op) || (!element.isF32() && !element.isF64()))
      return rewriter.notifyMatchFailure(op, "approximate, or narrow");
    rewriter.replaceOp(op, emitSqrt(rewriter, op.getLoc(), op.getOperand()));
    return success();
  }
};

struct ExpandRsqrt : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::RsqrtOp op,
                                PatternRewriter &rewriter) const override {
    if (!isExpandedDivision(op))
      return rewriter.notifyMatchFailure(op, "not f64");
    rewriter.replaceOp(
        op, emitReciprocalRoot(rewriter, op.getLoc(), op.getOperand()));
    return success();
  }
};

/// Quotients and remainders of 64-bit integers. Signed ones are those of the
/// sizes; a remainder has the sign of the dividend.
template <typename OpTy, bool isSigned, bool isRemainder>
struct ExpandIntegerDivision : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isExpandedDivision(op))
      return rewriter.notifyMatchFailure(op, "narrow, or by a constant");
    Location loc = op.getLoc();
    Value n = op.getLhs(), d = op.getRhs();
    FloatBuilder f(rewriter, loc,
                   withElement(n.getType(), rewriter.getF64Type()));
    // All bits set where a number is negative.
    Value nSign, sign;
    if (isSigned) {
      nSign = f.shiftRight(n, 63);
      Value dSign = f.shiftRight(d, 63);
      sign = isRemainder ? nSign : f.differ(nSign, dSign);
      n = f.sub(f.differ(n, nSign), nSign);
      d = f.sub(f.differ(d, dSign), dSign);
    }
    Value result = divideIntegers(rewriter, loc, n, d, isRemainder);
    if (isSigned)
      result = f.sub(f.differ(result, sign), sign);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

LogicalResult tl::lowerDivisions(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  patterns.add<ExpandDivision, ExpandRsqrt, ExpandSqrt,
               ExpandIntegerDivision<arith::DivSIOp, true, false>,
               ExpandIntegerDivision<arith::DivUIOp, false, false>,
               ExpandIntegerDivision<arith::RemSIOp, true, true>,
               ExpandIntegerDivision<arith::RemUIOp, false, true>>(
      patterns.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  return applyToOps(root, std::move(patterns));
}
