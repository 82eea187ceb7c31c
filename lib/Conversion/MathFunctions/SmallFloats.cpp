//===- SmallFloats.cpp - Conversions of small floats as arithmetic --------===//
//
// `f8E4M3FN` and `f8E5M2` are storage: what is computed is computed in f32. So
// there are two conversions, from f32 and to it; those from and to other types
// go through f32, which holds every number of 8 bits.
//
// Sound for all inputs. To f32, the bits are those of an f16 with another bias,
// denormal numbers included. From f32, the bits of the significand that are too
// many are rounded off by adding half of the last one kept, less a bit if that
// is even; numbers that become denormal are rounded by the sum with a power of
// two, whose last bit is their quantum. What is too large becomes infinity, or
// NaN where there is none, as the type's next bits say. f64 is rounded to odd
// first: a second rounding does not take that for a tie.
//
// The same holds for bf16, where there are only conversions between it and f32:
// f64, and integers that f32 would round, are rounded to odd first.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/MathFunctions/FloatBuilder.h"
#include "tl/Conversion/MathFunctions/MathFunctions.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tl;

/// `element`, in the shape of `shape` if that is a vector.
static Type withElement(Type shape, Type element) {
  if (auto vector = dyn_cast<VectorType>(shape))
    return vector.clone(element);
  return element;
}

namespace {
/// How a type differs from f32.
struct Format {
  int dropped;   ///< bits of the significand that f32 has more
  int bias;      ///< what the exponent's bias is less
  int beyond;    ///< the bits of what is too large
  int notNumber; ///< the bits of a NaN
};
} // namespace

static bool isSmallFloat(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type));
}

static Format getFormat(Type type) {
  if (isa<Float8E4M3FNType>(getElementTypeOrSelf(type)))
    return {20, 127 - 7, 0x7F, 0x7F};
  return {21, 127 - 15, 0x7C, 0x7E};
}

/// A small float as one of f32.
static Value emitWiden(OpBuilder &builder, Location loc, Value x) {
  Type from = x.getType();
  bool hasInfinity = isa<Float8E5M2Type>(getElementTypeOrSelf(from));
  FloatBuilder half(builder, loc, withElement(from, builder.getF16Type()));
  FloatBuilder f(builder, loc, withElement(from, builder.getF32Type()));
  Value byte = arith::BitcastOp::create(
      builder, loc, withElement(from, builder.getI8Type()), x);
  Value word = arith::ExtUIOp::create(
      builder, loc, withElement(from, builder.getI16Type()), byte);
  auto widen = [&](Value bits) -> Value {
    return arith::ExtFOp::create(builder, loc,
                                 withElement(from, builder.getF32Type()),
                                 half.bitsToFloat(bits));
  };
  if (hasInfinity)
    return widen(half.shiftLeft(word, 8));
  Value size = half.mask(word, 0x7F);
  Value sign = half.shiftLeft(half.mask(word, 0x80), 8);
  Value result =
      f.mul(widen(half.either(half.shiftLeft(size, 7), sign)), f(256));
  return f.select(half.equalBits(size, 0x7F),
                  f(std::numeric_limits<double>::quiet_NaN()), result);
}

/// An f32 as a small float of the type `to`.
static Value emitNarrow(OpBuilder &builder, Location loc, Value x, Type to) {
  Format format = getFormat(to);
  FloatBuilder f(builder, loc, x.getType());
  Value bits = f.floatToBits(x);
  Value size = f.mask(bits, 0x7FFFFFFF);
  Value isOdd = f.mask(f.shiftDown(size, format.dropped), 1);
  Value rounded =
      f.add(f.add(size, f.integer((1 << (format.dropped - 1)) - 1)), isOdd);
  int mantissa = 23 - format.dropped;
  Value normal = f.sub(f.shiftDown(rounded, format.dropped),
                       f.integer(format.bias << mantissa));
  Value isNumber =
      f.isBelow(size, f.integer(0x7F800001)); // not above infinity's bits
  normal = f.minInteger(normal, format.beyond);
  normal = f.select(isNumber, normal, f.integer(format.notNumber));
  // The power of two whose last bit is the least denormal number.
  double power = std::ldexp(1.0, 23 - mantissa - (126 - format.bias));
  Value tiny = f.sub(f.floatToBits(f.add(f.bitsToFloat(size), f(power))),
                     f.floatToBits(f(power)));
  Value isTiny = f.isBelow(size, f.integer((format.bias + 1) << 23));
  Value result = f.select(isTiny, tiny, normal);
  Value sign = f.mask(f.shiftDown(bits, 24), 0x80);
  Value byte = arith::TruncIOp::create(builder, loc,
                                       withElement(to, builder.getI8Type()),
                                       f.either(result, sign));
  return arith::BitcastOp::create(builder, loc, to, byte);
}

