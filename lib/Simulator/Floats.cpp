//===- Floats.cpp - Floating-point arithmetic -----------------------------===//
//
// Correctly rounded, as `docs/language/semantics.md` says (F2). Denormals are
// numbers, also for programs with `fast_math`, which only allows more.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "FloatFormats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace tl::sim;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
template <typename Format>
struct FloatFunctions {
  using Word = typename Format::Word;
  using Number = typename Format::Number;
  static constexpr bool kIsHostFormat =
      sizeof(Number) == sizeof(Word) &&
      (std::is_same_v<Format, F32Format> || std::is_same_v<Format, F64Format>);

  static Number decode(Word word) { return Format::decode(word); }
  static Word encode(Number number) {
    return number != number ? Format::kCanonicalNaN : Format::encode(number);
  }

  static Word add(Word a, Word b) { return encode(decode(a) + decode(b)); }
  static Word sub(Word a, Word b) { return encode(decode(a) - decode(b)); }
  static Word mul(Word a, Word b) { return encode(decode(a) * decode(b)); }
  static Word div(Word a, Word b) { return encode(decode(a) / decode(b)); }
  static Word rem(Word a, Word b) {
    return encode(std::fmod(decode(a), decode(b)));
  }
  /// NaN if one is; +0 is greater than -0.
  static Word maximum(Word a, Word b) {
    Number x = decode(a), y = decode(b);
    if (x != x || y != y)
      return encode(x + y);
    return x > y || (x == y && !std::signbit(x)) ? a : b;
  }
  static Word minimum(Word a, Word b) {
    Number x = decode(a), y = decode(b);
    if (x != x || y != y)
      return encode(x + y);
    return x < y || (x == y && std::signbit(x)) ? a : b;
  }
  /// The other one if one is NaN.
  static Word maxnum(Word a, Word b) {
    Number x = decode(a), y = decode(b);
    return x != x ? encode(y) : y != y ? a : maximum(a, b);
  }
  static Word minnum(Word a, Word b) {
    Number x = decode(a), y = decode(b);
    return x != x ? encode(y) : y != y ? a : minimum(a, b);
  }
  static Word fma(Word a, Word b, Word c) {
    if constexpr (kIsHostFormat)
      return encode(std::fma(decode(a), decode(b), decode(c)));
    // The product of 16-bit floats is exact, but the sum need not be, and what
    // it loses decides between results that it is halfway between: to odd, too.
    double product = double(decode(a)) * decode(b), addend = decode(c);
    double sum = product + addend, part = sum - product;
    double lost = (product - (sum - part)) + (addend - part);
    if (lost != 0 && std::bit_cast<uint64_t>(sum) % 2 == 0)
      sum = std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY);
    return encode(roundToOdd(sum));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Of these, the instruction for the type of the first operand.
struct ForFormats {
  Execute f64, f32, f16, bf16;

