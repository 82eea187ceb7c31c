//===- Formats.cpp - The numbers of matrix instructions -------------------===//

#include "tl/Simulator/Instructions/Formats.h"

using namespace tl::sim;

static constexpr int kDoubleMantissa = 52;
static constexpr int kDoubleBias = 1023;

/// `significand` / 2^`shift`, rounded to nearest, ties to even.
static uint64_t shiftRounding(uint64_t significand, int shift) {
  // Less than half of the smallest.
  if (shift > kDoubleMantissa + 2)
    return 0;
  uint64_t half = uint64_t(1) << (shift - 1);
  return (significand + half - 1 + (significand >> shift & 1)) >> shift;
}

uint32_t tl::sim::encodeFloat(double value, FloatFormat format, bool saturate) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint32_t sign = uint32_t(bits >> 63)
                  << (format.exponentBits + format.mantissaBits);
  uint64_t magnitude = bits & ~(uint64_t(1) << 63);
  if (value != value)
    return format.getNaN() << format.padBits;

  // Subnormal doubles are below half of the smallest number of any format, and
  // have no implicit bit; rounding takes them to zero all the same.
  int exponent = int(magnitude >> kDoubleMantissa) - kDoubleBias;
  uint64_t implicit = uint64_t(1) << kDoubleMantissa;
  uint64_t significand = implicit | (magnitude & (implicit - 1));
  int smallest = 1 - format.getBias();
  int shift = kDoubleMantissa - format.mantissaBits;
  uint64_t result;
  if (exponent < smallest) {
    result = shiftRounding(significand, shift + smallest - exponent);
  } else {
    // The implicit bit is one more exponent, and so is a carry out of it.
    result = (uint64_t(exponent - smallest) << format.mantissaBits) +
             shiftRounding(significand, shift);
  }
  if (result > format.getLargest())
    result = saturate             ? format.getLargest()
             : format.hasInfinity ? format.getInfinity()
                                  : format.getNaN();
  return (sign | uint32_t(result)) << format.padBits;
}