/// An integer of 32 or 64 bits with at most 24 that count, which f32 holds. One
/// that has more becomes one of the two numbers of 24 bits or less around it:
/// the odd one, whose last bit no later rounding takes for a tie.
static Value roundIntegerToOdd(OpBuilder &builder, Location loc, Value x,
                               bool isSigned) {
  unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  auto constant = [&](const APInt &value) -> Value {
    TypedAttr attribute =
        builder.getIntegerAttr(getElementTypeOrSelf(x.getType()), value);
    if (auto vector = dyn_cast<VectorType>(x.getType()))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  auto power = [&](unsigned bit) { return APInt::getOneBitSet(width, bit); };
  // Whether |x| is below 2^bits.
  auto isBelow = [&](unsigned bits) -> Value {
    Value size = x;
    if (isSigned)
      size = arith::AddIOp::create(builder, loc, x, constant(power(bits)));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, size,
                                 constant(power(isSigned ? bits + 1 : bits)));
  };
  auto dropBits = [&](unsigned count) -> Value {
    APInt low = APInt::getLowBitsSet(width, count);
    Value rest = arith::AndIOp::create(builder, loc, x, constant(low));
    Value isExact =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rest,
                              constant(APInt::getZero(width)));
    Value kept = arith::AndIOp::create(builder, loc, x, constant(~low));
    Value odd =
        arith::OrIOp::create(builder, loc, kept, constant(power(count)));
    return arith::SelectOp::create(builder, loc, isExact, kept, odd);
  };
  // Each leaves 24 bits of the largest numbers that it is for, and 11 of the
  // least.
  static constexpr unsigned ofWords[] = {8}, ofDoubles[] = {14, 28, 40};
  ArrayRef<unsigned> counts = width == 32 ? ArrayRef(ofWords) : ofDoubles;
  Value result = dropBits(counts.back());
  for (unsigned count : llvm::reverse(counts.drop_back()))
    result = arith::SelectOp::create(builder, loc, isBelow(24 + count),
                                     dropBits(count), result);
  return arith::SelectOp::create(builder, loc, isBelow(24), x, result);
}

/// An f64 as an f32 between whose neighbours it lies: where it is between two,
/// the one whose last bit is set.
static Value roundToOdd(OpBuilder &builder, Location loc, Value x) {
  FloatBuilder wide(builder, loc, x.getType());
  Type single = withElement(x.getType(), builder.getF32Type());
  FloatBuilder f(builder, loc, single);
  Value nearest = arith::TruncFOp::create(builder, loc, single, x);
  Value back = wide.abs(
      arith::ExtFOp::create(builder, loc, x.getType(), nearest).getResult());
  Value size = wide.abs(x);
  Value bits = f.floatToBits(nearest);
  Value isBelow = wide.compare(arith::CmpFPredicate::OLT, back, size);
  Value isAbove = wide.compare(arith::CmpFPredicate::OGT, back, size);
  // Towards zero, and the last bit set.
  Value low = f.select(isAbove, f.sub(bits, f.integer(1)), bits);
  Value odd = f.either(low, f.integer(1));
  return f.bitsToFloat(f.select(f.either(isBelow, isAbove), odd, bits));
}

namespace {
struct WidenSmallFloat : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isSmallFloat(op.getIn().getType()))
      return rewriter.notifyMatchFailure(op, "not of a small float");
    Value result = emitWiden(rewriter, op.getLoc(), op.getIn());
    unsigned width = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
    if (width > 32)
      result =
          arith::ExtFOp::create(rewriter, op.getLoc(), op.getType(), result);
    else if (width < 32)
      result =
          arith::TruncFOp::create(rewriter, op.getLoc(), op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct NarrowSmallFloat : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isSmallFloat(op.getType()))
      return rewriter.notifyMatchFailure(op, "not to a small float");
    Value x = op.getIn();
    Type single = withElement(x.getType(), rewriter.getF32Type());
    unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
    if (width > 32)
      x = roundToOdd(rewriter, op.getLoc(), x);
    else if (width < 32)
      x = arith::ExtFOp::create(rewriter, op.getLoc(), single, x);
    rewriter.replaceOp(op, emitNarrow(rewriter, op.getLoc(), x, op.getType()));
    return success();
  }
};

