//===- SharedRecord.cpp - What a server keeps under a key -----------------===//
//
// Lines and not JSON: what is in front of the manifest has to be read before
// anything vouches for it, and lines need no parser that could be led astray.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/SharedRecord.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace tl::cache;

static constexpr StringLiteral firstLine = "tl-cache-record 1\n";
static constexpr StringLiteral signaturePrefix = "signature ";
static constexpr StringLiteral blobPrefix = "blob ";

std::string tl::cache::blobName(StringRef bytes) {
  return toHex(SHA256::hash(arrayRefFromStringRef(bytes)), /*LowerCase=*/true);
}

SharedRecord SharedRecord::describe(const Key &key, const Entry &entry,
                                    StringRef creator) {
  SharedRecord record;
  record.manifest = Manifest::describe(key, entry, creator).print();
  for (const File &file : entry.files())
    record.blobs.push_back(blobName(file.bytes));
  return record;
}

/// Takes a line `<prefix><64 hexadecimal digits>` from the front of `text`;
/// none if there is another.
static std::optional<std::string> takeHex(StringRef &text, StringRef prefix) {
  StringRef line = text.take_until([](char c) { return c == '\n'; });
  StringRef hex = line;
  if (line.size() == text.size() || !hex.consume_front(prefix) ||
      !Digest::fromHex(hex))
    return std::nullopt;
  text = text.drop_front(line.size() + 1);
  return hex.str();
}

Expected<SharedRecord> SharedRecord::parse(StringRef text) {
  if (!text.consume_front(firstLine))
    return createStringError("is not a record of this format");
  SharedRecord record;
  record.signature = takeHex(text, signaturePrefix);
  while (std::optional<std::string> blob = takeHex(text, blobPrefix))
    record.blobs.push_back(std::move(*blob));
  if (!text.consume_front("\n"))
    return createStringError("has a line that is neither signature nor blob");
  record.manifest = text.str();
  return record;
}

std::string SharedRecord::print() const {
  std::string text = firstLine.str();
  if (signature)
    text += (signaturePrefix + *signature + "\n").str();
  for (const std::string &blob : blobs)
    text += (blobPrefix + blob + "\n").str();
  return text + "\n" + manifest;
}

std::string SharedRecord::signedText() const {
  SharedRecord unsignedRecord = *this;
  unsignedRecord.signature.reset();
  return unsignedRecord.print();
}
