//===- StackPointerTest.cpp - Find kernels that lose their stack pointer --===//

#include "tl/Target/Cubin/StackPointer.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/BinaryFormat/ELF.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace tl;

// The low halves of instructions, as `nvdisasm -hex` prints them.
static constexpr uint64_t kLoad = 0x00000a00ff017b82, // LDC R1, c[0x0][0x28]
    kMove = 0x00000a00ff017624,     // IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]
    kFrame = 0xffffffd801017836,    // VIADD R1, R1, 0xffffffd8
    kAddress = 0x000000ffff0a7224,  // IMAD.MOV.U32 R10, RZ, RZ, R1
    kStore = 0x0000180801007387,    // STL.64 [R1+0x18], R8
    kCompare = 0x000000110100780c,  // ISETP.LT.U32.AND P1, PT, R1, 0x11, !P6
    kMultiply = 0x0000003528017223, // FFMA R1, R40, R53, R1
    kBlock = 0x0000000000017919,    // S2R R1, SR_CTAID.Y
    kUniform = 0x0000000100017882;  // UMOV UR1, 0x1

/// An ELF file with one section of code, of instructions whose high halves say
/// nothing.
static std::string makeCubin(ArrayRef<uint64_t> instructions) {
  using namespace llvm::ELF;
  size_t codeSize = instructions.size() * 16;
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ElfMagic, 4);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shoff = sizeof(header) + codeSize;
  Elf64_Shdr sections[2] = {};
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  sections[1].sh_offset = sizeof(header);
  sections[1].sh_size = codeSize;

  std::string file(reinterpret_cast<char *>(&header), sizeof(header));
  for (uint64_t instruction : instructions) {
    file.append(reinterpret_cast<char *>(&instruction), 8);
    file.append(8, '\0');
  }
  return file.append(reinterpret_cast<char *>(sections), sizeof(sections));
}

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
