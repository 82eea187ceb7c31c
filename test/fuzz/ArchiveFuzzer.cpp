//===- ArchiveFuzzer.cpp - Packages of kernels that anyone may have made --===//
//
// The input is an archive as the backend `cutedsl` keeps one. What is read of
// it are parts of it that do not exceed it.
//
//===----------------------------------------------------------------------===//

#include "FuzzSupport.h"

#include "tl/Support/StoredArchive.h"

using namespace llvm;
using namespace tl;
using namespace tl::cache::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  Expected<std::vector<StoredFile>> files = readStoredArchive(input);
  if (!files) {
    require(!toString(files.takeError()).empty());
    return 0;
  }
  size_t total = 0;
  for (const auto &[name, bytes] : *files) {
    require(!name.empty() && !name.contains('/'));
    require(bytes.begin() >= input.begin() && bytes.end() <= input.end());
    total += bytes.size();
  }
  require(total <= input.size());
  return 0;
}
