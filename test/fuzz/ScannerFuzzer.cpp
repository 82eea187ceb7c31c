//===- ScannerFuzzer.cpp - CUDA C++ of any kind ---------------------------===//
//
// The input is a text; after a zero byte, the text of each header that it
// includes; after another, a name to look for. Nothing of it needs to be C++:
// the scanner must end, soon and without touching what is not its own, and what
// it finds must be findable by its name.
//
//===----------------------------------------------------------------------===//

#include "FuzzSupport.h"

#include "tl/CUDAScanner/Scanner.h"

using namespace llvm;
using namespace tl::cuda;
using tl::cache::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  auto [text, rest] = input.split('\0');
  auto [headerText, name] = rest.split('\0');
  StringRef header = headerText;
  ScanOptions options;
  // Headers may include themselves; reading 64 MB of that says nothing new.
  unsigned reads = 100;
  options.include = [&](const Include &include,
                        StringRef) -> std::optional<Header> {
    if (reads == 0)
      return std::nullopt;
    --reads;
    return Header{include.name, header};
  };
  Scan found = scan(text, options);
  listIncludes(text);
  for (const Entry &entry : found.entries) {
    require(!entry.getSignature().empty());
    if (Expected<SmallVector<Candidate>> named = findEntry(found, entry.name))
      require(!named->empty());
    else
      require(!toString(named.takeError()).empty());
  }
  for (std::optional<StringRef> wanted : {std::optional(name), {}})
    if (Expected<SmallVector<Candidate>> named = findEntry(found, wanted);
        !named)
      require(!toString(named.takeError()).empty());
  return 0;
}
