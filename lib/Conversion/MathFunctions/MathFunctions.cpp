//===- MathFunctions.cpp - Functions of floats as arithmetic --------------===//
//
// Each function of f32 is reduced to an interval on which a polynomial is as
// good as the type. Polynomials are weighted minimax fits of what is left of
// the function after its leading terms, so that those stay exact: zeros, signs
// and the ends of the range come out right by themselves.
//
// Sound for all inputs: denormal ones are scaled first, and what no formula
// reaches (zero, infinity, NaN, negative arguments of a logarithm) is selected
// at the end. The errors are measured over all arguments by a sweep against
// double precision.
//
//===----------------------------------------------------------------------===//

#include "Formulas.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tl;

Value FloatBuilder::all(Value mask) const {
  if (!isa<VectorType>(mask.getType()))
    return mask;
  auto elements = vector::ToElementsOp::create(builder, loc, mask);
  Value result = elements.getResults().front();
  for (Value element : elements.getResults().drop_front())
    result = both(result, element);
  return result;
}

/// ln 2 in two parts; the first times any exponent is exact.
static constexpr double kLn2High = 0.693145751953125;
static constexpr double kLn2Low = llvm::numbers::ln2 - kLn2High;

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
  constexpr double leastNormal = std::numeric_limits<float>::min();
  constexpr int32_t halfRoot = 0x3F3504F3; // the bits of sqrt(1/2)
  Value isTiny = f.less(x, leastNormal);
  Value normal = f.select(isTiny, f.mul(x, f(8388608.0)), x);
  Value bits = f.floatToBits(normal);
  Value exponent = f.shiftRight(f.sub(bits, f.integer(halfRoot)), 23);
  Value mantissa = f.bitsToFloat(f.sub(bits, f.shiftLeft(exponent, 23)));
  Value scale = f.select(isTiny, f(-23), f(0));
  return {f.add(f.toFloat(exponent), scale), f.sub(mantissa, f(1))};
}

/// log(1 + `fraction`) - `fraction` + `square` / 2, where `square` is that of
/// the fraction.
static Value emitLogRest(const FloatBuilder &f, Value fraction, Value square) {
  Value p = f.polynomial(fraction, {0.06746601324, -0.116756413, 0.118881746,
                                    -0.1240559142, 0.1421955091, -0.1666799567,
                                    0.2000211873, -0.250000096, 0.333333126});
  return f.mul(f.mul(p, fraction), square);
}

/// Puts in what a logarithm is of arguments that are not positive numbers.
static Value selectLog(const FloatBuilder &f, Value x, Value result) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  // Infinity and NaN are their own logarithms.
  Value special = f.select(f.less(x, 0), f(nan), x);
  special = f.select(f.equal(x, 0), f(-infinity), special);
  Value isPositive = f.both(f.greater(x, 0), f.less(x, infinity));
  return f.select(isPositive, result, special);
}

static Value emitLog(const FloatBuilder &f, Value x) {
  auto [exponent, fraction] = emitSplit(f, x);
  Value square = f.mul(fraction, fraction);
  Value rest = emitLogRest(f, fraction, square);
  rest = f.fma(exponent, f(kLn2Low), rest);
  rest = f.fma(square, f(-0.5), rest);
  return selectLog(f, x, f.fma(exponent, f(kLn2High), f.add(rest, fraction)));
}

