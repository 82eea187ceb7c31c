//===- SineAndCosine.cpp - Sine and cosine of any number ------------------===//
//
// An argument is reduced to a quadrant and a rest of at most pi / 4, for which
// a polynomial does. Up to a bound the multiple of pi / 2 is taken off in parts
// (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions").
// Beyond it x is multiplied by those bits of 2 / pi that matter: bits whose
// product is a multiple of four do not, and neither do those far below the
// distance that a number keeps from multiples of pi / 2 (M. H. Payne and
// R. N. Hanek, "Radian Reduction for Trigonometric Functions").
//
// Sound for all inputs: what is infinite, or NaN, gives NaN. The second way is
// a branch, which the elements of a vector take together if one of them is
// large; in it, each that is has a branch of its own, and those that are small
// keep the result of the first. Side by side, four sines of f32 had 60
// registers, and have 32.
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tl;

namespace {
/// A number as `quadrant` pi / 2 + `high` + `low`.
struct Reduction {
  Value quadrant; ///< an integer of which the two lowest bits count
  Value high;
  Value low; ///< none in f32

  SmallVector<Value> getValues() const {
    SmallVector<Value> values = {quadrant, high};
    if (low)
      values.push_back(low);
    return values;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Large arguments
//===----------------------------------------------------------------------===//

/// The bits of 2 / pi behind the point.
static constexpr uint64_t kTwoOverPi[] = {
    0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
    0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C,
    0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41,
    0x3991D639835339F4, 0x9C845F8BBDF9283B, 0x1FF897FFDE05980F,
    0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08,
    0x56033046FC7B6BAB};

/// pi / 2 in two parts.
static constexpr double kHalfPi = 1.5707963267948966;
static constexpr double kHalfPiLow = 6.123233995736766e-17;

/// 192 bits of 2 / pi, from bit `start` on, the highest first. Bit 64 is the
/// first behind the point; `lastStart` is the greatest start there is.
static std::array<Value, 3> selectBits(const FloatBuilder &f, Value start,
                                       unsigned lastStart) {
  unsigned lastWord = lastStart / 64;
  SmallVector<Value> words = {f.integer(0)};
  for (unsigned i = 0; i < lastWord + 3; ++i)
    words.push_back(f.bits(kTwoOverPi[i]));
  // Word by word, the higher half of those left or the lower.
  for (unsigned distance = llvm::PowerOf2Ceil(lastWord + 1) / 2; distance > 0;
       distance /= 2) {
    Value isHigher = f.test(start, 64 * distance);
    size_t kept = std::min<size_t>(words.size(), distance + 3);
    for (size_t i = 0; i < kept; ++i)
      if (i + distance < words.size())
        words[i] = f.select(isHigher, words[i + distance], words[i]);
    words.resize(kept);
  }
  Value by = f.mask(start, 63);
  Value opposite = f.sub(f.integer(63), by);
  std::array<Value, 3> result;
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = f.add(f.shiftLeft(words[i], by),
                      f.shiftDown(f.shiftDown(words[i + 1], 1), opposite));
  return result;
}

/// Reduces a positive f64 from 2^17 on, and below 2^(`lastExponent` + 1).
static Reduction reduceLarge(const FloatBuilder &f, Value x,
                             unsigned lastExponent) {
  Value bits = f.floatToBits(x);
  Value exponent = f.sub(f.shiftDown(bits, 52), f.integer(1023));
  Value mantissa =
      f.add(f.mask(bits, (uint64_t(1) << 52) - 1), f.bits(uint64_t(1) << 52));
  // x is mantissa 2^(exponent - 52). Of its product with 2 / pi, taken modulo
  // four, the bits from 2^1 on matter.
  auto [high, middle, low] =
      selectBits(f, f.add(exponent, f.integer(10)), lastExponent + 10);
  auto [unused, carry] = f.mulWide(mantissa, low);
  auto [second, upper] = f.mulWide(mantissa, middle);
  Value next = f.add(second, carry);
  Value overflow =
      f.select(f.isBelow(next, second), f.integer(1), f.integer(0));
  Value top = f.add(f.add(f.mul(mantissa, high), upper), overflow);

  // The two highest bits are the quadrant, rounded to nearest.
  Value quadrant = f.shiftDown(f.add(top, f.bits(uint64_t(1) << 61)), 62);
  top = f.sub(top, f.shiftLeft(quadrant, 62));
  Value first = f.mul(f.toFloat(f.shiftRight(top, 32)), f(0x1p-30));
  Value rest = f.mul(f.toFloat(f.mask(top, 0xFFFFFFFF)), f(0x1p-62));
  Value last = f.mul(f.toFloat(f.shiftDown(next, 11)), f(0x1p-115));
  Parts sum = addParts(f, first, rest);
  Parts fraction = addParts(f, sum.high, f.add(sum.low, last));
  // The product of the upper halves is exact, so that it does not matter
  // whether it is contracted with the sum.
  constexpr double upperHalfPi = 0x1.921fb54p0;
  Value half = f.bitsToFloat(
      f.mask(f.floatToBits(fraction.high), ~((uint64_t(1) << 27) - 1)));
  Value small =
      f.fma(fraction.high, f(kHalfPiLow), f.mul(fraction.low, f(kHalfPi)));
  small = f.fma(f.sub(fraction.high, half), f(kHalfPi), small);
  small = f.fma(half, f(kHalfPi - upperHalfPi), small);
  Parts result = addParts(f, f.mul(half, f(upperHalfPi)), small);
  return {quadrant, result.high, result.low};
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

namespace {
/// How the functions of one type are made.
struct Precision {
  double bound;          ///< up to which the first way is exact enough
  unsigned lastExponent; ///< of finite numbers
};
constexpr Precision kSingle = {0x1p17, 127};
constexpr Precision kDouble = {0x1p20, 1023};
} // namespace

/// For f32, in three parts of 24 bits. Adding 1.5 * 2^23 rounds to an integer
/// and leaves it in the low bits.
static Reduction reduceSingle(const FloatBuilder &f, Value x) {
  constexpr double magic = 12582912.0;
  Value shifted = f.fma(x, f(2 * llvm::numbers::inv_pi), f(magic));
  Value j = f.neg(f.sub(shifted, f(magic)));
  Value r = f.fma(j, f(1.5707963705062866), x);
  r = f.fma(j, f(-4.3711388286737929e-8), r);
  r = f.fma(j, f(-1.7151245100058819e-15), r);
  return {f.floatToBits(shifted), r, Value()};
}

/// For f64, in three parts of 33 bits and one of 53, with a rest in two. The
/// products with the first three are exact, so that it does not matter whether
/// they are contracted with the sums that take them.
static Reduction reduceDouble(const FloatBuilder &f, Value x) {
  constexpr double magic = 6755399441055744.0;
  Value shifted = f.fma(x, f(2 * llvm::numbers::inv_pi), f(magic));
  Value j = f.sub(shifted, f(magic));
  Value back = f.neg(j);
  Value first = f.fma(back, f(0x1.921fb544p0), x);
  Parts second = addParts(f, first, f.mul(back, f(0x1.0b4611a6p-34)));
  Parts third = addParts(f, second.high, f.mul(back, f(0x1.3198a2ep-69)));
  Value low =
      f.fma(back, f(0x1.b839a252049c1p-104), f.add(third.low, second.low));
  Parts sum = addParts(f, third.high, low);
  return {f.floatToBits(shifted), sum.high, sum.low};
}

/// Reduces a positive number that is too large for the first way, in f64.
static Reduction reduceInDouble(const Blocks &blocks, Value x,
                                const Precision &precision) {
  OpBuilder &builder = blocks.builder;
  Location loc = blocks.loc;
  Type type = x.getType();
  if (type.isF64())
    return reduceLarge(blocks.f, x, precision.lastExponent);
  Type wide = builder.getF64Type();
  FloatBuilder f(builder, loc, wide);
  x = arith::ExtFOp::create(builder, loc, wide, x);
  Reduction large = reduceLarge(f, x, precision.lastExponent);
  return {
      arith::TruncIOp::create(builder, loc, builder.getI32Type(),
                              large.quadrant),
      arith::TruncFOp::create(builder, loc, type, large.high),
      Value(),
  };
}

/// What `reduce` gives for a number beyond the bound.
static SmallVector<Value> reduceBeyond(const Blocks &blocks, Value x,
                                       const Precision &precision) {
  const FloatBuilder &f = blocks.f;
  SmallVector<Value> values =
      reduceInDouble(blocks, f.abs(x), precision).getValues();
  // Of a negative number, everything is negative.
  Value isNegative = f.less(x, 0);
  for (Value &value : values) {
    Value opposite =
        &value == &values.front() ? f.sub(f.integer(0), value) : f.neg(value);
    value = f.select(isNegative, opposite, value);
  }
  return values;
}

/// Puts what `reduce` gives for the elements of the vector `x` that are not
/// small in the places of `values`, for one element after the other.
static void replaceLarge(const Blocks &blocks, Value x, Value isSmall,
                         const Precision &precision,
                         MutableArrayRef<Value> values) {
  OpBuilder &builder = blocks.builder;
  Location loc = blocks.loc;
  auto type = cast<VectorType>(x.getType());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    auto at = [&](Value vector) -> Value {
      return vector::ExtractOp::create(builder, loc, vector, i);
    };
    Value element = at(x);
    SmallVector<Value> small = llvm::map_to_vector(values, at);
    auto branch = scf::IfOp::create(
        builder, loc, at(isSmall),
        [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, small); },
        [&](OpBuilder &b, Location) {
          FloatBuilder f(b, loc, type.getElementType());
          Blocks inner{b, loc, f, blocks.oneOver, blocks.flags};
          scf::YieldOp::create(b, loc, reduceBeyond(inner, element, precision));
        });
    for (auto [value, result] : llvm::zip_equal(values, branch.getResults()))
      value = vector::InsertOp::create(builder, loc, result, value, i);
  }
}

static Reduction reduce(const Blocks &blocks, Value x,
                        const Precision &precision) {
  const FloatBuilder &f = blocks.f;
  bool isDouble = &precision == &kDouble;
  Value isSmall = f.atMost(f.abs(x), precision.bound);
  Reduction small = isDouble ? reduceDouble(f, x) : reduceSingle(f, x);
  auto branch = scf::IfOp::create(
      blocks.builder, blocks.loc, f.all(isSmall),
      [&](OpBuilder &builder, Location loc) {
        scf::YieldOp::create(builder, loc, small.getValues());
      },
      [&](OpBuilder &builder, Location loc) {
        FloatBuilder g(builder, loc, x.getType());
        Blocks inner{builder, loc, g, blocks.oneOver, blocks.flags};
        SmallVector<Value> values = small.getValues();
        if (isa<VectorType>(x.getType()))
          replaceLarge(inner, x, isSmall, precision, values);
        else
          values = reduceBeyond(inner, x, precision);
        scf::YieldOp::create(builder, loc, values);
      });
  return {branch.getResult(0), branch.getResult(1),
          small.low ? branch.getResult(2) : Value()};
}

/// sin and cos of a number of at most pi / 4, in f32.
static std::pair<Value, Value> emitSingle(const FloatBuilder &f, Value r) {
  Value z = f.mul(r, r);
  Value sine = f.fma(
      f.polynomial(z, {-1.95828558508e-4, 8.33272473263e-3, -0.1666666454}),
      f.mul(z, r), r);
  Value cosine = f.fma(
      f.polynomial(z, {2.45428963369e-5, -1.38882794496e-3, 4.16666645369e-2}),
      f.mul(z, z), f.fma(z, f(-0.5), f(1)));
  return {sine, cosine};
}

/// The Taylor series 1/`first`! - z/(`first` + 2)! + …
static Value emitSeries(const FloatBuilder &f, Value z, int first, int last) {
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int i = 2; i <= last; ++i) {
    factorial *= i;
    if (i >= first && (i - first) % 2 == 0)
      coefficients.push_back((i - first) % 4 == 0 ? 1 / factorial
                                                  : -1 / factorial);
  }
  return f.polynomial(z, SmallVector<double>(llvm::reverse(coefficients)));
}

/// The same in f64, of a number in two parts.
static std::pair<Value, Value> emitDouble(const FloatBuilder &f, Value r,
                                          Value low) {
  Value z = f.mul(r, r);
  Value half = f.mul(z, f(0.5));
  // r - r^3 (1/3! - …) + low (1 - r^2 / 2)
  Value rest = f.fma(f.neg(half), low, low);
  Value cube = f.mul(f.neg(z), r);
  Value sine = f.add(r, f.fma(cube, emitSeries(f, z, 3, 17), rest));
  // 1 - r^2 / 2 + r^4 (1/4! - …) - r low
  Value most = f.sub(f(1), half);
  Value lost = f.sub(f.sub(f(1), most), half);
  rest = f.fma(f.neg(r), low, lost);
  Value cosine = f.add(most, f.fma(f.mul(z, z), emitSeries(f, z, 4, 18), rest));
  return {sine, cosine};
}

/// sin(x + `quarters` pi / 2).
static Value emitSine(const Blocks &blocks, Value x, int32_t quarters) {
  const FloatBuilder &f = blocks.f;
  bool isDouble = getElementTypeOrSelf(x.getType()).isF64();
  auto [bits, high, low] = reduce(blocks, x, isDouble ? kDouble : kSingle);
  auto [sine, cosine] =
      isDouble ? emitDouble(f, high, low) : emitSingle(f, high);
  Value quadrant = f.add(bits, f.integer(quarters));
  Value result = f.select(f.test(quadrant, 1), cosine, sine);
  result = f.select(f.test(quadrant, 2), f.neg(result), result);
  // The negative zero, plus what is taken off and put on again, is none.
  if (quarters == 0)
    result = f.select(f.equal(x, 0), x, result);
  Value isFinite = f.less(f.abs(x), std::numeric_limits<double>::infinity());
  return f.select(isFinite, result, f.sub(x, x));
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

void tl::populateSinePatterns(RewritePatternSet &patterns) {
  auto isKnown = [](Type type, arith::FastMathFlags) {
    return type.isF32() || type.isF64();
  };
  addFunction<math::SinOp>(
      patterns, nullptr, isKnown,
      [](const Blocks &blocks, Value x) { return emitSine(blocks, x, 0); });
  addFunction<math::CosOp>(
      patterns, nullptr, isKnown,
      [](const Blocks &blocks, Value x) { return emitSine(blocks, x, 1); });
}