struct WidenBFloat16ToDouble : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType();
    if (!getElementTypeOrSelf(from).isBF16() ||
        !getElementTypeOrSelf(op.getType()).isF64())
      return rewriter.notifyMatchFailure(op, "not from bf16 to f64");
    Value single = arith::ExtFOp::create(
        rewriter, op.getLoc(), withElement(from, rewriter.getF32Type()),
        op.getIn());
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), single);
    return success();
  }
};

struct NarrowDoubleToBFloat16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16() ||
        !getElementTypeOrSelf(op.getIn().getType()).isF64())
      return rewriter.notifyMatchFailure(op, "not from f64 to bf16");
    Value single = roundToOdd(rewriter, op.getLoc(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    return success();
  }
};

/// Integers that f32 may round, which is what bf16 is made of.
template <typename OpTy>
struct NarrowIntegerToBFloat16 : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType();
    if (!getElementTypeOrSelf(op.getType()).isBF16() ||
        getElementTypeOrSelf(from).getIntOrFloatBitWidth() < 32)
      return rewriter.notifyMatchFailure(op, "not of 32 bits to bf16");
    Value odd = roundIntegerToOdd(rewriter, op.getLoc(), op.getIn(),
                                  std::is_same_v<OpTy, arith::SIToFPOp>);
    Value single = OpTy::create(rewriter, op.getLoc(),
                                withElement(from, rewriter.getF32Type()), odd);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    return success();
  }
};

/// `a * b + c` in f64, where the product is exact. The sum is rounded to odd,
/// by what its rounding left over, so that it rounds on as the exact one would:
/// f32 is too narrow, because a sum that is near a tie of bf16 may be one
/// there.
struct FuseInDouble : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "not of bf16");
    Location loc = op.getLoc();
    Type wide = withElement(op.getType(), rewriter.getF64Type());
    FloatBuilder f(rewriter, loc, wide);
    auto widen = [&](Value x) -> Value {
      return arith::ExtFOp::create(rewriter, loc, wide, x);
    };
    Value a = widen(op.getA()), b = widen(op.getB()), c = widen(op.getC());
    Value product = f.mul(a, b), sum = f.fma(a, b, c);
    // Knuth's: what is left is exact, and NaN beside infinities.
    Value added = f.sub(sum, product);
    Value left = f.add(f.sub(product, f.sub(sum, added)), f.sub(c, added));
    Value bits = f.floatToBits(sum);
    Value isEven = f.equalBits(f.mask(bits, 1), 0);
    Value isInexact = f.compare(arith::CmpFPredicate::ONE, left, f(0));
    Value step =
        f.select(f.signsDiffer(left, sum), f.integer(-1), f.integer(1));
    Value odd = f.select(f.both(isInexact, isEven), f.add(bits, step), bits);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(),
                                                 f.bitsToFloat(odd));
    return success();
  }
};

/// Canonicalisation makes these of conversions by way of f32. An integer that
/// f32 rounds is too large for 8 bits anyway.
template <typename OpTy>
struct NarrowInteger : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!isSmallFloat(op.getType()))
      return rewriter.notifyMatchFailure(op, "not to a small float");
    Type single = withElement(op.getType(), rewriter.getF32Type());
    Value wide = OpTy::create(rewriter, op.getLoc(), single, op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};
} // namespace

void tl::populateSmallFloatPatterns(RewritePatternSet &patterns) {
  patterns.add<NarrowInteger<arith::SIToFPOp>, NarrowInteger<arith::UIToFPOp>,
               NarrowSmallFloat, WidenSmallFloat>(patterns.getContext());
}

void tl::populateBFloat16IntegerPatterns(RewritePatternSet &patterns) {
  patterns.add<NarrowIntegerToBFloat16<arith::SIToFPOp>,
               NarrowIntegerToBFloat16<arith::UIToFPOp>>(patterns.getContext());
}

void tl::populateBFloat16FusedPatterns(RewritePatternSet &patterns) {
  patterns.add<FuseInDouble>(patterns.getContext());
}

void tl::populateBFloat16DoublePatterns(RewritePatternSet &patterns) {
  patterns.add<NarrowDoubleToBFloat16, WidenBFloat16ToDouble>(
      patterns.getContext());
}
