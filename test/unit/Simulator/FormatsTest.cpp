//===- FormatsTest.cpp - Tests for number formats -------------------------===//
//
// Every pattern of a format is compared with the number that its fields say;
// rounding with the two neighbours of a number, and with APFloat.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Instructions/Formats.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace tl::sim;

namespace {

struct Case {
  const char *name;
  FloatFormat format;
  const llvm::fltSemantics &semantics;
  float (*decode)(uint32_t);

  unsigned bits() const {
    return 1 + format.exponentBits + format.mantissaBits;
  }
  uint32_t sign() const { return 1u << (bits() - 1); }
};

const Case kCases[] = {
    {"f16", kF16, llvm::APFloat::IEEEhalf(), decodeF16},
    {"bf16", kBF16, llvm::APFloat::BFloat(), decodeBF16},
    {"tf32", kTF32, llvm::APFloat::FloatTF32(), decodeTF32},
    {"e4m3", kE4M3, llvm::APFloat::Float8E4M3FN(), decodeE4M3},
    {"e5m2", kE5M2, llvm::APFloat::Float8E5M2(), decodeE5M2},
};

/// The number of a pattern, from its fields.
double getNumber(const Case &c, uint32_t pattern) {
  int m = c.format.mantissaBits, e = c.format.exponentBits;
  int mantissa = pattern & ((1 << m) - 1);
  int exponent = pattern >> m & ((1 << e) - 1);
  int bias = (1 << (e - 1)) - 1;
  double sign = pattern & c.sign() ? -1 : 1;
  bool ends = exponent == (1 << e) - 1;
  if (ends && c.format.hasInfinity)
    return mantissa ? NAN : sign * INFINITY;
  if (ends && mantissa == (1 << m) - 1)
    return NAN;
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - m);
  return sign * std::ldexp(mantissa + (1 << m), exponent - bias - m);
}

TEST(Formats, PatternsAreTheirNumbers) {
  for (const Case &c : kCases)
    for (uint32_t pattern = 0; pattern < 2 * c.sign(); ++pattern) {
      double expected = getNumber(c, pattern);
      float number = c.decode(pattern << c.format.padBits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(number)) << c.name << " " << pattern;
        continue;
      }
      ASSERT_EQ(number, expected) << c.name << " " << pattern;
      ASSERT_EQ(std::signbit(number), (pattern & c.sign()) != 0);
      ASSERT_EQ(encodeFloat(number, c.format), pattern << c.format.padBits)
          << c.name;
    }
}

TEST(Formats, DecodersIgnoreWhatLiesAroundANumber) {
  EXPECT_EQ(decodeF16(0xABCD3C00), 1);
  EXPECT_EQ(decodeBF16(0xABCD3F80), 1);
  EXPECT_EQ(decodeTF32(0x3F801FFF), 1);
  EXPECT_EQ(decodeE4M3(0xABCDEF38), 1);
  EXPECT_EQ(decodeE5M2(0xABCDEF3C), 1);
}

// Between two neighbours the nearer one is taken, and in the middle the one
// whose last bit is zero.
TEST(Formats, RoundsToNearestAndTiesToEven) {
  for (const Case &c : kCases) {
    uint32_t largest = c.format.getLargest();
    for (uint32_t low = 0; low < largest; ++low) {
      double a = getNumber(c, low), b = getNumber(c, low + 1);
      double middle = a + (b - a) / 2;
      auto encode = [&](double value) {
        return encodeFloat(value, c.format) >> c.format.padBits;
      };
      ASSERT_EQ(encode(middle), low + low % 2) << c.name << " " << low;
      ASSERT_EQ(encode(std::nextafter(middle, 0)), low) << c.name;
      ASSERT_EQ(encode(std::nextafter(middle, INFINITY)), low + 1) << c.name;
      ASSERT_EQ(encode(-middle), c.sign() | (low + low % 2)) << c.name;
    }
  }
}

TEST(Formats, WhatIsTooLargeOverflowsOrSaturates) {
  for (const Case &c : kCases) {
    auto encode = [&](double value, bool saturate) {
      return encodeFloat(value, c.format, saturate) >> c.format.padBits;
    };
    uint32_t largest = c.format.getLargest();
    double last = getNumber(c, largest);
    double step = last - getNumber(c, largest - 1);
    uint32_t beyond = largest + 1;
    // The largest e4m3 is even, all others are odd.
    bool tieStays = largest % 2 == 0;
    EXPECT_EQ(encode(last + step / 2, false), tieStays ? largest : beyond);
    EXPECT_EQ(encode(std::nextafter(last + step / 2, 0), false), largest);
    for (double value : {last + step, 1e300, double(INFINITY)}) {
      EXPECT_EQ(encode(value, false), beyond) << c.name << " " << value;
      EXPECT_EQ(encode(value, true), largest) << c.name << " " << value;
      EXPECT_EQ(encode(-value, true), c.sign() | largest) << c.name;
    }
    EXPECT_EQ(encode(NAN, true), c.sign() - 1) << c.name;
    EXPECT_EQ(encode(-NAN, false), c.sign() - 1) << c.name;
    EXPECT_EQ(encode(5e-324, false), 0u) << c.name;
    EXPECT_EQ(encode(-5e-324, false), c.sign()) << c.name;
  }
}

TEST(Formats, AgreesWithAPFloat) {
  std::mt19937_64 random(1);
  for (const Case &c : kCases)
    for (int i = 0; i < 20000; ++i) {
      // Exponents around those of the format.
      int range = 1 << (c.format.exponentBits - 1);
      int exponent = int(random() % (3 * range)) - 3 * range / 2;
      double value = std::ldexp(double(int64_t(random())), exponent - 63);
      llvm::APFloat expected(value);
      bool loses;
      expected.convert(c.semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
      uint32_t bits = expected.isNaN()
                          ? (c.format.getNaN())
                          : uint32_t(expected.bitcastToAPInt().getZExtValue());
      if (expected.isNaN() && std::signbit(value))
        bits |= c.sign();
      ASSERT_EQ(encodeFloat(value, c.format) >> c.format.padBits, bits)
          << c.name << " " << value;
    }
}

} // namespace
