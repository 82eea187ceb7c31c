//===- ManifestFuzzer.cpp - Manifests that anyone may have written --------===//
//
// The input is the text of a manifest, with or without its seal. What is read
// is printed and read again, and must come out the same.
//
//===----------------------------------------------------------------------===//

#include "FuzzSupport.h"

#include "tl/Cache/Manifest.h"

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::fuzz;

static void read(StringRef text) {
  Expected<Manifest> manifest = Manifest::parse(text);
  if (!manifest) {
    require(!toString(manifest.takeError()).empty());
    return;
  }
  for (const FileRecord &file : manifest->files)
    require(isValidFileName(file.name));
  std::string printed = manifest->print();
  Manifest again = cantFail(Manifest::parse(printed));
  require(again.key.digest() == manifest->key.digest());
  require(again.print() == printed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  read(input);
  read(seal(input));
  return 0;
}
