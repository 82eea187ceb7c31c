//===- Swizzle.cpp - XOR swizzles and swizzled layouts --------------------===//
//
// The function of a swizzle and its notation; parsing is in Parser.cpp.
//
//===----------------------------------------------------------------------===//

#include "tl/Layout/Swizzle.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tl::layout;

Expected<Swizzle> Swizzle::get(int64_t bits, int64_t base, int64_t shift) {
  Swizzle swizzle{bits, base, shift};
  auto fail = [&](StringRef reason) {
    return createStringError("`" + swizzle.str() +
                             "` is not a swizzle: " + reason);
  };
  // Bound each field first, so that the sum below cannot overflow.
  if (bits < 0 || base < 0 || bits > 63 || base > 63 || shift < -63 ||
      shift > 63)
    return fail("fields must lie in the 63 bits of an offset");
  if (bits + base + std::abs(shift) > 63)
    return fail("fields must lie in the 63 bits of an offset");
  if (std::abs(shift) < bits)
    return fail("the shift must be at least the number of bits");
  return swizzle;
}

int64_t Swizzle::operator()(int64_t offset) const {
  int64_t low = maskTrailingOnes<uint64_t>(bits) << base;
  if (shift >= 0)
    return offset ^ ((offset >> shift) & low);
  return offset ^ ((offset & low) << -shift);
}

void Swizzle::print(raw_ostream &os) const {
  os << "Sw<" << bits << "," << base << "," << shift << ">";
}

std::string Swizzle::str() const {
  std::string text;
  raw_string_ostream os(text);
  print(os);
  return text;
}

void ComposedLayout::print(raw_ostream &os) const {
  os << swizzle << " o " << offset << " o " << layout;
}

std::string ComposedLayout::str() const {
  std::string text;
  raw_string_ostream os(text);
  print(os);
  return text;
}

hash_code tl::layout::hash_value(const Swizzle &swizzle) {
  return hash_combine(swizzle.bits, swizzle.base, swizzle.shift);
}

hash_code tl::layout::hash_value(const ComposedLayout &layout) {
  return hash_combine(layout.swizzle, layout.offset, layout.layout);
}

raw_ostream &tl::layout::operator<<(raw_ostream &os, const Swizzle &swizzle) {
  swizzle.print(os);
  return os;
}

raw_ostream &tl::layout::operator<<(raw_ostream &os,
                                    const ComposedLayout &layout) {
  layout.print(os);
  return os;
}
