//===- Multiply.h - The arithmetic of matrix instructions -------*- C++ -*-===//
//
// Products are exact. Those of floats are added in double precision, in the
// order of K, the accumulator last, and the sum is rounded once to its type, to
// nearest: hardware that adds in fewer bits, in an order that nobody says,
// is within one rounding of each accumulation of that (PTX ISA, "Semantics" of
// mma and wgmma.mma_async: "at least single precision"). Integers wrap.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_INSTRUCTIONS_MULTIPLY_H
#define TL_SIMULATOR_INSTRUCTIONS_MULTIPLY_H

#include "tl/Simulator/Instructions.h"
#include "tl/Simulator/Instructions/Formats.h"
#include <optional>
#include <type_traits>

namespace tl::sim {

/// How factors of a type are read, and what they are added up in.
template <typename TypeT, typename SumT, unsigned bytes, auto decoder>
struct FactorsOf {
  using Type = TypeT;
  using Sum = SumT;
  static constexpr unsigned kBytes = bytes;
  /// `bits` may have more of them above the factor's.
  static Type decode(uint32_t bits) { return decoder(bits); }
};

template <MmaType type>
struct Factors;
template <>
struct Factors<MmaType::F16> : FactorsOf<float, double, 2, [](uint32_t bits) {
  return decodeF16(bits);
}> {};
template <>
struct Factors<MmaType::BF16> : FactorsOf<float, double, 2, [](uint32_t bits) {
  return decodeBF16(bits);
}> {};
template <>
struct Factors<MmaType::TF32> : FactorsOf<float, double, 4, [](uint32_t bits) {
  return decodeTF32(bits);
}> {};
template <>
struct Factors<MmaType::E4M3> : FactorsOf<float, double, 1, [](uint32_t bits) {
  return decodeE4M3(bits);
}> {};
template <>
struct Factors<MmaType::E5M2> : FactorsOf<float, double, 1, [](uint32_t bits) {
  return decodeE5M2(bits);
}> {};
template <>
struct Factors<MmaType::S8> : FactorsOf<int32_t, int32_t, 1, [](uint32_t bits) {
  return int32_t(int8_t(bits));
}> {};
template <>
struct Factors<MmaType::U8> : FactorsOf<int32_t, int32_t, 1, [](uint32_t bits) {
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
  }
}

/// The sum of an accumulator's bits and a sum of products, as bits.
inline uint32_t addTo(uint32_t accumulator, int32_t products, SumType) {
  return accumulator + uint32_t(products);
}
inline uint32_t addTo(uint32_t accumulator, double products, SumType type) {
  if (type == SumType::F16)
    return encodeFloat(decodeF16(accumulator) + products, kF16);
  double sum = std::bit_cast<float>(accumulator) + products;
  if (sum != sum)
    return kF32.getNaN();
  return std::bit_cast<uint32_t>(float(sum));
}

} // namespace tl::sim

#endif // TL_SIMULATOR_INSTRUCTIONS_MULTIPLY_H
