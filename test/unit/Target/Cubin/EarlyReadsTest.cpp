//===- EarlyReadsTest.cpp - Find zeros that are read too early ------------===//

#include "tl/Target/Cubin/EarlyReads.h"

#include "MakeCubin.h"
#include "gtest/gtest.h"

using namespace tl;

// CS2R R10, SRZ, after which 2 cycles pass, or 4.
static constexpr Instruction kZeros{0x00000000000a7805, 0x000fe4000001ff00},
    kZerosAndWait{0x00000000000a7805, 0x000fe8000001ff00};
// @P3 IMAD.WIDE.U32 R10, R20, 0x352, RZ, and 3 cycles.
static constexpr Instruction kProduct{0x00000352140a3825, 0x000fc600078e00ff};
// @P4 IADD3 R10, P6, R10, R18, RZ, and 5 cycles.
static constexpr Instruction kSum{0x000000120a0a4210, 0x000fca0007fde0ff};
// @P4 IMAD.X R11, R11, 0x1, R6, P6
static constexpr Instruction kUpperSum{0x000000010b0b4824, 0x000fe200030e0606};
// ISETP.NE.AND P6, PT, R19, RZ, PT, and a cycle.
static constexpr Instruction kOther{0x000000ff1300720c, 0x000fe20003fc5270};

TEST(EarlyReadsTest, ZerosAreReadAfterFiveCycles) {
  EXPECT_TRUE(readsZerosEarly(makeCubin({kZeros, kProduct, kSum})));
  EXPECT_TRUE(readsZerosEarly(makeCubin({kZeros, kProduct, kOther, kSum})));
  EXPECT_TRUE(readsZerosEarly(makeCubin({kZeros, kProduct, kUpperSum})));
  // BSSY B0, and a cycle: what begins a branch is none
  Instruction begin{0x0000000000007945, 0x000fe20003800000};
  EXPECT_TRUE(readsZerosEarly(makeCubin({kZeros, begin, kProduct, kSum})));
}

TEST(EarlyReadsTest, ZerosAreThere) {
  EXPECT_FALSE(readsZerosEarly(makeCubin({kZerosAndWait, kProduct, kSum})));
  EXPECT_FALSE(readsZerosEarly(
      makeCubin({kZeros, kProduct, kOther, kOther, kOther, kSum})));
}

TEST(EarlyReadsTest, NothingStandsBetween) {
  EXPECT_FALSE(readsZerosEarly(makeCubin({kZeros, kSum})));
  EXPECT_FALSE(readsZerosEarly(makeCubin({kZeros, kOther, kSum})));
}

TEST(EarlyReadsTest, OthersAreReadOrWritten) {
  EXPECT_FALSE(readsZerosEarly(makeCubin({kZeros, kProduct, kOther})));
  // IMAD.WIDE.U32 R10, R20, 0x352, RZ, without a condition
  Instruction product{0x00000352140a7825, 0x000fc600078e00ff};
  EXPECT_FALSE(readsZerosEarly(makeCubin({kZeros, product, kSum})));
  // BRA
  Instruction branch{0xfffffffc00007947, 0x000fea000383ffff};
  EXPECT_FALSE(readsZerosEarly(makeCubin({kZeros, kProduct, branch, kSum})));
}

TEST(EarlyReadsTest, WhatIsNoCubin) {
  EXPECT_FALSE(readsZerosEarly(""));
  EXPECT_FALSE(readsZerosEarly("no ELF file"));
}
