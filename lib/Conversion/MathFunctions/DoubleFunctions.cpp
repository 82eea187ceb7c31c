//===- DoubleFunctions.cpp - Functions of f64 as arithmetic ---------------===//
//
// What MathFunctions.cpp is for f32: GPUs have no instructions for functions of
// f64, and the library that CUDA's compilers link would make calls.
//
// Polynomials are Taylor series, cut where a term is below the last bit, but
// for `erf`, whose are fits at the points of Chebyshev. The reductions before
// them, and what is added last, are done in two parts where one would lose
// bits; the method is that of W. J. Cody and W. Waite, "Software Manual for the
// Elementary Functions".
//
// Sound for all inputs: the clamps keep exponents in the range that bits can be
// made of, denormal arguments are scaled first, and what no formula reaches is
// selected at the end. Errors are in docs/language/accuracy.md.
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tl;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// ln 2 in two parts; the first times any exponent is exact.
static constexpr double kLn2High = 0.6931471803691238;
static constexpr double kLn2Low = 1.9082149292705877e-10;

/// Adding this rounds to an integer, and leaves it in the low bits.
static constexpr double kRound = 6755399441055744.0;

//===----------------------------------------------------------------------===//
// Numbers in two parts
//===----------------------------------------------------------------------===//

Parts tl::addOrdered(const FloatBuilder &f, Value a, Value b) {
  Value sum = f.add(a, b);
  return {sum, f.sub(b, f.sub(sum, a))};
}

Parts tl::addParts(const FloatBuilder &f, Value a, Value b) {
  Value sum = f.add(a, b);
  Value second = f.sub(sum, a);
  Value low = f.add(f.sub(a, f.sub(sum, second)), f.sub(b, second));
  return {sum, low};
}

Parts tl::mulParts(const FloatBuilder &f, Value a, Value b) {
  Value product = f.product(a, b);
  return {product, f.fma(a, b, f.neg(product))};
}

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// The Taylor series of (e^x - 1 - x) / x^2, for |x| <= ln(2) / 2.
static Value emitExpRest(const FloatBuilder &f, Value x) {
  constexpr int degree = 13;
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int i = 2; i <= degree; ++i)
    coefficients.push_back(1 / (factorial *= i));
  return f.polynomial(x, SmallVector<double>(llvm::reverse(coefficients)));
}

namespace {
/// A number as `exponent` ln 2 + `rest`.
struct ExpReduction {
  Value exponent; ///< an integer
  Value rounded;  ///< the same as a float
  Value rest;     ///< at most ln(2) / 2 in size
};
} // namespace

/// Reduces a number of moderate size.
static ExpReduction reduceExp(const FloatBuilder &f, Value x) {
  Value shifted = f.fma(x, f(llvm::numbers::log2e), f(kRound));
  Value rounded = f.sub(shifted, f(kRound));
  Value rest = f.fma(rounded, f(-kLn2High), x);
  rest = f.fma(rounded, f(-kLn2Low), rest);
  Value exponent = f.sub(f.floatToBits(shifted), f.floatToBits(f(kRound)));
  return {exponent, rounded, rest};
}

/// 2^`exponent`, which must be that of a normal number.
static Value emitPower(const FloatBuilder &f, Value exponent) {
  return f.bitsToFloat(f.shiftLeft(f.add(exponent, f.integer(1023)), 52));
}

/// `x` 2^`exponent`, of which one may overflow or be denormal.
static Value scale(const FloatBuilder &f, Value x, Value exponent) {
  Value half = f.shiftRight(exponent, 1);
  x = f.mul(x, emitPower(f, half));
  return f.mul(x, emitPower(f, f.sub(exponent, half)));
}

/// e^(x + low), where `low` is much smaller than one.
static Value emitExp(const FloatBuilder &f, Value x, Value low) {
  // e^710 overflows and e^-746 is zero.
  ExpReduction reduced = reduceExp(f, f.max(f.min(x, f(710)), f(-746)));
  Value rest = low ? f.add(reduced.rest, low) : reduced.rest;
  Value sum = f.fma(f.mul(rest, rest), emitExpRest(f, rest), rest);
  Value result = scale(f, f.add(f(1), sum), reduced.exponent);
  return f.select(f.isNaN(x), x, result);
}

