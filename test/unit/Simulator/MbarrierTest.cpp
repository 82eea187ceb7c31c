//===- MbarrierTest.cpp - Tests for mbarriers -----------------------------===//

#include "tl/Simulator/Instructions.h"
#include "gtest/gtest.h"

using namespace tl::sim;

namespace {

TEST(Mbarrier, APhaseIsItsArrivals) {
  Mbarrier barrier(3);
  for (unsigned phase = 0; phase < 4; ++phase) {
    EXPECT_EQ(barrier.getPhase(), phase);
    EXPECT_EQ(barrier.getPendingArrivals(), 3u);
    EXPECT_EQ(barrier.arrive(), nullptr);
    EXPECT_EQ(barrier.getPhase(), phase);
    EXPECT_EQ(barrier.arrive(2), nullptr);
  }
}

// Of a fresh object the phase "before the first" is complete, so that who waits
// for a slot that was never filled goes on.
TEST(Mbarrier, ParityIsThatOfTheLastCompletePhase) {
  Mbarrier barrier(1);
  EXPECT_FALSE(barrier.isComplete(0));
  EXPECT_TRUE(barrier.isComplete(1));
  EXPECT_EQ(barrier.arrive(), nullptr);
  EXPECT_TRUE(barrier.isComplete(0));
  EXPECT_FALSE(barrier.isComplete(1));
  EXPECT_EQ(barrier.arrive(), nullptr);
  EXPECT_FALSE(barrier.isComplete(0));
  EXPECT_TRUE(barrier.isComplete(1));
}

TEST(Mbarrier, APhaseWaitsForItsBytes) {
  Mbarrier barrier(1);
  EXPECT_EQ(barrier.expect(128), nullptr);
  EXPECT_EQ(barrier.arrive(), nullptr);
  EXPECT_EQ(barrier.land(100), nullptr);
  EXPECT_EQ(barrier.getPhase(), 0u);
  EXPECT_EQ(barrier.getPendingBytes(), 28);
  EXPECT_EQ(barrier.land(28), nullptr);
  EXPECT_EQ(barrier.getPhase(), 1u);
}

// Bytes may land before they are expected, as long as an arrival is pending.
TEST(Mbarrier, BytesMayComeFirst) {
  Mbarrier barrier(1);
  EXPECT_EQ(barrier.land(64), nullptr);
  EXPECT_EQ(barrier.getPendingBytes(), -64);
  EXPECT_EQ(barrier.expect(64), nullptr);
  EXPECT_EQ(barrier.getPhase(), 0u);
  EXPECT_EQ(barrier.arrive(), nullptr);
  EXPECT_EQ(barrier.getPhase(), 1u);
}

TEST(Mbarrier, RefusesWhatAPhaseCannotCount) {
  EXPECT_NE(Mbarrier::checkArrivals(0), nullptr);
  EXPECT_EQ(Mbarrier::checkArrivals(1), nullptr);
  EXPECT_EQ(Mbarrier::checkArrivals((1 << 20) - 1), nullptr);
  EXPECT_NE(Mbarrier::checkArrivals(1 << 20), nullptr);

  Mbarrier barrier(2);
  EXPECT_NE(barrier.arrive(0), nullptr);
  EXPECT_STREQ(barrier.arrive(3),
               "more arrivals at an mbarrier than its phase has pending");
  EXPECT_EQ(barrier.getPendingArrivals(), 2u);
  EXPECT_EQ(barrier.expect((1 << 20) - 1), nullptr);
  EXPECT_STREQ(barrier.expect(1),
               "an mbarrier expects at most 1048575 bytes at a time");
  // All are there, and the bytes are not.
  EXPECT_EQ(barrier.arrive(2), nullptr);
  EXPECT_NE(barrier.arrive(), nullptr);

  Mbarrier other(1);
  EXPECT_EQ(other.land((1 << 20) - 1), nullptr);
  EXPECT_NE(other.land(1), nullptr);
}

} // namespace
