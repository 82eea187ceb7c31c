//===- StoredArchive.cpp - Files in a ZIP archive, as they are ------------===//
//
// APPNOTE.TXT of PKWARE, version 6.3.9: an end record (4.3.16) leads to the
// central directory (4.3.12), each entry of which leads to a local header
// (4.3.7), behind which the file's bytes are.
//
//===----------------------------------------------------------------------===//

#include "tl/Support/StoredArchive.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace tl;

static constexpr size_t endSize = 22, centralSize = 46, localSize = 30;
static constexpr size_t maxFiles = 1024;

static uint16_t read16(StringRef bytes, size_t at) {
  return support::endian::read16le(bytes.data() + at);
}
static uint32_t read32(StringRef bytes, size_t at) {
  return support::endian::read32le(bytes.data() + at);
}

/// The part of `bytes` from `at` on, `size` long; none if it is not there.
static std::optional<StringRef> slice(StringRef bytes, uint64_t at,
                                      uint64_t size) {
  if (at > bytes.size() || size > bytes.size() - at)
    return std::nullopt;
  return bytes.substr(at, size);
}

static bool isName(StringRef name) {
  constexpr size_t maxLength = 4096;
  return !name.empty() && name.size() <= maxLength && all_of(name, [](char c) {
    return isAlnum(c) || c == '_' || c == '$' || c == '.';
  }) && name.front() != '.';
}

/// The bytes of the file that an entry of the central directory is about.
static Expected<StringRef> readContents(StringRef bytes, StringRef entry,
                                        StringRef name) {
  auto fail = [&](const Twine &what) {
    return createStringError("`" + name + "` " + what);
  };
  uint32_t size = read32(entry, 24);
  // Flags are of encryption, and of sizes that stand elsewhere.
  if (read16(entry, 8) != 0 || read16(entry, 10) != 0 ||
      read32(entry, 20) != size)
    return fail("is compressed or encrypted");
  uint32_t offset = read32(entry, 42);
  std::optional<StringRef> local = slice(bytes, offset, localSize);
  if (!local || !local->starts_with("PK\3\4") ||
      read16(*local, 26) != name.size() || read32(*local, 22) != size)
    return fail("is not where the directory says");
  uint64_t begin =
      uint64_t(offset) + localSize + name.size() + read16(*local, 28);
  std::optional<StringRef> contents = slice(bytes, begin, size);
  if (!contents)
    return fail("is cut short");
  if (crc32(arrayRefFromStringRef(*contents)) != read32(entry, 16))
    return fail("does not match its checksum");
  return *contents;
}

Expected<std::vector<StoredFile>> tl::readStoredArchive(StringRef bytes) {
  // Without a comment, which could hide another end.
  if (bytes.size() < endSize || !bytes.take_back(endSize).starts_with("PK\5\6"))
    return createStringError("is not an archive");
  StringRef end = bytes.take_back(endSize);
  size_t count = read16(end, 10);
  std::optional<StringRef> directory =
      slice(bytes, read32(end, 16), read32(end, 12));
  if (!directory || count > maxFiles)
    return createStringError("has no directory, or too many files");

  std::vector<StoredFile> files;
  StringSet<> names;
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    std::optional<StringRef> entry = slice(*directory, 0, centralSize);
    if (!entry || !entry->starts_with("PK\1\2"))
      return createStringError("has a directory that is cut short");
    size_t nameSize = read16(*entry, 28);
    std::optional<StringRef> name = slice(*directory, centralSize, nameSize);
    size_t rest = nameSize + read16(*entry, 30) + read16(*entry, 32);
    if (!name || !isName(*name) || !names.insert(*name).second ||
        !slice(*directory, centralSize, rest))
      return createStringError("has a file without a name of its own");
    Expected<StringRef> contents = readContents(bytes, *entry, *name);
    if (!contents)
      return contents.takeError();
    // Two names for one place are more bytes than there are.
    total += contents->size();
    if (total > bytes.size())
      return createStringError("has files that overlap");
    files.emplace_back(*name, *contents);
    directory = directory->drop_front(centralSize + rest);
  }
  return files;
}
