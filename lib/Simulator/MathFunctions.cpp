//===- MathFunctions.cpp - Exponentials, logarithms and so on -------------===//
//
// The host's functions in double precision, rounded once. A GPU's are within
// the bounds of docs/language/accuracy.md of these, and rarely equal to them.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "FloatFormats.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tl::sim;

//===----------------------------------------------------------------------===//
// Meaning
//===----------------------------------------------------------------------===//

using Function1 = double (*)(double);
using Function2 = double (*)(double, double);

/// The function of the immediate, of the active lanes only: it is slow.
template <typename Format>
static Step callUnary(Warp &warp, const Instruction &i) {
  auto function = reinterpret_cast<Function1>(i.immediate);
  auto *a = getWords<const typename Format::Word>(warp, i.a);
  auto *result = getWords<typename Format::Word>(warp, i.result);
  for (uint32_t row = 0; row < i.count; ++row, a += kLanes, result += kLanes)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (warp.lanes & LaneMask(1) << lane)
        result[lane] =
            Format::encode(roundTo<Format>(function(Format::decode(a[lane]))));
  return Step::Next;
}

template <typename Format>
static Step callBinary(Warp &warp, const Instruction &i) {
  auto function = reinterpret_cast<Function2>(i.immediate);
  auto *a = getWords<const typename Format::Word>(warp, i.a);
  auto *b = getWords<const typename Format::Word>(warp, i.b);
  auto *result = getWords<typename Format::Word>(warp, i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    if (warp.lanes & LaneMask(1) << n % kLanes)
      result[n] = Format::encode(roundTo<Format>(
          function(Format::decode(a[n]), Format::decode(b[n]))));
  return Step::Next;
}

/// `a` to the power of the integer `b` of 32 bits.
template <typename Format>
static Step callPower(Warp &warp, const Instruction &i) {
  auto *a = getWords<const typename Format::Word>(warp, i.a);
  const uint32_t *b = warp.words(i.b);
  auto *result = getWords<typename Format::Word>(warp, i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    if (warp.lanes & LaneMask(1) << n % kLanes)
      result[n] = Format::encode(roundTo<Format>(
          std::pow(double(Format::decode(a[n])), int32_t(b[n]))));
  return Step::Next;
}

static double rsqrt(double x) { return 1 / std::sqrt(x); }

/// To the nearest integer, ties to even: how the host rounds unless told
/// otherwise.
static double roundEven(double x) { return std::nearbyint(x); }

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

namespace {
/// One of three shapes of functions, for each format.
struct Calls {
  Execute f64, f32, f16, bf16;
};
} // namespace

static constexpr Calls kUnary = {callUnary<F64Format>, callUnary<F32Format>,
                                 callUnary<F16Format>, callUnary<BF16Format>};
static constexpr Calls kBinary = {callBinary<F64Format>, callBinary<F32Format>,
                                  callBinary<F16Format>,
                                  callBinary<BF16Format>};
static constexpr Calls kPower = {callPower<F64Format>, callPower<F32Format>,
                                 callPower<F16Format>, callPower<BF16Format>};

static LogicalResult emitCall(Decoder &decoder, Operation *op,
                              const Calls &calls, uint64_t function) {
  Type element = Shape::get(op->getResult(0)).element;
  Execute execute = isa<Float64Type>(element)    ? calls.f64
                    : isa<Float32Type>(element)  ? calls.f32
                    : isa<Float16Type>(element)  ? calls.f16
                    : isa<BFloat16Type>(element) ? calls.bf16
                                                 : nullptr;
  if (!execute)
    return op->emitError("`")
           << op->getName() << "` has no meaning in the simulator for "
           << element;
  emitElementwise(decoder, op, execute).immediate = function;
  return success();
}

template <Function1 F>
static LogicalResult decodeUnary(Decoder &decoder, Operation *op) {
  return emitCall(decoder, op, kUnary, reinterpret_cast<uint64_t>(F));
}

template <Function2 F>
static LogicalResult decodeBinary(Decoder &decoder, Operation *op) {
  return emitCall(decoder, op, kBinary, reinterpret_cast<uint64_t>(F));
}

static LogicalResult decodePower(Decoder &decoder, Operation *op) {
  if (Shape::get(op->getOperand(1)).bits != 32)
    return op->emitError("`math.fpowi` has no meaning in the simulator for "
                         "this exponent");
  return emitCall(decoder, op, kPower, 0);
}

void tl::sim::addMath(DecodeTable &table) {
  table["math.acos"] = decodeUnary<std::acos>;
  table["math.acosh"] = decodeUnary<std::acosh>;
  table["math.asin"] = decodeUnary<std::asin>;
  table["math.asinh"] = decodeUnary<std::asinh>;
  table["math.atan"] = decodeUnary<std::atan>;
  table["math.atan2"] = decodeBinary<std::atan2>;
  table["math.atanh"] = decodeUnary<std::atanh>;
  table["math.cbrt"] = decodeUnary<std::cbrt>;
  table["math.ceil"] = decodeUnary<std::ceil>;
  table["math.cos"] = decodeUnary<std::cos>;
  table["math.cosh"] = decodeUnary<std::cosh>;
  table["math.erf"] = decodeUnary<std::erf>;
  table["math.exp"] = decodeUnary<std::exp>;
  table["math.exp2"] = decodeUnary<std::exp2>;
  table["math.expm1"] = decodeUnary<std::expm1>;
  table["math.floor"] = decodeUnary<std::floor>;
  table["math.fpowi"] = decodePower;
  table["math.log"] = decodeUnary<std::log>;
  table["math.log10"] = decodeUnary<std::log10>;
  table["math.log1p"] = decodeUnary<std::log1p>;
  table["math.log2"] = decodeUnary<std::log2>;
  table["math.powf"] = decodeBinary<std::pow>;
  table["math.round"] = decodeUnary<std::round>;
  table["math.roundeven"] = decodeUnary<roundEven>;
  table["math.rsqrt"] = decodeUnary<rsqrt>;
  table["math.sin"] = decodeUnary<std::sin>;
  table["math.sinh"] = decodeUnary<std::sinh>;
  table["math.sqrt"] = decodeUnary<std::sqrt>;
  table["math.tan"] = decodeUnary<std::tan>;
  table["math.tanh"] = decodeUnary<std::tanh>;
  table["math.trunc"] = decodeUnary<std::trunc>;
}
