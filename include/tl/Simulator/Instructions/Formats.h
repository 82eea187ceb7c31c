//===- Formats.h - The numbers of matrix instructions -----------*- C++ -*-===//
//
// Conversions between host floats and the formats that a GPU computes with but
// the host does not. From a format to a float they are exact; to a format they
// round to nearest, ties to even (PTX ISA, "cvt"), in integer arithmetic, so
// that no rounding of the host gets in between.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_INSTRUCTIONS_FORMATS_H
#define TL_SIMULATOR_INSTRUCTIONS_FORMATS_H

#include <bit>
#include <cstdint>

namespace tl::sim {

/// A binary format of at most 32 bits: a sign, `exponentBits` and then
/// `mantissaBits`, above `padBits` that are zero.
struct FloatFormat {
  int exponentBits;
  int mantissaBits;
  /// Without infinity, all exponents are those of numbers, and the one pattern
  /// of all ones is NaN.
  bool hasInfinity = true;
  int padBits = 0;

  constexpr int getBias() const { return (1 << (exponentBits - 1)) - 1; }
  constexpr uint32_t getInfinity() const {
    return ((1u << exponentBits) - 1) << mantissaBits;
  }
  /// What PTX makes of every NaN: all bits of the magnitude set.
  constexpr uint32_t getNaN() const {
    return (1u << (exponentBits + mantissaBits)) - 1;
  }
  constexpr uint32_t getLargest() const {
    return (hasInfinity ? getInfinity() : getNaN()) - 1;
  }
};

inline constexpr FloatFormat kF16 = {5, 10};
inline constexpr FloatFormat kBF16 = {8, 7};
/// Its 19 bits are the upper ones of a 32-bit register.
inline constexpr FloatFormat kTF32 = {8, 10, true, 13};
inline constexpr FloatFormat kF32 = {8, 23};
inline constexpr FloatFormat kE4M3 = {4, 3, false};
inline constexpr FloatFormat kE5M2 = {5, 2};

/// The pattern nearest to `value`. What is beyond the largest number becomes
/// that number if `saturate` (`.satfinite`), else infinity, or NaN in a format
/// without.
uint32_t encodeFloat(double value, FloatFormat format, bool saturate = false);

/// The number that a pattern stands for, whatever lies in the bits above.
inline float decodeF16(uint32_t bits) {
  // The exponent is moved to where that of a float is, and its bias corrected
  // by a product, which is exact for subnormals too.
  float scaled = std::bit_cast<float>((bits & 0x7FFFu) << 13) * 0x1p112f;
  uint32_t magnitude = std::bit_cast<uint32_t>(scaled);
  if ((bits & 0x7C00u) == 0x7C00u)
    magnitude = 0x7F800000u | (bits & 0x3FFu) << 13;
  return std::bit_cast<float>(magnitude | (bits & 0x8000u) << 16);
}
inline float decodeBF16(uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}
/// A matrix instruction does not see the lower 13 bits.
inline float decodeTF32(uint32_t bits) {
  return std::bit_cast<float>(bits & 0xFFFFE000u);
}
inline float decodeE4M3(uint32_t bits) {
  float scaled = std::bit_cast<float>((bits & 0x7Fu) << 20) * 0x1p120f;
  uint32_t magnitude = std::bit_cast<uint32_t>(scaled);
  if ((bits & 0x7Fu) == 0x7Fu)
    magnitude = 0x7FC00000u;
  return std::bit_cast<float>(magnitude | (bits & 0x80u) << 24);
}
/// It is f16 without the lower byte.
inline float decodeE5M2(uint32_t bits) {
  return decodeF16((bits & 0xFFu) << 8);
}

} // namespace tl::sim

#endif // TL_SIMULATOR_INSTRUCTIONS_FORMATS_H
