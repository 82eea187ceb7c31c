//===- ClearedSumsTest.cpp - Find sums that an instruction clears ---------===//

#include "tl/Target/Cubin/ClearedSums.h"

#include "MakeCubin.h"
#include "gtest/gtest.h"

using namespace tl;

TEST(ClearedSumsTest, SumsOf16RowsAreCleared) {
  for (Instruction product : {
           // DMMA.16x8x4 R8, R4, R18, R8, UP0
           Instruction{0x000000120408723f, 0x0040ae0003801008},
           // DMMA.16x8x4 R8, R4, R18, R8, !UP0
           {0x000000120408723f, 0x0040ae0007801008},
           // DMMA.16x8x8 R16, R8, R4, R16, UP0
           {0x000000040810723f, 0x00406e0003802010},
           // DMMA.16x8x16 R8, R16, R32, R8, UP0
           {0x000000201008723f, 0x00406e0003803008},
       })
    EXPECT_TRUE(clearsSumsByCondition(makeCubin({{0x7918, 0}, product})));
}

TEST(ClearedSumsTest, OtherProducts) {
  for (Instruction product : {
           // DMMA.16x8x4 R8, R4, R16, R8
           Instruction{0x000000100408723f, 0x0040b60000001008},
           // DMMA.8x8x4 R4, R8, R10, R4, UP0
           {0x0000000a0804723f, 0x0040b40003800004},
           // DMMA.8x8x4 R4, R8, R10, R4
           {0x0000000a0804723f, 0x0040b60000000004},
       })
    EXPECT_FALSE(clearsSumsByCondition(makeCubin({{0x7918, 0}, product})));
}

TEST(ClearedSumsTest, WhatIsNoCubin) {
  EXPECT_FALSE(clearsSumsByCondition(""));
  EXPECT_FALSE(clearsSumsByCondition("no ELF file"));
}
