//===- MachineCode.cpp - The instructions of a cubin ----------------------===//
//
// A cubin is an ELF file with a section of code for each function.
//
//===----------------------------------------------------------------------===//

#include "MachineCode.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/ELF.h"

using namespace llvm;

bool tl::anyFunction(StringRef cubin,
                     function_ref<bool(ArrayRef<uint8_t>)> test) {
  Expected<object::ELF64LEFile> file = object::ELF64LEFile::create(cubin);
  if (!file) {
    consumeError(file.takeError());
    return false;
  }
  Expected<object::ELF64LEFile::Elf_Shdr_Range> sections = file->sections();
  if (!sections) {
    consumeError(sections.takeError());
    return false;
  }
  return any_of(*sections, [&](const object::ELF64LEFile::Elf_Shdr &section) {
    if (!(section.sh_flags & ELF::SHF_EXECINSTR))
      return false;
    Expected<ArrayRef<uint8_t>> code = file->getSectionContents(section);
    if (code)
      return test(*code);
    consumeError(code.takeError());
    return false;
  });
}
