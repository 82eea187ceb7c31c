//===- StackPointerTest.cpp - Find kernels that lose their stack pointer --===//

#include "tl/Target/Cubin/StackPointer.h"

#include "MakeCubin.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace tl;

// The high halves say nothing here.
static constexpr Instruction kLoad =
                                 {0x00000a00ff017b82}, // LDC R1, c[0x0][0x28]
    kMove = {0x00000a00ff017624},     // IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]
    kFrame = {0xffffffd801017836},    // VIADD R1, R1, 0xffffffd8
    kAddress = {0x000000ffff0a7224},  // IMAD.MOV.U32 R10, RZ, RZ, R1
    kStore = {0x0000180801007387},    // STL.64 [R1+0x18], R8
    kCompare = {0x000000110100780c},  // ISETP.LT.U32.AND P1, PT, R1, 0x11, !P6
    kMultiply = {0x0000003528017223}, // FFMA R1, R40, R53, R1
    kBlock = {0x0000000000017919},    // S2R R1, SR_CTAID.Y
    kUniform = {0x0000000100017882};  // UMOV UR1, 0x1

TEST(StackPointerTest, FramesAreMadeAndRead) {
  EXPECT_FALSE(losesStackPointer(makeCubin({kLoad, kFrame, kAddress, kStore})));
  EXPECT_FALSE(losesStackPointer(makeCubin({kMove, kFrame, kStore})));
}

TEST(StackPointerTest, OtherValuesAreWritten) {
  EXPECT_TRUE(losesStackPointer(makeCubin({kLoad, kFrame, kMultiply, kStore})));
  EXPECT_TRUE(losesStackPointer(makeCubin({kLoad, kFrame, kBlock})));
}

TEST(StackPointerTest, WhatIsNoWriteOfTheRegister) {
  EXPECT_FALSE(losesStackPointer(makeCubin({kLoad, kFrame, kCompare})));
  EXPECT_FALSE(losesStackPointer(makeCubin({kLoad, kFrame, kUniform})));
}

TEST(StackPointerTest, WithoutAFrameItIsARegister) {
  EXPECT_FALSE(losesStackPointer(makeCubin({kLoad, kMultiply, kBlock})));
}

TEST(StackPointerTest, WhatIsNoCubin) {
  EXPECT_FALSE(losesStackPointer(""));
  EXPECT_FALSE(losesStackPointer("not an ELF file"));
  EXPECT_FALSE(losesStackPointer(makeCubin({kLoad, kFrame}).substr(0, 70)));
}
