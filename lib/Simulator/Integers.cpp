//===- Integers.cpp - Integer arithmetic ----------------------------------===//
//
// Everything wraps. What is undefined in `arith` has a value here, so that no
// lane can trap: a quotient by zero is 0, and so is a shift by the width or
// more, except that an arithmetic one leaves the sign.
//
// Integers of less than 32 bits lie in words with zeros above them. Functions
// that look at the sign extend it first, and all clear what is above after.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
#include <bit>

using namespace mlir;
using namespace tl::sim;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
/// Each is a function of two unsigned words of `bits` bits, at the width of the
/// word.
template <typename Word>
struct Functions {
  using Signed = std::make_signed_t<Word>;
  static constexpr Word kWidth = 8 * sizeof(Word);

  static Word add(Word a, Word b) { return a + b; }
  static Word sub(Word a, Word b) { return a - b; }
  static Word mul(Word a, Word b) { return a * b; }
  static Word bitAnd(Word a, Word b) { return a & b; }
  static Word bitOr(Word a, Word b) { return a | b; }
  static Word bitXor(Word a, Word b) { return a ^ b; }
  static Word shl(Word a, Word b) { return b < kWidth ? a << b : 0; }
  static Word shrUnsigned(Word a, Word b) { return b < kWidth ? a >> b : 0; }
  static Word shrSigned(Word a, Word b) {
    return Signed(a) >> (b < kWidth ? b : kWidth - 1);
  }
  static Word divUnsigned(Word a, Word b) { return b ? a / b : 0; }
  static Word remUnsigned(Word a, Word b) { return b ? a % b : 0; }
  static Word ceildivUnsigned(Word a, Word b) {
    return b ? a / b + (a % b != 0) : 0;
  }
  /// The least number over -1 does not fit, and traps on the host.
  static bool overflows(Word a, Word b) {
    return b == Word(-1) && a == Word(1) << (kWidth - 1);
  }
  static Word divSigned(Word a, Word b) {
    return b == 0 ? 0 : overflows(a, b) ? a : Signed(a) / Signed(b);
  }
  static Word remSigned(Word a, Word b) {
    return b == 0 || overflows(a, b) ? 0 : Signed(a) % Signed(b);
  }
  static Word floordivSigned(Word a, Word b) {
    Signed rest = remSigned(a, b);
    return divSigned(a, b) - (rest != 0 && (rest < 0) != (Signed(b) < 0));
  }
  static Word ceildivSigned(Word a, Word b) {
    Signed rest = remSigned(a, b);
    return divSigned(a, b) + (rest != 0 && (rest < 0) == (Signed(b) < 0));
  }
  static Word minSigned(Word a, Word b) {
    return Signed(a) < Signed(b) ? a : b;
  }
  static Word maxSigned(Word a, Word b) {
    return Signed(a) > Signed(b) ? a : b;
  }
  static Word minUnsigned(Word a, Word b) { return a < b ? a : b; }
  static Word maxUnsigned(Word a, Word b) { return a > b ? a : b; }
  static Word abs(Word a) { return Signed(a) < 0 ? -a : a; }
  static Word countLeading(Word a) { return std::countl_zero(a); }
  static Word countTrailing(Word a) { return std::countr_zero(a); }
  static Word countOnes(Word a) { return std::popcount(a); }
};
using Functions32 = Functions<uint32_t>;
using Functions64 = Functions<uint64_t>;
} // namespace

static uint32_t getMask(uint32_t bits) {
  return llvm::maskTrailingOnes<uint32_t>(bits);
}

/// The word with the sign of its lower `bits` bits.
static uint32_t extendSign(uint32_t word, uint32_t bits) {
  return int32_t(word << (32 - bits)) >> (32 - bits);
}

