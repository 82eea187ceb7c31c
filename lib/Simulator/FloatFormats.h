//===- FloatFormats.h - Floats in those of the host --*- C++ -*-===//
//
// A format says how words become numbers that the host computes with, and how
// these are rounded to words: to nearest, ties to even. Sums, differences,
// products, quotients and square roots of 16-bit floats that are computed in
// `float` and rounded once more are correctly rounded: 24 bits are more than
// twice 11, and 2 (S. A. Figueroa, "When is double rounding innocuous?").
//
// What arithmetic makes of a NaN is `kCanonicalNaN`, as on a device (PTX ISA,
// "Floating-Point Instructions"): `a + b` and `b + a` are the same bits, on
// which lanes rely that compute copies of one element. The host keeps the
// payload of its first operand.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_FLOATFORMATS_H
#define TL_LIB_SIMULATOR_FLOATFORMATS_H

#include "Warp.h"
#include <bit>
#include <cmath>

namespace tl::sim {

struct F64Format {
  using Word = uint64_t;
  using Number = double;
  static constexpr uint64_t kCanonicalNaN = 0x7FF8000000000000;
  static double decode(uint64_t word) { return std::bit_cast<double>(word); }
  static uint64_t encode(double number) {
    return std::bit_cast<uint64_t>(number);
  }
};

struct F32Format {
  using Word = uint32_t;
  using Number = float;
  static constexpr uint32_t kCanonicalNaN = 0x7FFFFFFF;
  static float decode(uint32_t word) { return std::bit_cast<float>(word); }
  static uint32_t encode(float number) {
    return std::bit_cast<uint32_t>(number);
  }
};

struct BF16Format {
  using Word = uint32_t;
  using Number = float;
  static constexpr uint32_t kCanonicalNaN = 0x7FFF;
  static float decode(uint32_t word) {
    return std::bit_cast<float>(word << 16);
  }
  static uint32_t encode(float number) {
    uint32_t bits = std::bit_cast<uint32_t>(number);
    uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x40;
    return (bits & 0x7FFFFFFF) > 0x7F800000 ? nan : rounded;
  }
};

/// A format of at most 16 bits with subnormals. Without infinities the pattern
/// of all ones is the one NaN, and what is too large becomes that.
template <int ExponentBits, int MantissaBits, bool HasInfinities>
struct SmallFormat {
  using Word = uint32_t;
  using Number = float;
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr int kShift = 23 - MantissaBits;
  static constexpr uint32_t kSign = 1u << (ExponentBits + MantissaBits);
  static constexpr uint32_t kExponent = ((1u << ExponentBits) - 1)
                                        << MantissaBits;
  static constexpr uint32_t kLargest =
      HasInfinities ? kExponent - 1 : kSign - 2;
  static constexpr uint32_t kTooLarge = HasInfinities ? kExponent : kSign - 1;
  static constexpr uint32_t kNaN =
      HasInfinities ? kExponent | 1u << (MantissaBits - 1) : kSign - 1;
  static constexpr uint32_t kCanonicalNaN = kSign - 1;
  static constexpr int kSignShift = 31 - ExponentBits - MantissaBits;

  static float decode(uint32_t word) {
    // The exponent lands where that of a float is, less the difference of the
    // biases, for which there is a product that is exact.
    constexpr float difference =
        std::bit_cast<float>(uint32_t(127 + 127 - kBias) << 23);
    uint32_t magnitude = word & (kSign - 1);
    float scaled = std::bit_cast<float>(magnitude << kShift) * difference;
    uint32_t bits = std::bit_cast<uint32_t>(scaled);
    bits |=
        magnitude > kLargest ? (HasInfinities ? 0x7F800000 : 0x7FC00000) : 0;
    return std::bit_cast<float>(bits | (word & kSign) << kSignShift);
  }

  static uint32_t encode(float number) {
    uint32_t bits = std::bit_cast<uint32_t>(number);
    uint32_t magnitude = bits & 0x7FFFFFFF;
    // Normal results: the bias changes, and the last bits are rounded away.
    constexpr uint32_t leastNormal = uint32_t(128 - kBias) << 23;
    uint32_t normal = (magnitude - (uint32_t(127 - kBias) << 23) +
                       (1u << (kShift - 1)) - 1 + (magnitude >> kShift & 1)) >>
                      kShift;
    // Small ones: a sum aligns their bits at the end of a float's, and rounds.
    constexpr uint32_t magic = uint32_t(128 - kBias + kShift) << 23;
    uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) +
                                             std::bit_cast<float>(magic)) -
                     magic;
    uint32_t result = magnitude < leastNormal ? small : normal;
    result = result > kLargest || magnitude >= 0x7F800000 ? kTooLarge : result;
    result = magnitude > 0x7F800000 ? kNaN : result;
    return result | (bits >> kSignShift & kSign);
  }
};

using F16Format = SmallFormat<5, 10, true>;
using E5M2Format = SmallFormat<5, 2, true>;
using E4M3Format = SmallFormat<4, 3, false>;

/// A float that rounds to every narrower format as `number` does: what it loses
/// stays visible in its last bit.
template <typename From>
float roundToOdd(From number) {
  auto nearest = static_cast<float>(number);
  if (static_cast<From>(nearest) == number || !std::isfinite(number))
    return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  // Towards zero, where the last bit is then set.
  if (std::abs(static_cast<From>(nearest)) > std::abs(number))
    --bits;
  return std::bit_cast<float>(bits | 1);
}

/// `number` as what `Format::encode` takes, so that it is rounded once in all.
template <typename Format, typename From>
typename Format::Number roundTo(From number) {
  if constexpr (std::is_same_v<Format, F32Format> ||
                std::is_same_v<Format, F64Format>)
    return static_cast<typename Format::Number>(number);
  else
    return roundToOdd(number);
}

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_FLOATFORMATS_H
