//===- Bundle.cpp - Entries in one file -----------------------------------===//
//
// A manifest vouches for its files, so that each entry is stored as soon as it
// was read. The last line vouches for the bundle: one that was cut between two
// entries, or whose entries were taken from several bundles, is told from one
// that is complete.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Bundle.h"

#include "Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;

static constexpr StringLiteral firstLine = "tl-cache bundle 1";
static constexpr StringLiteral entryPrefix = "entry ";
static constexpr StringLiteral endPrefix = "end ";

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

BundleWriter::BundleWriter(raw_ostream &os) : os(os) {
  write((firstLine + "\n").str());
}

void BundleWriter::write(StringRef bytes) {
  hash.update(bytes);
  os << bytes;
}

/// What a signature of an entry of a bundle is made of, so that it is one of
/// nothing else.
static std::string getSignedText(StringRef manifest) {
  return ("tl-cache bundle entry\n" + manifest).str();
}

void BundleWriter::add(const Manifest &manifest, const Entry &entry,
                       const SigningKey *key) {
  std::string text = manifest.print();
  std::string line = (entryPrefix + utostr(text.size())).str();
  if (key)
    line += " " + key->sign(getSignedText(text));
  write(line + "\n");
  write(text);
  // Both are sorted by name.
  for (const File &file : entry.files())
    write(file.bytes);
  ++numEntries;
}

