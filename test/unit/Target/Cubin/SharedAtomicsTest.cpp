//===- SharedAtomicsTest.cpp - Find iterations counted for all threads ----===//

#include "tl/Target/Cubin/SharedAtomics.h"

#include "MakeCubin.h"
#include "gtest/gtest.h"

using namespace tl;

// ATOMS.CAST.SPIN R5, [R0], R4, R5, of sm_75 to sm_90 and from sm_100 on.
static constexpr Instruction kTries{0x000000040005738d, 0x000e240001800005},
    kTriesLater{0x000000040000758d, 0x000e240001800005};
// @!P0 BRA, back to where the sum is made.
static constexpr Instruction kAgain{0xfffffffc00e88947, 0x000fea000383ffff};
static constexpr Instruction kMeets{0x0000000000007941, 0x000fea0003800000};

TEST(SharedAtomicsTest, IterationsAreCountedForAllThreads) {
  for (Instruction counts : {
           // UIADD3 UR7, UR7, -0x1, URZ
           Instruction{0xffffffff07077890, 0x000fcc000fffe03f},
           // UIADD3 UR7, UPT, UPT, UR7, -0x1, URZ
           {0xffffffff07077890, 0x000fc8000fffe0ff},
           // UIADD3 UR7, UR4, UR7, URZ
           {0x0000000704077290, 0x000fcc000fffe03f},
       })
    for (Instruction tries : {kTries, kTriesLater})
      EXPECT_TRUE(
          countsTriesOfAtomics(makeCubin({tries, kAgain, counts, kMeets})));
}

TEST(SharedAtomicsTest, ThreadsMeetFirst) {
  Instruction counts{0xffffffff07077890, 0x000fcc000fffe03f};
  EXPECT_FALSE(
      countsTriesOfAtomics(makeCubin({kTries, kAgain, kMeets, counts})));
  EXPECT_FALSE(countsTriesOfAtomics(makeCubin({counts, kTries, kAgain})));
  // WARPSYNC.ALL
  EXPECT_FALSE(countsTriesOfAtomics(makeCubin(
      {kTries, kAgain, {0x0000000000007948, 0x000fea0003800000}, counts})));
}

TEST(SharedAtomicsTest, NothingIsCounted) {
  // UIADD3 UR6, UR4, 0x400, URZ
  Instruction other{0x0000040004067890, 0x000fcc000fffe03f};
  EXPECT_FALSE(countsTriesOfAtomics(makeCubin({kTries, kAgain, other})));
  // ATOMS.CAS R5, [R0], R4, R5, which a loop of the program may follow
  Instruction swaps{0x000000040005738d, 0x000e240000000005};
  Instruction counts{0xffffffff07077890, 0x000fcc000fffe03f};
  EXPECT_FALSE(countsTriesOfAtomics(makeCubin({swaps, kAgain, counts})));
}

TEST(SharedAtomicsTest, WhatIsNoCubin) {
  EXPECT_FALSE(countsTriesOfAtomics(""));
  EXPECT_FALSE(countsTriesOfAtomics("no ELF file"));
}
