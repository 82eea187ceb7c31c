//===- Multiply.h - The arithmetic of matrix instructions -------*- C++ -*-===//
//
// Integers wrap. Products of floats are exact, and are added as Hopper's tensor
// cores do, which no manual says (PTX ISA, "Semantics" of mma: "at least single
// precision") and which was read off an H100, bit by bit: all addends of an
// instruction, the accumulator among them, are cut off at some bits behind the
// greatest exponent, and what is left of them is added exactly. The exponent of
// a product is the sum of its factors', so that it may be one less than its
// own; that of a subnormal accumulator is -126. What is cut off, also of the
// sum at the end, is rounded towards zero, but for sums in f16, which are
// rounded to nearest.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_INSTRUCTIONS_MULTIPLY_H
#define TL_SIMULATOR_INSTRUCTIONS_MULTIPLY_H

#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Instructions/Formats.h"
#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

namespace tl::sim {

/// How factors of a type are read.
template <typename TypeT, unsigned bytes, auto decoder>
struct FactorsOf {
  using Type = TypeT;
  static constexpr unsigned kBytes = bytes;
  /// `bits` may have more of them above the factor's.
  static Type decode(uint32_t bits) { return decoder(bits); }
};

template <MmaType type>
struct Factors;
template <>
struct Factors<MmaType::F16>
    : FactorsOf<float, 2, [](uint32_t bits) { return decodeF16(bits); }> {};
template <>
struct Factors<MmaType::BF16>
    : FactorsOf<float, 2, [](uint32_t bits) { return decodeBF16(bits); }> {};
template <>
struct Factors<MmaType::TF32>
    : FactorsOf<float, 4, [](uint32_t bits) { return decodeTF32(bits); }> {};
template <>
struct Factors<MmaType::E4M3>
    : FactorsOf<float, 1, [](uint32_t bits) { return decodeE4M3(bits); }> {};
template <>
struct Factors<MmaType::E5M2>
    : FactorsOf<float, 1, [](uint32_t bits) { return decodeE5M2(bits); }> {};
template <>
struct Factors<MmaType::S8> : FactorsOf<int32_t, 1, [](uint32_t bits) {
  return int32_t(int8_t(bits));
}> {};
template <>
struct Factors<MmaType::U8> : FactorsOf<int32_t, 1, [](uint32_t bits) {
  return int32_t(uint8_t(bits));
}> {};

/// The type that factors of B may have beside those of `type`, if there is one.
constexpr std::optional<MmaType> getOther(MmaType type) {
  switch (type) {
  case MmaType::E4M3:
    return MmaType::E5M2;
  case MmaType::E5M2:
    return MmaType::E4M3;
  case MmaType::S8:
    return MmaType::U8;
  case MmaType::U8:
    return MmaType::S8;
  default:
    return std::nullopt;
  }
}

/// Decodes a factor of B, whose type is `type` if `isSame`, or the other one.
template <MmaType type>
typename Factors<type>::Type decodeB(uint32_t bits, bool isSame) {
  if constexpr (getOther(type).has_value())
    if (!isSame)
      return Factors<*getOther(type)>::decode(bits);
  return Factors<type>::decode(bits);
}

/// Calls `visit` with `type` as a constant.
template <typename Visitor>
void visitFactors(MmaType type, Visitor visit) {
  switch (type) {
  case MmaType::F16:
    return visit(std::integral_constant<MmaType, MmaType::F16>());
  case MmaType::BF16:
    return visit(std::integral_constant<MmaType, MmaType::BF16>());
  case MmaType::TF32:
    return visit(std::integral_constant<MmaType, MmaType::TF32>());
  case MmaType::S8:
    return visit(std::integral_constant<MmaType, MmaType::S8>());
  case MmaType::U8:
    return visit(std::integral_constant<MmaType, MmaType::U8>());
  case MmaType::E4M3:
    return visit(std::integral_constant<MmaType, MmaType::E4M3>());
  case MmaType::E5M2:
    return visit(std::integral_constant<MmaType, MmaType::E5M2>());
  case MmaType::F64:
    break; // has an instruction of its own
  }
}

//===----------------------------------------------------------------------===//
// Sums of floats
//===----------------------------------------------------------------------===//

/// What an instruction keeps of its addends behind the greatest exponent, and
/// of the sum in all.
struct SumBits {
  int behind = 25;
  int inAll = 24;
};
inline constexpr SumBits kWideSum;
/// Of products of 8 bits by wgmma.
inline constexpr SumBits kNarrowSum = {13, 14};

/// The exponent of zero, which is less than all others and their sums.
inline constexpr int kNoExponent = -4096;

/// A factor, with the exponent that the multiplier sees: subnormals have that
/// of the least normal number.
struct FloatFactor {
  float value = 0;
  int exponent = kNoExponent;