void BundleWriter::finish() {
  std::string digest = Digest(hash.final()).hex();
  os << endPrefix << numEntries << ' ' << digest << '\n';
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Expected<std::string> BundleReader::readBytes(uint64_t size) {
  constexpr uint64_t chunk = 1 << 20;
  std::string bytes;
  while (bytes.size() < size) {
    size_t before = bytes.size();
    bytes.resize(std::min(size, before + chunk));
    ErrorOr<size_t> count =
        source(MutableArrayRef(bytes.data() + before, bytes.size() - before));
    if (!count)
      return createStringError("cannot be read: " + count.getError().message());
    if (*count == 0)
      return createStringError("is cut short");
    bytes.resize(before + *count);
  }
  hash.update(bytes);
  return bytes;
}

/// Reads up to the end of the line, which is dropped.
Expected<std::string> BundleReader::readLine() {
  // The longest is the last one.
  constexpr size_t maxLength = 128;
  std::string line;
  while (line.size() < maxLength) {
    Expected<std::string> character = readBytes(1);
    if (!character)
      return character.takeError();
    if (*character == "\n")
      return line;
    line += *character;
  }
  return createStringError("has a line that is too long");
}

Error BundleReader::readFirstLine() {
  Expected<std::string> line = readLine();
  if (!line)
    return line.takeError();
  if (*line != firstLine)
    return createStringError("is not a bundle of this version of the cache");
  hasStarted = true;
  return Error::success();
}

/// Checks what follows the prefix of the last line, and that it is the last.
Error BundleReader::readLastLine(StringRef rest, const Digest &expected) {
  if (rest != utostr(numEntries) + " " + expected.hex())
    return createStringError("does not match its last line");
  char next;
  ErrorOr<size_t> count = source(MutableArrayRef(&next, 1));
  if (!count)
    return createStringError("cannot be read: " + count.getError().message());
  if (*count != 0)
    return createStringError("goes on after its last line");
  return Error::success();
}

Expected<BundledEntry> BundleReader::readEntry(StringRef rest) {
  auto [sizeText, signature] = rest.split(' ');
  uint64_t size;
  if (sizeText.getAsInteger(10, size) || size > Manifest::maxBytes)
    return createStringError("has an entry with a manifest of `" + sizeText +
                             "` bytes");
  Expected<std::string> text = readBytes(size);
  if (!text)
    return text.takeError();
  Expected<Manifest> manifest = Manifest::parse(*text);
  if (!manifest)
    return manifest.takeError();

  auto entry = std::make_shared<Entry>();
  uint64_t total = 0;
  for (const FileRecord &record : manifest->files) {
    if (record.size > maxEntryBytes - total)
      return createStringError("has an entry that is too large");
    total += record.size;
    Expected<std::string> bytes = readBytes(record.size);
    if (!bytes)
      return bytes.takeError();
    if (Digest::of(*bytes) != record.digest)
      return createStringError("has a file `" + record.name +
                               "` that does not match its digest");
    entry->addFile(record.name, std::move(*bytes));
  }
  entry->setMetadata(manifest->metadata);
  ++numEntries;
  entry->trust = Trust::None;
  return BundledEntry{std::move(*manifest), std::move(entry), signature.str(),
                      getSignedText(*text)};
}

Expected<std::optional<BundledEntry>> BundleReader::next() {
  if (!hasStarted)
    if (Error error = readFirstLine())
      return error;
  // The last line vouches for all before it.
  Digest before(BLAKE3(hash).final());
  Expected<std::string> line = readLine();
  if (!line)
    return line.takeError();
  StringRef rest = *line;
  if (rest.consume_front(endPrefix)) {
    if (Error error = readLastLine(rest, before))
      return error;
    return std::nullopt;
  }
  if (!rest.consume_front(entryPrefix))
    return createStringError("has a line that is neither `entry` nor `end`");
  Expected<BundledEntry> entry = readEntry(rest);
  if (!entry)
    return entry.takeError();
  return std::move(*entry);
}

//===----------------------------------------------------------------------===//
// Directories
//===----------------------------------------------------------------------===//

/// Writes the entries of these names as a bundle.
static Expected<ExportResult> writeBundle(DirectoryStore &store,
                                          ArrayRef<Digest> names,
                                          raw_ostream &os,
                                          const SigningKey *key) {
  ExportResult result;
  bool isPrivate = key && store.isPrivate();
  BundleWriter writer(os);
  for (const Digest &name : names) {
    Expected<EntryInfo> info = store.info(name);
    if (!info)
      return info.takeError();
    Expected<EntryPtr> entry = store.read(name);
    if (!entry)
      return entry.takeError();
    bool isOwn = isPrivate && !info->manifest.isUnsigned;
    writer.add(info->manifest, **entry, isOwn ? key : nullptr);
    ++result.entries;
    result.bytes += info->size;
  }
  writer.finish();
  return result;
}

/// The error for a bundle that cannot be written or read.
static Error failure(StringRef path, const Twine &what, std::error_code error) {
  return createStringError("bundle `" + path + "` cannot be " + what + ": " +
                           error.message());
}

Expected<ExportResult> tl::cache::exportBundle(DirectoryStore &store,
                                               ArrayRef<Digest> names,
                                               StringRef path,
                                               const SigningKey *key) {
  int fd;
  SmallString<128> temporary;
  if (std::error_code error =
          sys::fs::createUniqueFile(path + "-%%%%%%%%", fd, temporary))
    return failure(path, "written", error);
  FileRemover remover(temporary);

  raw_fd_ostream os(fd, /*shouldClose=*/true);
  Expected<ExportResult> result = writeBundle(store, names, os, key);
  os.close();
  std::error_code error = os.error();
  os.clear_error();
  if (!result)
    return result;
  if (!error)
    error = sys::fs::rename(temporary, path);
  if (error)
    return failure(path, "written", error);
  remover.releaseFile();
  return result;
}

/// The bytes of a file, through a buffer: a bundle is read in small pieces.
static BundleReader::Source readFrom(Descriptor file) {
  struct Buffer {
    explicit Buffer(Descriptor file) : file(std::move(file)) {}
    Descriptor file;
    std::array<char, 1 << 16> bytes;
    StringRef rest;
  };
  return [buffer = std::make_shared<Buffer>(std::move(file))](
             MutableArrayRef<char> wanted) -> ErrorOr<size_t> {
    if (buffer->rest.empty()) {
      ssize_t count =
          sys::RetryAfterSignal(-1, ::read, buffer->file.get(),
                                buffer->bytes.data(), buffer->bytes.size());
      if (count < 0)
        return errnoAsErrorCode();
      buffer->rest = StringRef(buffer->bytes.data(), count);
    }
    StringRef taken = buffer->rest.take_front(wanted.size());
    llvm::copy(taken, wanted.begin());
    buffer->rest = buffer->rest.drop_front(taken.size());
    return taken.size();
  };
}

/// What an entry is worth to who imports it.
static Trust judge(const BundledEntry &bundled, const ImportPolicy &policy) {
  bool isSigned = policy.key && !bundled.signature.empty();
  if (isSigned && policy.key->verifies(bundled.signedText, bundled.signature))
    return Trust::Signed;
  // A wrong signature is worse than none.
  return policy.allowUnsigned && !isSigned ? Trust::Allowed : Trust::None;
}

/// Stores an entry unless there is a sound one of its name, or one of its use
/// is not to be had from strangers.
static Error import(DirectoryStore &store, const BundledEntry &bundled,
                    const ImportPolicy &policy, ImportResult &result) {
  const Key &key = bundled.manifest.key;
  Trust trust = judge(bundled, policy);
  bool needsSignature = policy.key && !policy.allowUnsigned;
  Error distrusted = checkTrust(trust, key.use());
  if (distrusted || (needsSignature && trust < Trust::Signed)) {
    consumeError(std::move(distrusted));
    ++result.refused;
    return Error::success();
  }
  Expected<EntryPtr> present = store.read(key.digest());
  // A stranger's does not keep out one of somebody who is known.
  if (present && (*present)->trust == Trust::None && trust >= Trust::Signed) {
    if (Error error = store.remove(key.digest()))
      return error;
  } else if (present) {
    ++result.present;
    return Error::success();
  } else {
    // It is missing, or damaged and set aside by now.
    consumeError(present.takeError());
  }
  auto entry = std::make_shared<Entry>(*bundled.entry);
  entry->trust = trust;
  Expected<EntryPtr> held = store.insert(key, std::move(entry));
  if (!held)
    return held.takeError();
  ++result.imported;
  result.bytes += bundled.entry->size();
  return Error::success();
}

Expected<ImportResult> tl::cache::importBundle(DirectoryStore &store,
                                               StringRef path,
                                               const ImportPolicy &policy) {
  int fd = sys::RetryAfterSignal(-1, ::open, path.str().c_str(),
                                 O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return failure(path, "read", errnoAsErrorCode());
  BundleReader reader(readFrom(Descriptor(fd)));
  ImportResult result;
  while (true) {
    Expected<std::optional<BundledEntry>> entry = reader.next();
    if (!entry)
      return createStringError(
          "bundle `" + path + "` " + toString(entry.takeError()) +
          "; what stands before was imported: " + utostr(result.imported) +
          " entries");
    if (!*entry)
      return result;
    if (Error error = import(store, **entry, policy, result))
      return error;
  }
}