  Execute get(Type element) const {
    return isa<Float64Type>(element)    ? f64
           : isa<Float32Type>(element)  ? f32
           : isa<Float16Type>(element)  ? f16
           : isa<BFloat16Type>(element) ? bf16
                                        : nullptr;
  }
};

static LogicalResult emitForFormat(Decoder &decoder, Operation *op,
                                   const ForFormats &formats) {
  Shape shape = Shape::get(op->getOperand(0));
  Execute execute = formats.get(shape.element);
  if (!execute)
    return op->emitError("`")
           << op->getName() << "` has no meaning in the simulator for "
           << shape.element;
  emitElementwise(decoder, op, execute).bits = shape.bits;
  return success();
}

template <Execute F64, Execute F32, Execute F16, Execute BF16>
static LogicalResult decodeForFormat(Decoder &decoder, Operation *op) {
  return emitForFormat(decoder, op, {F64, F32, F16, BF16});
}

#define TL_FLOAT(apply, function)                                              \
  decodeForFormat<                                                             \
      apply<uint64_t, uint64_t, FloatFunctions<F64Format>::function>,          \
      apply<uint32_t, uint32_t, FloatFunctions<F32Format>::function>,          \
      apply<uint32_t, uint32_t, FloatFunctions<F16Format>::function>,          \
      apply<uint32_t, uint32_t, FloatFunctions<BF16Format>::function>>

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

/// What is done to the sign alone is done to its bit, of any format.
template <typename Word>
static Step negate(Warp &warp, const Instruction &i) {
  auto *a = getWords<const Word>(warp, i.a);
  auto *result = getWords<Word>(warp, i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = a[n] ^ Word(1) << (i.bits - 1);
  return Step::Next;
}

template <typename Word>
static Step absolute(Warp &warp, const Instruction &i) {
  auto *a = getWords<const Word>(warp, i.a);
  auto *result = getWords<Word>(warp, i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = a[n] & ~(Word(1) << (i.bits - 1));
  return Step::Next;
}

template <typename Word>
static Step copySign(Warp &warp, const Instruction &i) {
  auto *a = getWords<const Word>(warp, i.a);
  auto *b = getWords<const Word>(warp, i.b);
  auto *result = getWords<Word>(warp, i.result);
  Word sign = Word(1) << (i.bits - 1);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = (a[n] & ~sign) | (b[n] & sign);
  return Step::Next;
}

template <Execute Wide, Execute Word>
static LogicalResult decodeSign(Decoder &decoder, Operation *op) {
  bool isWide = Shape::get(op->getResult(0)).isWide();
  emitElementwise(decoder, op, isWide ? Wide : Word);
  return success();
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// The outcomes of a comparison for which it is true.
enum Outcome : uint32_t { Less = 1, Equal = 2, Greater = 4, Unordered = 8 };

static uint32_t getOutcomes(arith::CmpFPredicate predicate) {
  switch (predicate) {
  case arith::CmpFPredicate::AlwaysFalse:
    return 0;
  case arith::CmpFPredicate::OEQ:
    return Equal;
  case arith::CmpFPredicate::OGT:
    return Greater;
  case arith::CmpFPredicate::OGE:
    return Greater | Equal;
  case arith::CmpFPredicate::OLT:
    return Less;
  case arith::CmpFPredicate::OLE:
    return Less | Equal;
  case arith::CmpFPredicate::ONE:
    return Less | Greater;
  case arith::CmpFPredicate::ORD:
    return Less | Equal | Greater;
  case arith::CmpFPredicate::UEQ:
    return Unordered | Equal;
  case arith::CmpFPredicate::UGT:
    return Unordered | Greater;
  case arith::CmpFPredicate::UGE:
    return Unordered | Greater | Equal;
  case arith::CmpFPredicate::ULT:
    return Unordered | Less;
  case arith::CmpFPredicate::ULE:
    return Unordered | Less | Equal;
  case arith::CmpFPredicate::UNE:
    return Unordered | Less | Greater;
  case arith::CmpFPredicate::UNO:
    return Unordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return Unordered | Less | Equal | Greater;
  }
  llvm_unreachable("all predicates are handled");
}

/// Whether the outcome is one of those of the immediate.
template <typename Format>
static Step compare(Warp &warp, const Instruction &i) {
  auto *a = getWords<const typename Format::Word>(warp, i.a);
  auto *b = getWords<const typename Format::Word>(warp, i.b);
  uint32_t *result = warp.words(i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n) {
    auto x = Format::decode(a[n]), y = Format::decode(b[n]);
    uint32_t outcome = x < y    ? Less
                       : x > y  ? Greater
                       : x == y ? Equal
                                : Unordered;
    result[n] = (i.immediate & outcome) != 0;
  }
  return Step::Next;
}

static LogicalResult decodeCompare(Decoder &decoder, Operation *op) {
  if (failed(decodeForFormat<compare<F64Format>, compare<F32Format>,
                             compare<F16Format>, compare<BF16Format>>(decoder,
                                                                      op)))
    return failure();
  decoder.program.code.back().immediate =
      getOutcomes(cast<arith::CmpFOp>(op).getPredicate());
  return success();
}

/// Whether the number is NaN, or finite if the immediate is 1.
template <typename Format>
static Step classify(Warp &warp, const Instruction &i) {
  auto *a = getWords<const typename Format::Word>(warp, i.a);
  uint32_t *result = warp.words(i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n) {
    auto x = Format::decode(a[n]);
    // Infinity less infinity is NaN.
    result[n] = i.immediate ? x - x == 0 : x != x;
  }
  return Step::Next;
}

static LogicalResult decodeClassify(Decoder &decoder, Operation *op) {
  if (failed(decodeForFormat<classify<F64Format>, classify<F32Format>,
                             classify<F16Format>, classify<BF16Format>>(decoder,
                                                                        op)))
    return failure();
  decoder.program.code.back().immediate = isa<math::IsFiniteOp>(op);
  return success();
}

void tl::sim::addFloats(DecodeTable &table) {
  table["arith.addf"] = TL_FLOAT(applyBinary, add);
  table["arith.cmpf"] = decodeCompare;
  table["arith.divf"] = TL_FLOAT(applyBinary, div);
  table["arith.maximumf"] = TL_FLOAT(applyBinary, maximum);
  table["arith.maxnumf"] = TL_FLOAT(applyBinary, maxnum);
  table["arith.minimumf"] = TL_FLOAT(applyBinary, minimum);
  table["arith.minnumf"] = TL_FLOAT(applyBinary, minnum);
  table["arith.mulf"] = TL_FLOAT(applyBinary, mul);
  table["arith.negf"] = decodeSign<negate<uint64_t>, negate<uint32_t>>;
  table["arith.remf"] = TL_FLOAT(applyBinary, rem);
  table["arith.subf"] = TL_FLOAT(applyBinary, sub);
  table["math.absf"] = decodeSign<absolute<uint64_t>, absolute<uint32_t>>;
  table["math.copysign"] = decodeSign<copySign<uint64_t>, copySign<uint32_t>>;
  table["math.fma"] = TL_FLOAT(applyTernary, fma);
  table["math.isfinite"] = decodeClassify;
  table["math.isnan"] = decodeClassify;
}
