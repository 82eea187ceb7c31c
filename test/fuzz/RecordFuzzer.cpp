//===- RecordFuzzer.cpp - Servers that answer anything --------------------===//
//
// The input is what a server answers when it is asked for a record; or, after a
// zero byte, a manifest without its seal, another zero byte, and what it
// answers when it is asked for files, which are then announced by a record as
// an uploader writes it. Without, no mutation would get past the digests.
//
//===----------------------------------------------------------------------===//

#include "FuzzSupport.h"

#include "tl/Cache/SharedRecord.h"
#include "tl/Cache/SharedStore.h"

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::fuzz;

namespace {

/// Answers with a record, then with one piece after another of some bytes.
class Server final : public BlobTransport {
public:
  Server(StringRef record, StringRef files) : record(record), rest(files) {}

  Expected<std::optional<std::string>> get(const BlobName &name,
                                           uint64_t maxBytes) override {
    if (name.kind == BlobName::Kind::Record)
      return record.str();
    // An empty rest is a file that is not there.
    if (rest.empty())
      return std::nullopt;
    StringRef file = rest.take_front(maxBytes);
    rest = rest.drop_front(file.size());
    return file.str();
  }
  Expected<bool> has(const BlobName &) override { return false; }
  Error put(const BlobName &, StringRef) override { return Error::success(); }

private:
  StringRef record;
  StringRef rest;
};

} // namespace

/// Asks a server for the entry that its record is of.
static void load(const SharedRecord &record, StringRef text, StringRef files) {
  Expected<Manifest> manifest = Manifest::parse(record.manifest);
  if (!manifest)
    return consumeError(manifest.takeError());
  Warnings warnings([](StringRef) {});
  SharedStore store([&] { return std::make_unique<Server>(text, files); },
                    SharedOptions{.place = "server"}, warnings);
  Expected<EntryPtr> entry = store.lookup(manifest->key);
  if (!entry)
    return require(!toString(entry.takeError()).empty());
  if (!*entry)
    return;
  require((*entry)->files().size() == manifest->files.size());
  for (auto [file, described] : zip((*entry)->files(), manifest->files))
    require(file.name == described.name &&
            file.bytes.size() == described.size &&
            Digest::of(file.bytes) == described.digest);
}

static void read(StringRef text, StringRef files) {
  Expected<SharedRecord> record = SharedRecord::parse(text);
  if (!record)
    return require(!toString(record.takeError()).empty());
  // A signature is of all that was received.
  require(record->print() == text);
  require(!SharedRecord::parse(record->signedText())->signature);
  load(*record, text, files);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StringRef input(reinterpret_cast<const char *>(data), size);
  if (!input.consume_front(StringRef("\0", 1))) {
    read(input, "");
    return 0;
  }
  auto [body, files] = input.split('\0');
  SharedRecord record;
  record.manifest = seal(body);
  if (Expected<Manifest> manifest = Manifest::parse(record.manifest))
    record.blobs.assign(manifest->files.size(), blobName("any"));
  else
    consumeError(manifest.takeError());
  read(record.print(), files);
  return 0;
}
