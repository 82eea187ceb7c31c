//===- BuildId.cpp - Which bytes of the compiler run ----------------------===//
//
// The linker's hash of everything it put into the library (`--build-id=sha1`).
// Cache keys hold it, so that a rebuilt compiler never serves an old artifact.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/Pipelines.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <link.h>

using namespace llvm;

/// The GNU build id among the notes of one segment, in hexadecimal; empty if
/// there is none. A note is a header, a name and a description, the latter two
/// padded to four bytes (gABI, "Note Section").
static std::string findBuildIdNote(StringRef notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    auto *header = reinterpret_cast<const ElfW(Nhdr) *>(notes.data());
    size_t nameSize = alignTo<4>(header->n_namesz);
    size_t size = alignTo<4>(header->n_descsz);
    notes = notes.drop_front(sizeof(*header));
    if (header->n_type == NT_GNU_BUILD_ID &&
        notes.take_front(header->n_namesz) == StringRef("GNU\0", 4))
      return toHex(notes.substr(nameSize, header->n_descsz),
                   /*LowerCase=*/true);
    notes = notes.drop_front(std::min(notes.size(), nameSize + size));
  }
  return {};
}

/// True if one of the object's loaded segments covers `address`.
static bool holdsAddress(const dl_phdr_info *object, uintptr_t address) {
  for (const ElfW(Phdr) &segment :
       ArrayRef(object->dlpi_phdr, object->dlpi_phnum)) {
    uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin &&
        address < begin + segment.p_memsz)
      return true;
  }
  return false;
}

/// Called for each loaded object: stores the build id of the one that holds
/// this function in the string at `result`, and then ends the search.
static int readOwnBuildId(dl_phdr_info *object, size_t, void *result) {
  if (!holdsAddress(object, reinterpret_cast<uintptr_t>(&readOwnBuildId)))
    return 0;
  std::string &buildId = *static_cast<std::string *>(result);
  for (const ElfW(Phdr) &segment :
       ArrayRef(object->dlpi_phdr, object->dlpi_phnum))
    if (segment.p_type == PT_NOTE && buildId.empty())
      buildId = findBuildIdNote(
          {reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr),
           segment.p_memsz});
  return 1;
}

StringRef tl::getBuildId() {
  static const std::string buildId = [] {
    std::string result;
    dl_iterate_phdr(readOwnBuildId, &result);
    if (result.empty())
      reportFatalInternalError("this library was linked without a build id; "
                               "link it with `--build-id=sha1`");
    return result;
  }();
  return buildId;
}