static Value emitExp2(const FloatBuilder &f, Value x) {
  Value clamped = f.max(f.min(x, f(1025)), f(-1076));
  Value shifted = f.add(clamped, f(kRound));
  Value exponent = f.sub(f.floatToBits(shifted), f.floatToBits(f(kRound)));
  Value fraction = f.sub(clamped, f.sub(shifted, f(kRound)));
  Value rest = f.mul(fraction, f(llvm::numbers::ln2));
  Value sum = f.fma(f.mul(rest, rest), emitExpRest(f, rest), rest);
  Value result = scale(f, f.add(f(1), sum), exponent);
  return f.select(f.isNaN(x), x, result);
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

namespace {
/// A positive number as 2^`exponent` (1 + `fraction`), with the second factor
/// between sqrt(1/2) and sqrt(2).
struct Split {
  Value exponent, fraction;
};
} // namespace

static Split emitSplit(const FloatBuilder &f, Value x) {
  constexpr uint64_t halfRoot = 0x3FE6A09E667F3BCD; // the bits of sqrt(1/2)
  Value isTiny = f.less(x, std::numeric_limits<double>::min());
  Value normal = f.select(isTiny, f.mul(x, f(0x1p54)), x);
  Value bits = f.floatToBits(normal);
  Value exponent = f.shiftRight(f.sub(bits, f.bits(halfRoot)), 52);
  Value mantissa = f.bitsToFloat(f.sub(bits, f.shiftLeft(exponent, 52)));
  Value offset = f.select(isTiny, f(-54), f(0));
  return {f.add(f.toFloat(exponent), offset), f.sub(mantissa, f(1))};
}

/// The series 2/`first` + 2/(`first` + 2) z + …, of which log((1 + s) / (1 -
/// s)) is made, for z = s^2 below 0.0295.
static Value emitLogSeries(const FloatBuilder &f, Value z, int first) {
  SmallVector<double> coefficients;
  for (int i = 25; i >= first; i -= 2)
    coefficients.push_back(2.0 / i);
  return f.polynomial(z, coefficients);
}

/// log(1 + `fraction`) - `fraction`. With s = x / (2 + x) that is
/// s (x^2 / 2 + z (2/3 + 2/5 z + …)) - x^2 / 2.
static Value emitLogRest(const Blocks &blocks, Value fraction) {
  const FloatBuilder &f = blocks.f;
  Value s = f.mul(fraction, blocks.reciprocal(f.add(fraction, f(2))));
  Value z = f.mul(s, s);
  Value half = f.mul(f.mul(fraction, f(0.5)), fraction);
  Value sum = f.fma(z, emitLogSeries(f, z, 3), half);
  return f.fma(s, sum, f.neg(half));
}

/// Puts in what a logarithm is of arguments that are not positive numbers.
static Value selectLog(const FloatBuilder &f, Value x, Value result) {
  // Infinity and NaN are their own logarithms.
  Value special = f.select(f.less(x, 0), f(kNaN), x);
  special = f.select(f.equal(x, 0), f(-kInfinity), special);
  Value isPositive = f.both(f.greater(x, 0), f.less(x, kInfinity));
  return f.select(isPositive, result, special);
}

static Value emitLog(const Blocks &blocks, Value x) {
  const FloatBuilder &f = blocks.f;
  auto [exponent, fraction] = emitSplit(f, x);
  Value rest = emitLogRest(blocks, fraction);
  rest = f.fma(exponent, f(kLn2Low), rest);
  Value result = f.fma(exponent, f(kLn2High), f.add(rest, fraction));
  return selectLog(f, x, result);
}

static Value emitLog2(const Blocks &blocks, Value x) {
  constexpr double high = 1.4426950408889634, low = 2.0355273740931033e-17;
  const FloatBuilder &f = blocks.f;
  auto [exponent, fraction] = emitSplit(f, x);
  Value rest = emitLogRest(blocks, fraction);
  Parts product = mulParts(f, fraction, f(high));
  Value small = f.fma(fraction, f(low), f.fma(rest, f(high), product.low));
  // The exponent is zero or larger than the product.
  Value sum = f.add(exponent, product.high);
  Value lost = f.add(f.sub(exponent, sum), product.high);
  return selectLog(f, x, f.add(sum, f.add(small, lost)));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

LogStart tl::startLog(const Blocks &blocks, Value fraction, Multiply multiply,
                      double third, double thirdLow) {
  const FloatBuilder &f = blocks.f;
  Parts divisor = addOrdered(f, f(2), fraction);
  Value inverse = blocks.reciprocal(divisor.high);
  Value s = (f.*multiply)(fraction, inverse);
  Value remainder = f.fma(f.neg(s), divisor.high, fraction);
  remainder = f.fma(f.neg(s), divisor.low, remainder);
  Value sLow = (f.*multiply)(remainder, inverse);
  Parts square = mulParts(f, s, s);
  Value squareLow = f.fma(f.add(s, s), sLow, square.low);
  Parts cube = mulParts(f, s, square.high);
  Value cubeLow = f.fma(s, squareLow, f.fma(sLow, square.high, cube.low));
  Parts term = mulParts(f, cube.high, f(third));
  Value termLow = f.fma(cubeLow, f(third), term.low);
  termLow = f.fma(cube.high, f(thirdLow), termLow);
  return {{s, sLow}, {term.high, termLow}, square.high, cube.high};
}

/// log of a positive, normal or denormal number, with 11 bits more than f64
/// has: as many as an exponential takes of its argument.
static Parts emitLogInParts(const Blocks &blocks, Value x) {
  const FloatBuilder &f = blocks.f;
  auto [exponent, fraction] = emitSplit(f, x);
  auto [s, term, square, cube] = startLog(blocks, fraction, &FloatBuilder::mul,
                                          2.0 / 3, 3.700743415417188e-17);
  // The others need no second part.
  Value tail = f.mul(f.mul(cube, square), emitLogSeries(f, square, 5));

  Parts sum = addOrdered(f, f.add(s.high, s.high), term.high);
  Value low = f.add(f.add(sum.low, f.add(s.low, s.low)), f.add(term.low, tail));
  low = f.fma(exponent, f(kLn2Low), low);
  Parts whole = addParts(f, f.mul(exponent, f(kLn2High)), sum.high);
  return addOrdered(f, whole.high, f.add(whole.low, low));
}

static Value emitPow(const Blocks &blocks, Value x, Value y) {
  const FloatBuilder &f = blocks.f;
  Parts log = emitLogInParts(blocks, f.abs(x));
  Parts product = mulParts(f, y, log.high);
  Value low = f.fma(y, log.low, product.low);
  // Beyond this the result is zero or infinity whatever the second part.
  low = f.select(f.less(f.abs(product.high), 1000), low, f(0));
  return selectPower(f, x, y, emitExp(f, product.high, low));
}

Value tl::selectPower(const FloatBuilder &f, Value x, Value y, Value result) {
  Value a = f.abs(x);
  // Zero and infinity have no logarithm that a formula reaches.
  Value isZero = f.equal(a, 0), isInfinite = f.equal(a, kInfinity);
  Value inverts = f.less(y, 0);
  Value end = f.select(f.differ(isZero, inverts), f(0), f(kInfinity));
  result = f.select(f.either(isZero, isInfinite), end, result);
  // Of one, any power is one; of other numbers, with an infinite exponent, the
  // logarithm's sign decides, which the formula does.
  result = f.select(f.equal(a, 1), f(1), result);

  // A negative number has whole powers only; odd ones are negative.
  Value isWhole = f.equal(f.floor(y), y);
  Value half = f.mul(y, f(0.5));
  Value isEven = f.equal(f.floor(half), half);
  Value whole = f.copySign(result, f.select(isEven, f(1), x));
  Value isNegative = f.both(f.less(x, 0), f.greater(x, -kInfinity));
  Value other = f.select(isNegative, f(kNaN), result);
  result = f.select(isWhole, whole, other);
  result = f.select(f.either(f.isNaN(x), f.isNaN(y)), f.add(x, y), result);
  return f.select(f.either(f.equal(y, 0), f.equal(x, 1)), f(1), result);
}

//===----------------------------------------------------------------------===//
// tanh and erf
//===----------------------------------------------------------------------===//

/// t / (t + 2) with t = e^2|x| - 1, or where that is exacter 1 - 2 / (t + 2).
static Value emitTanh(const Blocks &blocks, Value x) {
  const FloatBuilder &f = blocks.f;
  Value a = f.abs(x);
  // From 20 on it is 1.
  Value bounded = f.min(a, f(20));
  ExpReduction reduced = reduceExp(f, f.add(bounded, bounded));
  Value rest = reduced.rest;
  Value sum = f.fma(f.mul(rest, rest), emitExpRest(f, rest), rest);
  Value power = emitPower(f, reduced.exponent);
  Value t = f.fma(power, sum, f.sub(power, f(1)));
  Value divisor = f.add(t, f(2));
  Value inverse = blocks.reciprocal(divisor);
  Value small = f.mul(t, inverse);
  small = f.fma(f.fma(f.neg(small), divisor, t), inverse, small);
  Value large = f.fma(inverse, f(-2), f(1));
  Value result = f.copySign(f.select(f.less(a, 0.5), small, large), x);
  return f.select(f.isNaN(x), x, result);
}

/// 1 - e^-q(|x|), with a q for each of two ranges; up to one a polynomial. From
/// 6 on it is 1.
static Value emitErf(const Blocks &blocks, Value x) {
  const FloatBuilder &f = blocks.f;
  // 2 / sqrt(pi) - 1
  constexpr double slope = 0.1283791670955126;
  static constexpr double near[] = {
      -1.1398544940688474e-10, 3.4320349789246363e-10,  -2.349991963047211e-10,
      -2.862289649232427e-09,  2.307431396619057e-08,   -1.1310522337428491e-07,
      4.0192933598788253e-07,  -8.908616929462253e-07,  -8.275194478827921e-07,
      2.3741463568154805e-05,  -0.00017452306454516999, 0.0009640986489423922,
      -0.004624930498877531,   0.020538840381642994,    0.9099401664967366,
      3.9596109008134155,      4.317863525433222};
  static constexpr double far[] = {
      5.946112033676618e-14,   -2.8698220841370513e-13, 2.6991288529127863e-13,
      2.940872614232999e-12,   -4.435655510937355e-11,  4.674305474428252e-10,
      -4.051516015342507e-09,  3.154825282334365e-08,   -2.3019673791948704e-07,
      1.6067286323630878e-06,  -1.0879251818304368e-05, 7.237983657975445e-05,
      -0.00048052875642905777, 0.0032637442789577157,   0.9760845763968832,
      8.723775715521953,       20.107769901469705};
  Value a = f.abs(x);
  Value square = f.mul(x, x);
  Value p = f.polynomial(
      square,
      {-4.374621450325064e-12, 8.800680090460203e-11, -1.219035624032117e-09,
       1.4796618901290416e-08, -1.6365085592632062e-07, 1.6462076794793434e-06,
       -1.4925649082364785e-05, 0.0001205533295270044, -0.0008548327023024696,
       0.005223977625438469, -0.026866170645131082, 0.11283791670955125,
       -0.37612638903183754});
  Value small = f.fma(f.fma(p, square, f(slope)), x, x);

  Value isNear = f.less(a, 2.5);
  Value t = f.sub(f.min(a, f(6)), f.select(isNear, f(1.75), f(4.25)));
  Value q = f.select(isNear, f(near[0]), f(far[0]));
  for (size_t i = 1; i < std::size(near); ++i)
    q = f.fma(q, t, f.select(isNear, f(near[i]), f(far[i])));
  Value large = f.sub(f(1), emitExp(f, f.neg(q), Value()));
  Value result = f.select(f.less(a, 1), small, f.copySign(large, x));
  return f.select(f.isNaN(x), x, result);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

void tl::populateDoubleFunctionPatterns(RewritePatternSet &patterns,
                                        Reciprocal reciprocal) {
  addFunction<math::ExpOp>(patterns, reciprocal, isDouble,
                           [](const Blocks &blocks, Value x) {
                             return emitExp(blocks.f, x, Value());
                           });
  addFunction<math::Exp2Op>(
      patterns, reciprocal, isDouble,
      [](const Blocks &blocks, Value x) { return emitExp2(blocks.f, x); });
  addFunction<math::LogOp>(patterns, reciprocal, isDouble, emitLog);
  addFunction<math::Log2Op>(patterns, reciprocal, isDouble, emitLog2);
  addFunction<math::TanhOp>(patterns, reciprocal, isDouble, emitTanh);
  addFunction<math::ErfOp>(patterns, reciprocal, isDouble, emitErf);
  addFunction<math::PowFOp>(patterns, reciprocal, isDouble, emitPow);
}
