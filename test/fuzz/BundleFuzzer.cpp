//===- BundleFuzzer.cpp - Bundles that anyone may have made ---------------===//
//
// The input is a bundle; or, after a zero byte, a manifest without its seal,
// another zero byte, and the bytes of the files, which are then framed as a
// bundle frames them. Without, no mutation would get past the digests.
//
//===----------------------------------------------------------------------===//

#include "FuzzSupport.h"

#include "tl/Cache/Bundle.h"

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::fuzz;

static void read(StringRef bytes) {
  // Some reads are short, as those of a pipe are.
  BundleReader reader(
      [rest = bytes](MutableArrayRef<char> buffer) mutable -> ErrorOr<size_t> {
        StringRef taken = rest.take_front(std::min<size_t>(buffer.size(), 999));
        llvm::copy(taken, buffer.begin());
        rest = rest.drop_front(taken.size());
        return taken.size();
      });
  while (true) {
    Expected<std::optional<BundledEntry>> entry = reader.next();
    if (!entry) {
      require(!toString(entry.takeError()).empty());
      return;
    }
    if (!*entry)
      return;
    const BundledEntry &bundled = **entry;
    ArrayRef<File> files = bundled.entry->files();
    require(files.size() == bundled.manifest.files.size());
    for (auto [file, record] : zip(files, bundled.manifest.files))
      require(file.name == record.name && file.bytes.size() == record.size &&
              Digest::of(file.bytes) == record.digest);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  if (!input.consume_front(StringRef("\0", 1))) {
    read(input);
    return 0;
  }
  auto [body, files] = input.split('\0');
  std::string manifest = seal(body);
  std::string text = "tl-cache bundle 1\nentry " +
                     std::to_string(manifest.size()) + "\n" + manifest +
                     files.str();
  read(text + "end 1 " + Digest::of(text).hex() + "\n");
  return 0;
}
