//===- MakeCubin.h - Cubins of few instructions -----------------*- C++ -*-===//

#ifndef TL_TEST_UNIT_TARGET_CUBIN_MAKECUBIN_H
#define TL_TEST_UNIT_TARGET_CUBIN_MAKECUBIN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/BinaryFormat/ELF.h"
#include <cstring>
#include <string>

/// The two halves of an instruction, as `nvdisasm -hex` prints them.
struct Instruction {
  uint64_t low, high = 0;
};

/// An ELF file with one section of code.
inline std::string makeCubin(llvm::ArrayRef<Instruction> instructions) {
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
  for (const Instruction &instruction : instructions)
    file.append(reinterpret_cast<const char *>(&instruction),
                sizeof(instruction));
  return file.append(reinterpret_cast<char *>(sections), sizeof(sections));
}

#endif // TL_TEST_UNIT_TARGET_CUBIN_MAKECUBIN_H
