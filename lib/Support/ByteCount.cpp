//===- ByteCount.cpp - Sizes as people write them -------------------------===//
//
// Whole numbers are never taken through floating point: all 64 bits count.
//
//===----------------------------------------------------------------------===//

#include "tl/Support/ByteCount.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

/// The power of two that a unit stands for; none if it is no unit.
static std::optional<unsigned> getShift(StringRef unit) {
  return StringSwitch<std::optional<unsigned>>(unit)
      .CasesLower({"", "b"}, 0)
      .CasesLower({"k", "kb", "kib"}, 10)
      .CasesLower({"m", "mb", "mib"}, 20)
      .CasesLower({"g", "gb", "gib"}, 30)
      .CasesLower({"t", "tb", "tib"}, 40)
      .Default(std::nullopt);
}

/// How many bytes the digits behind the point are, of a unit of `1 << shift`.
static uint64_t getFractionOfUnit(StringRef digits, unsigned shift) {
  double fraction = 0;
  for (char digit : reverse(digits))
    fraction = (fraction + (digit - '0')) / 10;
  return fraction * static_cast<double>(uint64_t(1) << shift);
}

std::optional<uint64_t> tl::parseByteCount(StringRef text) {
  text = text.trim();
  StringRef number =
      text.take_while([](char c) { return isDigit(c) || c == '.'; });
  std::optional<unsigned> shift =
      getShift(text.drop_front(number.size()).ltrim());
  auto [whole, fraction] = number.split('.');
  uint64_t units;
  if (!shift || whole.getAsInteger(10, units) || !all_of(fraction, isDigit) ||
      number.ends_with("."))
    return std::nullopt;
  if (units > UINT64_MAX >> *shift)
    return std::nullopt;
  return (units << *shift) + getFractionOfUnit(fraction, *shift);
}