  static FloatFactor get(float value, MmaType type) {
    if (value == 0 || !std::isfinite(value))
      return {value, kNoExponent};
    return {value, std::max(std::ilogb(value), getLeastExponent(type))};
  }

private:
  static int getLeastExponent(MmaType type) {
    switch (type) {
    case MmaType::F16:
    case MmaType::E5M2:
      return -14;
    case MmaType::E4M3:
      return -6;
    default:
      return -126;
    }
  }
};

/// What products are made of: whole numbers, or `FloatFactor`s.
template <MmaType type>
using Operand =
    std::conditional_t<std::is_integral_v<typename Factors<type>::Type>,
                       int32_t, FloatFactor>;

template <MmaType type>
Operand<type> makeOperand(typename Factors<type>::Type value, MmaType of) {
  if constexpr (std::is_integral_v<typename Factors<type>::Type>)
    return value;
  else
    return FloatFactor::get(value, of);
}

template <MmaType type>
Operand<type> decodeOperand(uint32_t bits) {
  return makeOperand<type>(Factors<type>::decode(bits), type);
}

/// Of B, whose type is `type` if `isSame`, or the other one.
template <MmaType type>
Operand<type> decodeOperandB(uint32_t bits, bool isSame) {
  return makeOperand<type>(decodeB<type>(bits, isSame),
                           isSame ? type : getOther(type).value_or(type));
}

/// An accumulator's bits and a row times a column of whole numbers.
template <unsigned depth>
uint32_t addRow(uint32_t accumulator, const int32_t *row, const int32_t *column,
                SumType) {
  for (unsigned k = 0; k < depth; ++k)
    accumulator += uint32_t(row[k]) * uint32_t(column[k]);
  return accumulator;
}

/// 2 to the power of an exponent that a `double` has.
inline double getPower(int exponent) {
  return std::bit_cast<double>(uint64_t(1023 + exponent) << 52);
}

inline float roundToZero(double value) {
  float rounded = float(value);
  return std::abs(double(rounded)) > std::abs(value) &&
                 std::abs(value) < 0x1p128
             ? std::nextafter(rounded, 0.0f)
             : rounded;
}

/// The products that an instruction adds to an element.
template <unsigned most>
class Products {
public:
  void add(const FloatFactor &a, const FloatFactor &b) {
    values[count] = double(a.value) * b.value;
    greatest = std::max(greatest, a.exponent + b.exponent);
    ++count;
  }

  /// The sum of them and an accumulator's bits, as bits.
  uint32_t addTo(uint32_t accumulator, SumType type, SumBits bits) const {
    bool isHalf = type == SumType::F16;
    float old =
        isHalf ? decodeF16(accumulator) : std::bit_cast<float>(accumulator);
    double sum = add(old, isHalf, bits.behind);
    if (isHalf)
      return encodeFloat(sum, kF16);
    if (sum != sum)
      return kF32.getNaN();
    // Of the 53 bits of a double.
    uint64_t dropped = (uint64_t(1) << (53 - bits.inAll)) - 1;
    if (std::isfinite(sum) && bits.inAll < kWideSum.inAll)
      sum = std::bit_cast<double>(std::bit_cast<uint64_t>(sum) & ~dropped);
    return std::bit_cast<uint32_t>(roundToZero(sum));
  }

private:
  double add(float old, bool isHalf, int behind) const {
    double plain = old;
    for (unsigned k = 0; k < count; ++k)
      plain += values[k];
    int top = greatest;
    if (old != 0)
      top = std::max({top, std::ilogb(old), isHalf ? kNoExponent : -126});
    // Products of zeros have exponents that are no number's.
    if (!std::isfinite(plain) || top <= kNoExponent / 2)
      return plain;
    // Of a product two bits stand in front of its exponent's.
    double scale = getPower(behind - top), sum = int32_t(old * scale);
    for (unsigned k = 0; k < count; ++k)
      sum += int32_t(values[k] * scale);
    return sum * getPower(top - behind);
  }

  double values[most];
  unsigned count = 0;
  int greatest = kNoExponent;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_INSTRUCTIONS_MULTIPLY_H
