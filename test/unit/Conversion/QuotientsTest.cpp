//===- QuotientsTest.cpp - Quotients in f32 are correctly rounded ---------===//
//
// What LowerDivision.cpp makes of a division in f32, in the same operations.
//
// A quotient before its last rounding is wrong by less than 2^-22 of its last
// place: the inverse is good to half a place of its own, and the first estimate
// and its remainder, of 25 bits at most, to one and a half. So it is rounded
// correctly unless it is so close to a tie, a number with one digit more. These
// are known: a 2^n = b (2 k + 1) + s for mantissas a and b of 24 bits, where s
// is small, so that a is a residue modulo b. All of them are tried, for all
// divisors if asked for (20 s; TL_TEST_ALL_QUOTIENTS=1), else for some and
// for those that are hard, whose digits are all ones. Powers of two change
// nothing as long as all is in range.
//
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>

static constexpr uint32_t kOne = 1 << 23;

/// a b + c, rounded up. Volatile, so that it stands between the two changes of
/// the rounding mode.
static float fmaUp(float a, float b, float c) {
  volatile float x = a, y = b, z = c;
  std::fesetround(FE_UPWARD);
  volatile float result = std::fma(x, y, z);
  std::fesetround(FE_TONEAREST);
  return result;
}

/// What comes of a reciprocal that is wrong by `places`.
static float invert(float y, int places) {
  float first = static_cast<float>(1.0 / static_cast<double>(y));
  for (int i = 0; i < std::abs(places); ++i)
    first = std::nextafter(first, places < 0 ? 0.0f : 2.0f);
  float error = std::fma(-y, first, 1.0f);
  error = fmaUp(error, error, error);
  return std::fma(first, error, first);
}

static float divide(float x, float y, float inverse) {
  float quotient = x * inverse;
  float remainder = std::fma(-y, quotient, x);
  return std::fma(inverse, remainder, quotient);
}

/// One over 2^`power` modulo `odd`.
static uint64_t getInversePower(unsigned power, uint64_t odd) {
  uint64_t inverse = 1;
  for (unsigned i = 0; i < power; ++i)
    inverse = (inverse % 2 ? inverse + odd : inverse) / 2;
  return inverse % odd;
}

/// Divides all mantissas whose quotient by `mantissa` is near a tie, and is in
/// its upper half if `isLess`; how many were tried.
static unsigned tryTies(uint32_t mantissa, bool isLess,
                        const std::set<float> &inverses) {
  constexpr int kNear = 16;
  float y = std::ldexp(static_cast<float>(mantissa), -23);
  unsigned twos = __builtin_ctz(mantissa), tried = 0;
  int64_t odd = mantissa >> twos;
  // The quotient has a digit more behind the point where it is less than one.
  unsigned power = 24 + isLess - twos;
  int64_t unit = getInversePower(power, odd);
  int64_t least = isLess ? kOne : mantissa, end = isLess ? mantissa : 2 * kOne;
  for (int64_t s = -(kNear >> twos); s <= kNear >> twos; ++s) {
    int64_t residue = (s * unit % odd + odd) % odd;
    int64_t first =
        residue + (std::max<int64_t>(least - residue, 0) + odd - 1) / odd * odd;
    for (int64_t a = first; a < end; a += odd) {
      if (((a << power) - s) / odd % 2 == 0)
        continue;
      float x = std::ldexp(static_cast<float>(a), -23);
      for (float inverse : inverses)
        EXPECT_EQ(divide(x, y, inverse), x / y) << x << " / " << y;
      ++tried;
    }
  }
  return tried;
}

static unsigned tryDivisor(uint32_t mantissa) {
  constexpr int kPlaces = 4;
  std::set<float> inverses;
  for (int places = -kPlaces; places <= kPlaces; ++places)
    inverses.insert(
        invert(std::ldexp(static_cast<float>(mantissa), -23), places));
  return tryTies(mantissa, /*isLess=*/false, inverses) +
         tryTies(mantissa, /*isLess=*/true, inverses);
}

TEST(Quotients, AreCorrectlyRounded) {
  bool isAll = std::getenv("TL_TEST_ALL_QUOTIENTS");
  unsigned tried = 0;
  for (uint32_t mantissa = kOne; mantissa < 2 * kOne;
       mantissa += isAll ? 1 : 1021)
    tried += tryDivisor(mantissa);
  for (uint32_t i = 1; i <= 256; ++i)
    tried += tryDivisor(2 * kOne - i) + tryDivisor(kOne + i);
  EXPECT_GT(tried, 80000u);
}
