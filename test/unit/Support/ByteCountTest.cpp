//===- ByteCountTest.cpp - Sizes as people write them ---------------------===//

#include "tl/Support/ByteCount.h"

#include "gtest/gtest.h"

using namespace tl;

TEST(ByteCountTest, NumbersAreBytes) {
  EXPECT_EQ(parseByteCount("0"), 0u);
  EXPECT_EQ(parseByteCount("1000"), 1000u);
  EXPECT_EQ(parseByteCount(" 12 "), 12u);
  EXPECT_EQ(parseByteCount("18446744073709551615"), UINT64_MAX);
}

TEST(ByteCountTest, UnitsArePowersOf1024) {
  for (const char *text : {"100K", "100k", "100KB", "100kb", "100KiB", "100 K"})
    EXPECT_EQ(parseByteCount(text), 102400u) << text;
  EXPECT_EQ(parseByteCount("5B"), 5u);
  EXPECT_EQ(parseByteCount("3M"), uint64_t(3) << 20);
  EXPECT_EQ(parseByteCount("4GiB"), uint64_t(4) << 30);
  EXPECT_EQ(parseByteCount("2t"), uint64_t(2) << 40);
}

TEST(ByteCountTest, APartOfAUnitIsBytes) {
  EXPECT_EQ(parseByteCount("1.5K"), 1536u);
  EXPECT_EQ(parseByteCount("0.25 GiB"), uint64_t(1) << 28);
  EXPECT_EQ(parseByteCount("1.0001K"), 1024u);
}

TEST(ByteCountTest, AnythingElseIsNone) {
  for (const char *text : {"", " ", "many", "-1", "+1", "K", ".5K", "1.", "1.K",
                           "1..5K", "1e3", "0x10", "4Gi", "4 X", "1K1", "1,5K"})
    EXPECT_EQ(parseByteCount(text), std::nullopt) << text;
  // One more than 64 bits hold.
  EXPECT_EQ(parseByteCount("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parseByteCount("16777216T"), std::nullopt);
}