static Value emitLog2(const FloatBuilder &f, Value x) {
  constexpr float high = llvm::numbers::log2ef;
  auto [exponent, fraction] = emitSplit(f, x);
  Value square = f.mul(fraction, fraction);
  Value rest = f.fma(square, f(-0.5), emitLogRest(f, fraction, square));
  // The product of the fraction and log2(e), and its sum with the exponent, in
  // two parts each.
  Value product = f.product(fraction, f(high));
  Value low = f.fma(fraction, f(llvm::numbers::log2e - double(high)),
                    f.mul(rest, f(high)));
  low = f.add(low, f.fma(fraction, f(high), f.neg(product)));
  Value sum = f.add(exponent, product);
  low = f.add(low, f.add(f.sub(exponent, sum), product));
  return selectLog(f, x, f.add(sum, low));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// log of a positive number with 10 bits more than f32 has, as many as an
/// exponential takes of its argument: 2 s + 2/3 s^3 + …, with s = fraction / (2
/// + fraction) and the first two terms in two parts.
static Parts emitLogInParts(const Blocks &blocks, Value x) {
  const FloatBuilder &f = blocks.f;
  auto [exponent, fraction] = emitSplit(f, x);
  auto [s, term, square, cube] =
      startLog(blocks, fraction, &FloatBuilder::product, 0.6666666865348816,
               -1.98682155e-08);
  Value tail = f.polynomial(square, {0.2341963351, 0.2854709029, 0.4000015259});

  Parts sum = addOrdered(f, f.add(s.high, s.high), term.high);
  Value low = f.add(sum.low, f.add(f.add(s.low, s.low), term.low));
  low = f.fma(f.mul(cube, square), tail, low);
  low = f.fma(exponent, f(kLn2Low), low);
  Parts whole = addParts(f, f.product(exponent, f(kLn2High)), sum.high);
  return addOrdered(f, whole.high, f.add(whole.low, low));
}

/// e^(x + low), where `low` is much smaller than one.
static Value emitExpOfParts(const FloatBuilder &f, Value x, Value low) {
  // Adding this rounds to an integer, and leaves it in the low bits.
  constexpr double round = 12582912.0;
  // e^90 overflows and e^-110 is zero.
  x = f.max(f.min(x, f(90)), f(-110));
  Value shifted = f.fma(x, f(llvm::numbers::log2e), f(round));
  Value j = f.neg(f.sub(shifted, f(round)));
  Value first = f.fma(j, f(kLn2High), x);
  Value second = f.fma(j, f(kLn2Low), low);
  Value r = f.add(first, second);
  Value rest = f.add(f.sub(first, r), second);
  Value q = f.polynomial(r, {0.00138367468, 0.008369140327, 0.04166810587,
                             0.1666651666, 0.4999999404});
  Value sum = f.add(r, f.fma(f.mul(r, r), q, rest));
  Value result = f.add(f(1), sum);
  // By two powers of two, so that what is denormal is rounded once.
  Value exponent = f.sub(f.floatToBits(shifted), f.floatToBits(f(round)));
  Value half = f.shiftRight(exponent, 1);
  for (Value part : {half, f.sub(exponent, half)})
    result = f.mul(result,
                   f.bitsToFloat(f.shiftLeft(f.add(part, f.integer(127)), 23)));
  return result;
}

static Value emitPow(const Blocks &blocks, Value x, Value y) {
  const FloatBuilder &f = blocks.f;
  Parts log = emitLogInParts(blocks, f.abs(x));
  Parts product = mulParts(f, y, log.high);
  Value low = f.fma(y, log.low, product.low);
  // Beyond this the result is zero or infinity whatever the second part.
  low = f.select(f.less(f.abs(product.high), 200), low, f(0));
  return selectPower(f, x, y, emitExpOfParts(f, product.high, low));
}

//===----------------------------------------------------------------------===//
// tanh and erf
//===----------------------------------------------------------------------===//

/// 1 - 2 / (e^2|x| + 1); close to zero, where that cancels, a polynomial. Both
/// are of |x|: of the negative zero a sum would lose the sign.
static Value emitTanh(const Blocks &blocks, Value x) {
  const FloatBuilder &f = blocks.f;
  Value a = f.abs(x);
  Value square = f.mul(a, a);
  Value p = f.polynomial(square, {0.001593033399, -0.0074252058, 0.0213140021,
                                  -0.05385585123, 0.1333227018, -0.3333329959});
  Value small = f.fma(f.mul(p, square), a, a);
  Value inverse = blocks.reciprocal(f.add(blocks.exp(f.add(a, a)), f(1)));
  Value large = f.fma(inverse, f(-2), f(1));
  return f.copySign(f.select(f.less(a, 0.8), small, large), x);
}

/// 1 - e^-q(|x|); close to zero a polynomial. From 4 on it is 1.
static Value emitErf(const Blocks &blocks, Value x) {
  const FloatBuilder &f = blocks.f;
  // 2 / sqrt(pi) - 1
  constexpr double slope = 0.12837916709551257;
  Value a = f.abs(x);
  Value square = f.mul(x, x);
  Value p =
      f.polynomial(square, {8.409920759e-05, -0.0008152627994, 0.005201960234,
                            -0.0268597986, 0.1128370331, -0.376126343});
  Value small = f.fma(f.fma(p, square, f(slope)), x, x);
  Value q = f.polynomial(f.min(a, f(4)),
                         {2.090955587e-05, -0.0004323030083, 0.004160527008,
                          -0.02509149682, 0.1082366194, 0.6333866465,
                          1.129495159, -0.0001705520369});
  Value large = f.copySign(f.sub(f(1), blocks.exp(f.neg(q))), x);
  Value result = f.select(f.less(a, 0.92), small, large);
  return f.select(f.isNaN(x), x, result);
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

void tl::populateMathFunctionPatterns(RewritePatternSet &patterns,
                                      Reciprocal reciprocal) {
  addFunction<math::LogOp>(
      patterns, reciprocal, isSingle,
      [](const Blocks &blocks, Value x) { return emitLog(blocks.f, x); });
  addFunction<math::Log2Op>(
      patterns, reciprocal, isSingle,
      [](const Blocks &blocks, Value x) { return emitLog2(blocks.f, x); });
  addFunction<math::TanhOp>(patterns, reciprocal, isSingle, emitTanh);
  addFunction<math::ErfOp>(patterns, reciprocal, isSingle, emitErf);
  addFunction<math::PowFOp>(patterns, reciprocal, isPreciseSingle, emitPow);
}
