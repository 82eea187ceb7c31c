//===- TrafficTest.cpp - What an access of a warp costs -------------------===//

#include "tl/Simulator/Counters/Traffic.h"

#include "gtest/gtest.h"
#include <array>

using namespace tl::sim;

namespace {

constexpr uint64_t kBase = SharedMemory::kBase;

/// Lane l accesses `bytes` at l * `step`.
std::array<uint32_t, 2> count(uint32_t bytes, uint32_t step,
                              LaneMask lanes = kAllLanes) {
  std::array<uint64_t, kLanes> addresses;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    addresses[lane] = kBase + uint64_t(lane) * step;
  Wavefronts wavefronts = countWavefronts(addresses, bytes, lanes);
  return {wavefronts.count, wavefronts.least};
}

using Counts = std::array<uint32_t, 2>;

TEST(Wavefronts, NeighboursFillABankEach) {
  EXPECT_EQ(count(4, 4), (Counts{1, 1}));
  EXPECT_EQ(count(8, 8), (Counts{2, 2}));
  EXPECT_EQ(count(16, 16), (Counts{4, 4}));
}

TEST(Wavefronts, LanesShareWords) {
  EXPECT_EQ(count(4, 0), (Counts{1, 1}));
  EXPECT_EQ(count(2, 2), (Counts{1, 1}));
  EXPECT_EQ(count(1, 1), (Counts{1, 1}));
}

// The columns of a row-major tile of 32 floats, and of one with a float of
// padding.
TEST(Wavefronts, AColumnIsOneBank) {
  EXPECT_EQ(count(4, 128), (Counts{32, 1}));
  EXPECT_EQ(count(4, 132), (Counts{1, 1}));
  EXPECT_EQ(count(4, 8), (Counts{2, 1}));
}

// Eight lanes go together, and each of them wants the same four banks.
TEST(Wavefronts, AWideColumn) {
  EXPECT_EQ(count(16, 128), (Counts{32, 4}));
  EXPECT_EQ(count(16, 144), (Counts{4, 4}));
  EXPECT_EQ(count(8, 128), (Counts{32, 2}));
}

TEST(Wavefronts, LanesThatAreAwayCountForNothing) {
  EXPECT_EQ(count(4, 128, 0xFF), (Counts{8, 1}));
  EXPECT_EQ(count(16, 16, 0xFF), (Counts{1, 1}));
  EXPECT_EQ(count(16, 16, 0x10001), (Counts{2, 2}));
}

TEST(Wavefronts, WhatIsWiderTakesSeveralInstructions) {
  EXPECT_EQ(count(32, 32), (Counts{16, 8}));
}

TEST(Sectors, AreSharedAndCountedFromTheBase) {
  auto sectors = [](std::vector<Span> spans) {
    return findSectors(spans, /*base=*/16).size();
  };
  EXPECT_EQ(sectors({{Space::Global, 16, 32}}), 1u);
  EXPECT_EQ(sectors({{Space::Global, 32, 32}}), 2u);
  EXPECT_EQ(sectors({{Space::Global, 16, 4}, {Space::Global, 44, 4}}), 1u);
  EXPECT_EQ(sectors({{Space::Global, 16, 4}, {Space::Global, 48, 4}}), 2u);
  EXPECT_EQ(sectors({{Space::Global, 16, 0}}), 0u);
}

} // namespace
