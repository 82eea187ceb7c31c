//===- Conversions.cpp - Between widths and formats -----------------------===//
//
// Rounded once, to nearest even; floats to integers towards zero, and to the
// ends of the integer's range (docs/language/semantics.md, C1 to C3).
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "FloatFormats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tl::sim;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// `immediate` is the width of the operand, `bits` that of the result.
template <typename To, typename From, bool IsSigned>
static Step resize(Warp &warp, const Instruction &i) {
  using Wide = std::conditional_t<IsSigned, int64_t, uint64_t>;
  auto *a = getWords<const From>(warp, i.a);
  auto *result = getWords<To>(warp, i.result);
  unsigned unused = 64 - i.immediate;
  To mask = llvm::maskTrailingOnes<To>(i.bits);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    result[n] = To(Wide(uint64_t(a[n]) << unused) >> unused) & mask;
  return Step::Next;
}

template <bool IsSigned>
static LogicalResult decodeResize(Decoder &decoder, Operation *op) {
  Shape from = Shape::get(op->getOperand(0)), to = Shape::get(op->getResult(0));
  Execute execute = from.isWide()
                        ? (to.isWide() ? resize<uint64_t, uint64_t, IsSigned>
                                       : resize<uint32_t, uint64_t, IsSigned>)
                        : (to.isWide() ? resize<uint64_t, uint32_t, IsSigned>
                                       : resize<uint32_t, uint32_t, IsSigned>);
  if (from.bits == to.bits)
    return decodeMove(decoder, op);
  emitElementwise(decoder, op, execute).immediate = from.bits;
  return success();
}

LogicalResult tl::sim::decodeMove(Decoder &decoder, Operation *op) {
  Register to = decoder.define(op->getResult(0));
  decoder.emitMove(to, decoder.get(op->getOperand(0)),
                   Shape::get(op->getResult(0)), /*isMasked=*/false);
  return success();
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

template <typename To, typename From>
static Step convertFloat(Warp &warp, const Instruction &i) {
  auto *a = getWords<const typename From::Word>(warp, i.a);
  auto *result = getWords<typename To::Word>(warp, i.result);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n)
    if constexpr (std::is_same_v<typename From::Number, float>)
      result[n] = To::encode(From::decode(a[n]));
    else
      result[n] = To::encode(roundTo<To>(From::decode(a[n])));
  return Step::Next;
}

/// Calls `visit` with the format of a type; null for other types.
template <typename Visit>
static Execute visitFormat(Type type, Visit visit) {
  if (isa<Float64Type>(type))
    return visit(F64Format());
  if (isa<Float32Type>(type))
    return visit(F32Format());
  if (isa<Float16Type>(type))
    return visit(F16Format());
  if (isa<BFloat16Type>(type))
    return visit(BF16Format());
  if (isa<Float8E4M3FNType>(type))
    return visit(E4M3Format());
  if (isa<Float8E5M2Type>(type))
    return visit(E5M2Format());
  return nullptr;
}

static LogicalResult decodeFloat(Decoder &decoder, Operation *op) {
  Shape from = Shape::get(op->getOperand(0)), to = Shape::get(op->getResult(0));
  Execute execute = visitFormat(from.element, [&](auto source) {
    return visitFormat(to.element, [&](auto target) -> Execute {
      return convertFloat<decltype(target), decltype(source)>;
    });
  });
  emitElementwise(decoder, op, execute);
  return success();
}

//===----------------------------------------------------------------------===//
// Between integers and floats
//===----------------------------------------------------------------------===//

/// `immediate` is the width of the integer.
template <typename Format, typename Word, bool IsSigned>
static Step fromInteger(Warp &warp, const Instruction &i) {
  using Wide = std::conditional_t<IsSigned, int64_t, uint64_t>;
  auto *a = getWords<const Word>(warp, i.a);
  auto *result = getWords<typename Format::Word>(warp, i.result);
  unsigned unused = 64 - i.immediate;
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n) {
    Wide integer = Wide(uint64_t(a[n]) << unused) >> unused;
    // The host's widest float holds all integers, to be rounded once.
    if constexpr (std::is_same_v<Format, F16Format> ||
                  std::is_same_v<Format, BF16Format>)
      result[n] = Format::encode(roundToOdd((long double)(integer)));
    else
      result[n] = Format::encode(static_cast<typename Format::Number>(integer));
  }
  return Step::Next;
}

/// `immediate` is the width of the integer.
template <typename Format, typename Word, bool IsSigned>
static Step toInteger(Warp &warp, const Instruction &i) {
  using Wide = std::conditional_t<IsSigned, int64_t, uint64_t>;
  auto *a = getWords<const typename Format::Word>(warp, i.a);
  auto *result = getWords<Word>(warp, i.result);
  unsigned bits = i.immediate;
  Wide most = IsSigned ? llvm::maxIntN(bits) : Wide(llvm::maxUIntN(bits));
  Wide least = IsSigned ? llvm::minIntN(bits) : 0;
  Word mask = llvm::maskTrailingOnes<Word>(bits);
  // The first number that is too large is a power of two, and so exact.
  double end = std::ldexp(1.0, IsSigned ? bits - 1 : bits);
  for (uint32_t n = 0, e = i.count * kLanes; n < e; ++n) {
    double number = Format::decode(a[n]);
    Wide integer = number != number          ? 0
                   : number >= end           ? most
                   : number <= double(least) ? least
                                             : Wide(number);
    result[n] = Word(integer) & mask;
  }
  return Step::Next;
}

template <bool IsSigned>
static LogicalResult decodeFromInteger(Decoder &decoder, Operation *op) {
  Shape from = Shape::get(op->getOperand(0)), to = Shape::get(op->getResult(0));
  Execute execute = visitFormat(to.element, [&](auto target) -> Execute {
    using Format = decltype(target);
    return from.isWide() ? fromInteger<Format, uint64_t, IsSigned>
                         : fromInteger<Format, uint32_t, IsSigned>;
  });
  emitElementwise(decoder, op, execute).immediate = from.bits;
  return success();
}

template <bool IsSigned>
static LogicalResult decodeToInteger(Decoder &decoder, Operation *op) {
  Shape from = Shape::get(op->getOperand(0)), to = Shape::get(op->getResult(0));
  Execute execute = visitFormat(from.element, [&](auto source) -> Execute {
    using Format = decltype(source);
    return to.isWide() ? toInteger<Format, uint64_t, IsSigned>
                       : toInteger<Format, uint32_t, IsSigned>;
  });
  emitElementwise(decoder, op, execute).immediate = to.bits;
  return success();
}

void tl::sim::addConversions(DecodeTable &table) {
  table["arith.bitcast"] = decodeMove;
  table["arith.extf"] = decodeFloat;
  table["arith.extsi"] = decodeResize<true>;
  table["arith.extui"] = decodeResize<false>;
  table["arith.fptosi"] = decodeToInteger<true>;
  table["arith.fptoui"] = decodeToInteger<false>;
  table["arith.index_cast"] = decodeResize<true>;
  table["arith.index_castui"] = decodeResize<false>;
  table["arith.sitofp"] = decodeFromInteger<true>;
  table["arith.truncf"] = decodeFloat;
  table["arith.trunci"] = decodeResize<false>;
  table["arith.uitofp"] = decodeFromInteger<false>;
}
