//===- EntryFiles.h - An entry as a directory of files ---------*- C++ -*-===//
//
// Reads and writes one entry. Nothing that is read is believed before it was
// checked against the manifest, and the manifest against its seal and the key.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_ENTRYFILES_H
#define TL_LIB_CACHE_ENTRYFILES_H

#include "Files.h"
#include "tl/Cache/DirectoryStore.h"

#include <optional>

namespace tl::cache {

/// An entry is not what was stored.
class DamagedError : public llvm::ErrorInfo<DamagedError, StoreError> {
public:
  static char ID;
  using ErrorInfo::ErrorInfo;
};

/// What the entries of a directory are worth: the user's own, and those that
/// came from where nobody signs.
struct Worth {
  Trust own;
  Trust ofStrangers;
};

/// The directory of an entry, open: what is read through it belongs together
/// even if the name comes to mean another directory meanwhile.
class EntryReader {
public:
  /// Opens the entry called `name` in `parent`, which is reported as `path`;
  /// none if there is nothing.
  static llvm::Expected<std::optional<EntryReader>>
  open(Descriptor parent, const Digest &name, const std::string &path,
       bool trustGroup);

  /// Reads and checks the manifest.
  llvm::Expected<Manifest> readManifest();

  /// Reads and checks everything.
  llvm::Expected<EntryPtr> read(const Worth &worth);

  /// True while the name leads to the directory that was opened. An entry that
  /// was removed while it was read is incomplete but not damaged.
  bool isCurrent() const;

  /// Notes that the entry is in use, at most once a minute.
  void touch() const;

  /// The bytes read so far.
  uint64_t bytesRead() const { return numBytesRead; }

  llvm::sys::TimePoint<> lastUse() const;

private:
  EntryReader(Descriptor parent, const Digest &name, std::string path,
              bool trustGroup)
      : parent(std::move(parent)), name(name), path(std::move(path)),
        trustGroup(trustGroup) {}

  llvm::Expected<std::string> readMember(const std::string &file,
                                         std::optional<uint64_t> size);
  llvm::Error checkNames(const Manifest &manifest) const;
  llvm::Error failure(std::error_code error, const llvm::Twine &what) const;
  llvm::Error damaged(const llvm::Twine &reason) const;

  Descriptor parent;
  Digest name;
  std::string path;
  bool trustGroup;
  Descriptor directory;
  struct stat status = {};
  uint64_t numBytesRead = 0;
};

/// Writes an entry into an empty directory and forces it to disk. Returns the
/// number of bytes written.
llvm::ErrorOr<uint64_t> writeEntry(const Descriptor &directory,
                                   const Entry &entry, const Manifest &manifest,
                                   mode_t mode);

/// The time of last use that the status of an entry's directory tells.
llvm::sys::TimePoint<> lastUseOf(const struct stat &status);

} // namespace tl::cache

#endif // TL_LIB_CACHE_ENTRYFILES_H
