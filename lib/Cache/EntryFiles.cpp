//===- EntryFiles.cpp - An entry as a directory of files ------------------===//
//
// The time of last use is the modification time of the entry's directory:
// nothing else changes it once the entry is in place, it costs no extra file,
// and unlike the access time it is kept on every mount.
//
//===----------------------------------------------------------------------===//

#include "EntryFiles.h"

#include "Ownership.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;
using namespace std::chrono_literals;

char DamagedError::ID = 0;

sys::TimePoint<> tl::cache::lastUseOf(const struct stat &status) {
  return sys::toTimePoint(status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

/// True if the error tells of an entry that will not get better: a part is
/// missing, is not a plain file, or cannot be read from the disk.
static bool isDamage(std::error_code error) {
  return error == errc::no_such_file_or_directory ||
         error == errc::not_a_directory || error == errc::invalid_argument ||
         error == std::errc::too_many_symbolic_link_levels ||
         error == errc::no_such_device_or_address || error == errc::io_error;
}

Error EntryReader::damaged(const Twine &reason) const {
  return make_error<DamagedError>(path, reason.str());
}

Error EntryReader::failure(std::error_code error, const Twine &what) const {
  std::string reason = (what + ": " + error.message()).str();
  if (isDamage(error))
    return make_error<DamagedError>(path, std::move(reason));
  return make_error<StoreError>(path, std::move(reason));
}

Expected<std::optional<EntryReader>> EntryReader::open(Descriptor parent,
                                                       const Digest &name,
                                                       const std::string &path,
                                                       bool trustGroup) {
  ErrorOr<Descriptor> directory = openDirectory(parent, name.hex());
  if (directory.getError() == errc::no_such_file_or_directory)
    return std::nullopt;
  EntryReader reader(std::move(parent), name, path, trustGroup);
  if (!directory)
    return reader.failure(directory.getError(), "cannot be opened");
  reader.directory = std::move(*directory);
  if (::fstat(reader.directory.get(), &reader.status) != 0)
    return reader.failure(errnoAsErrorCode(), "cannot be opened");
  std::string reason = distrust(reader.status, trustGroup);
  if (!reason.empty())
    return reader.damaged(reason);
  return reader;
}

/// Reads a file of the entry, whose size is known or only bounded.
Expected<std::string> EntryReader::readMember(const std::string &file,
                                              std::optional<uint64_t> size) {
  struct stat fileStatus;
  ErrorOr<Descriptor> descriptor = openRegularFile(directory, file, fileStatus);
  if (!descriptor)
    return failure(descriptor.getError(), "cannot read `" + file + "`");
  std::string reason = distrust(fileStatus, trustGroup);
  if (!reason.empty())
    return damaged("`" + file + "` " + reason);
  uint64_t actual = fileStatus.st_size;
  if (size && actual != *size)
    return damaged("`" + file + "` has " + Twine(actual) +
                   " bytes instead of " + Twine(*size));
  if (!size && actual > Manifest::maxBytes)
    return damaged("`" + file + "` is too long");
  ErrorOr<std::string> bytes = readFile(*descriptor, actual);
  if (!bytes)
    return failure(bytes.getError(), "cannot read `" + file + "`");
  numBytesRead += actual;
  return std::move(*bytes);
}

Expected<Manifest> EntryReader::readManifest() {
  Expected<std::string> text = readMember(Manifest::fileName.str(), {});
  if (!text)
    return text.takeError();
  Expected<Manifest> manifest = Manifest::parse(*text);
  if (!manifest)
    return damaged(toString(manifest.takeError()));
  if (manifest->key.digest() != name)
    return damaged("holds the entry of another key, `" + manifest->key.hex() +
                   "`");
  return manifest;
}

/// Checks that the directory holds no file that the manifest does not name.
/// They would not be loaded by us, but a loader that is given the path could
/// find them, and nobody vouches for them.
Error EntryReader::checkNames(const Manifest &manifest) const {
  ErrorOr<std::vector<std::string>> names =
      listNames(directory, manifest.files.size() + 2);
  if (!names)
    return failure(names.getError(), "cannot be listed");
  for (const std::string &file : *names) {
    auto isFile = [&](const FileRecord &record) { return record.name == file; };
    if (file != Manifest::fileName && none_of(manifest.files, isFile))
      return damaged("holds `" + file + "`, which its manifest does not name");
  }
  return Error::success();
}

Expected<EntryPtr> EntryReader::read(const Worth &worth) {
  Expected<Manifest> manifest = readManifest();
  if (!manifest)
    return manifest.takeError();
  if (Error error = checkNames(*manifest))
    return error;

  auto entry = std::make_shared<Entry>();
  for (const FileRecord &record : manifest->files) {
    Expected<std::string> bytes = readMember(record.name, record.size);
    if (!bytes)
      return bytes.takeError();
    if (Digest::of(*bytes) != record.digest)
      return damaged("`" + record.name + "` does not match its digest");
    entry->addFile(record.name, std::move(*bytes));
  }
  entry->setMetadata(manifest->metadata);
  entry->trust = manifest->isUnsigned ? worth.ofStrangers : worth.own;
  entry->directory = path;
  return entry;
}

bool EntryReader::isCurrent() const {
  struct stat named;
  return ::fstatat(parent.get(), name.hex().c_str(), &named,
                   AT_SYMLINK_NOFOLLOW) == 0 &&
         isSameFile(status, named);
}

void EntryReader::touch() const {
  // A time in the future, left by another clock, is corrected too.
  auto age = std::chrono::system_clock::now() - lastUse();
  if (age > -1min && age < 1min)
    return;
  // Who may not write the directory does not get to say what is used.
  struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  (void)::futimens(directory.get(), times);
}

sys::TimePoint<> EntryReader::lastUse() const { return lastUseOf(status); }

ErrorOr<uint64_t> tl::cache::writeEntry(const Descriptor &directory,
                                        const Entry &entry,
                                        const Manifest &manifest, mode_t mode) {
  for (const File &file : entry.files())
    if (std::error_code error =
            writeNewFile(directory, file.name, file.bytes, mode))
      return error;
  std::string text = manifest.print();
  if (std::error_code error =
          writeNewFile(directory, Manifest::fileName.str(), text, mode))
    return error;
  if (std::error_code error = syncDirectory(directory))
    return error;
  return entry.size() + text.size();
}