/// A function of integers narrower than a word.
template <auto F, bool IsSigned>
static Step applyNarrow(Warp &warp, const Instruction &i) {
  const uint32_t *a = warp.words(i.a), *b = warp.words(i.b);
  uint32_t *result = warp.words(i.result);
  uint32_t mask = getMask(i.bits);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] =
        (IsSigned ? F(extendSign(a[n], i.bits), extendSign(b[n], i.bits))
                  : F(a[n], b[n])) &
        mask;
  return Step::Next;
}

/// A shift reads its amount as unsigned.
template <auto F, bool IsSigned>
static Step shiftNarrow(Warp &warp, const Instruction &i) {
  const uint32_t *a = warp.words(i.a), *b = warp.words(i.b);
  uint32_t *result = warp.words(i.result);
  uint32_t mask = getMask(i.bits);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = F(IsSigned ? extendSign(a[n], i.bits) : a[n], b[n]) & mask;
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Binary ops
//===----------------------------------------------------------------------===//

/// The function for each width of the result.
template <Execute Narrow, Execute Word, Execute Wide>
static LogicalResult decodeByWidth(Decoder &decoder, Operation *op) {
  Shape shape = Shape::get(op->getResult(0));
  emitElementwise(decoder, op,
                  shape.isWide()     ? Wide
                  : shape.bits == 32 ? Word
                                     : Narrow);
  return success();
}

#define TL_BINARY(function, isSigned)                                          \
  decodeByWidth<applyNarrow<Functions32::function, isSigned>,                  \
                applyBinary<uint32_t, uint32_t, Functions32::function>,        \
                applyBinary<uint64_t, uint64_t, Functions64::function>>
#define TL_SHIFT(function, isSigned)                                           \
  decodeByWidth<shiftNarrow<Functions32::function, isSigned>,                  \
                applyBinary<uint32_t, uint32_t, Functions32::function>,        \
                applyBinary<uint64_t, uint64_t, Functions64::function>>

//===----------------------------------------------------------------------===//
// Unary ops
//===----------------------------------------------------------------------===//

static Step absNarrow(Warp &warp, const Instruction &i) {
  const uint32_t *a = warp.words(i.a);
  uint32_t *result = warp.words(i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = Functions32::abs(extendSign(a[n], i.bits)) & getMask(i.bits);
  return Step::Next;
}

static Step countLeadingNarrow(Warp &warp, const Instruction &i) {
  const uint32_t *a = warp.words(i.a);
  uint32_t *result = warp.words(i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = std::countl_zero(a[n]) - (32 - i.bits);
  return Step::Next;
}

static Step countTrailingNarrow(Warp &warp, const Instruction &i) {
  const uint32_t *a = warp.words(i.a);
  uint32_t *result = warp.words(i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = std::countr_zero(a[n] | 1u << (i.bits - 1) << 1);
  return Step::Next;
}

#define TL_UNARY(function, narrow)                                             \
  decodeByWidth<narrow, applyUnary<uint32_t, uint32_t, Functions32::function>, \
                applyUnary<uint64_t, uint64_t, Functions64::function>>

//===----------------------------------------------------------------------===//
// Comparisons and selections
//===----------------------------------------------------------------------===//

/// Compares words; `IsSigned` after their sign is extended from `bits`.
template <typename Word, bool IsSigned, typename Compare>
static Step compare(Warp &warp, const Instruction &i) {
  using Compared = std::conditional_t<IsSigned, std::make_signed_t<Word>, Word>;
  auto *a = getWords<const Word>(warp, i.a);
  auto *b = getWords<const Word>(warp, i.b);
  uint32_t *result = warp.words(i.result);
  uint32_t unused = 8 * sizeof(Word) - i.bits;
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] =
        IsSigned ? Compare()(Compared(a[n] << unused), Compared(b[n] << unused))
                 : Compare()(Compared(a[n]), Compared(b[n]));
  return Step::Next;
}

template <typename Word>
static Execute getCompare(arith::CmpIPredicate kind) {
  switch (kind) {
  case arith::CmpIPredicate::eq:
    return compare<Word, false, std::equal_to<>>;
  case arith::CmpIPredicate::ne:
    return compare<Word, false, std::not_equal_to<>>;
  case arith::CmpIPredicate::slt:
    return compare<Word, true, std::less<>>;
  case arith::CmpIPredicate::sle:
    return compare<Word, true, std::less_equal<>>;
  case arith::CmpIPredicate::sgt:
    return compare<Word, true, std::greater<>>;
  case arith::CmpIPredicate::sge:
    return compare<Word, true, std::greater_equal<>>;
  case arith::CmpIPredicate::ult:
    return compare<Word, false, std::less<>>;
  case arith::CmpIPredicate::ule:
    return compare<Word, false, std::less_equal<>>;
  case arith::CmpIPredicate::ugt:
    return compare<Word, false, std::greater<>>;
  case arith::CmpIPredicate::uge:
    return compare<Word, false, std::greater_equal<>>;
  }
  llvm_unreachable("all predicates are handled");
}

static LogicalResult decodeCompare(Decoder &decoder, Operation *op) {
  auto compareOp = cast<arith::CmpIOp>(op);
  Shape shape = Shape::get(compareOp.getLhs());
  Instruction &instruction = emitElementwise(
      decoder, op,
      shape.isWide() ? getCompare<uint64_t>(compareOp.getPredicate())
                     : getCompare<uint32_t>(compareOp.getPredicate()));
  instruction.bits = shape.bits;
  return success();
}

/// `a ? b : c`. The condition is one for all elements if `bits` is 1.
template <typename Word>
static Step select(Warp &warp, const Instruction &i) {
  const uint32_t *a = warp.words(i.a);
  auto *b = getWords<const Word>(warp, i.b);
  auto *c = getWords<const Word>(warp, i.c);
  auto *result = getWords<Word>(warp, i.result);
  for (uint32_t row = 0; row < i.count; ++row) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      result[lane] = a[lane] ? b[lane] : c[lane];
    a += i.bits == 1 ? 0 : kLanes;
    b += kLanes;
    c += kLanes;
    result += kLanes;
  }
  return Step::Next;
}

static LogicalResult decodeSelect(Decoder &decoder, Operation *op) {
  bool isWide = Shape::get(op->getResult(0)).isWide();
  Instruction &instruction = emitElementwise(
      decoder, op, isWide ? select<uint64_t> : select<uint32_t>);
  instruction.bits = Shape::get(op->getOperand(0)).elements;
  return success();
}

//===----------------------------------------------------------------------===//
// Two results
//===----------------------------------------------------------------------===//

/// `result` and the word at `c` become the halves of a sum or product.
template <typename Word, typename Twice, bool IsSum>
static Step extended(Warp &warp, const Instruction &i) {
  auto *a = getWords<const Word>(warp, i.a);
  auto *b = getWords<const Word>(warp, i.b);
  auto *low = getWords<Word>(warp, i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n) {
    unsigned unused = 8 * sizeof(Word) - i.bits;
    // The sign comes along where `Twice` has one.
    using Once = std::conditional_t<(Twice(-1) < Twice(0)),
                                    std::make_signed_t<Word>, Word>;
    Twice left = Once(a[n] << unused) >> unused;
    Twice right = Once(b[n] << unused) >> unused;
    Twice both = IsSum ? Twice(left + right) : Twice(left * right);
    Word mask = Word(-1) >> unused;
    low[n] = Word(both) & mask;
    if (IsSum)
      warp.words(i.c)[n] = Word(both >> i.bits) & 1;
    else
      getWords<Word>(warp, i.c)[n] = Word(both >> i.bits) & mask;
  }
  return Step::Next;
}

template <bool IsSum, bool IsSigned>
static LogicalResult decodeExtended(Decoder &decoder, Operation *op) {
  using Wide = std::conditional_t<IsSigned, __int128, unsigned __int128>;
  using Narrow = std::conditional_t<IsSigned, int64_t, uint64_t>;
  Shape shape = Shape::get(op->getResult(0));
  Register low = decoder.define(op->getResult(0));
  Register high = decoder.define(op->getResult(1));
  Instruction &instruction =
      decoder.emit(shape.isWide() ? extended<uint64_t, Wide, IsSum>
                                  : extended<uint32_t, Narrow, IsSum>);
  instruction.result = low;
  instruction.a = decoder.get(op->getOperand(0));
  instruction.b = decoder.get(op->getOperand(1));
  instruction.c = high;
  instruction.count = shape.elements;
  instruction.bits = shape.bits;
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static uint64_t getBits(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return integer.getValue().getZExtValue();
  return cast<FloatAttr>(value).getValue().bitcastToAPInt().getZExtValue();
}

/// Constants are in the registers when a warp begins, and stay there: nothing
/// has had these registers before, or will have them.
static LogicalResult decodeConstant(Decoder &decoder, Operation *op) {
  auto constant = cast<arith::ConstantOp>(op);
  Shape shape = Shape::get(constant.getResult());
  ConstantRows rows;
  rows.isWide = shape.isWide();
  if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
    for (Attribute element : elements.getValues<Attribute>())
      rows.elements.push_back(getBits(element));
  else
    rows.elements.push_back(getBits(constant.getValue()));
  // An index is kept in 64 bits.
  for (uint64_t &bits : rows.elements)
    bits &= llvm::maskTrailingOnes<uint64_t>(shape.bits);
  rows.at = decoder.program.registerWords;
  decoder.program.registerWords += shape.words();
  decoder.defineAs(constant.getResult(), rows.at);
  decoder.program.constants.push_back(std::move(rows));
  return success();
}

void tl::sim::addIntegers(DecodeTable &table) {
  table["arith.addi"] = TL_BINARY(add, false);
  table["arith.addui_extended"] = decodeExtended<true, false>;
  table["arith.andi"] = TL_BINARY(bitAnd, false);
  table["arith.ceildivsi"] = TL_BINARY(ceildivSigned, true);
  table["arith.ceildivui"] = TL_BINARY(ceildivUnsigned, false);
  table["arith.cmpi"] = decodeCompare;
  table["arith.constant"] = decodeConstant;
  table["arith.divsi"] = TL_BINARY(divSigned, true);
  table["arith.divui"] = TL_BINARY(divUnsigned, false);
  table["arith.floordivsi"] = TL_BINARY(floordivSigned, true);
  table["arith.maxsi"] = TL_BINARY(maxSigned, true);
  table["arith.maxui"] = TL_BINARY(maxUnsigned, false);
  table["arith.minsi"] = TL_BINARY(minSigned, true);
  table["arith.minui"] = TL_BINARY(minUnsigned, false);
  table["arith.muli"] = TL_BINARY(mul, false);
  table["arith.mulsi_extended"] = decodeExtended<false, true>;
  table["arith.mului_extended"] = decodeExtended<false, false>;
  table["arith.ori"] = TL_BINARY(bitOr, false);
  table["arith.remsi"] = TL_BINARY(remSigned, true);
  table["arith.remui"] = TL_BINARY(remUnsigned, false);
  table["arith.select"] = decodeSelect;
  table["arith.shli"] = TL_SHIFT(shl, false);
  table["arith.shrsi"] = TL_SHIFT(shrSigned, true);
  table["arith.shrui"] = TL_SHIFT(shrUnsigned, false);
  table["arith.subi"] = TL_BINARY(sub, false);
  table["arith.xori"] = TL_BINARY(bitXor, false);
  table["math.absi"] = TL_UNARY(abs, absNarrow);
  table["math.ctlz"] = TL_UNARY(countLeading, countLeadingNarrow);
  table["math.ctpop"] = TL_UNARY(
      countOnes, (applyUnary<uint32_t, uint32_t, Functions32::countOnes>));
  table["math.cttz"] = TL_UNARY(countTrailing, countTrailingNarrow);
}
