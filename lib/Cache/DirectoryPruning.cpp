//===- DirectoryPruning.cpp - What leaves a directory ---------------------===//
//
// An entry leaves by a rename into `tmp`: at once it is gone for who opens its
// path, and who has it open reads on. Ages are by the clock of the file system,
// which need not be this host's.
//
//===----------------------------------------------------------------------===//

#include "DirectoryLayout.h"
#include "EntryFiles.h"
#include "Files.h"
#include "LockFile.h"
#include "Usage.h"
#include "tl/Cache/DirectoryStore.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;

using TimePoint = std::chrono::steady_clock::time_point;

/// How long the rest of processes that died is removed at a time.
static constexpr std::chrono::seconds reapAtMost(1);

/// Who takes longer than this to keep a group's directory within its bounds
/// leaves that to others for a while.
static constexpr std::chrono::seconds boundingAtMost(1);

/// An entry as pruning sees it.
struct DirectoryStore::Measured {
  Digest name;
  uint64_t size;
  sys::TimePoint<> lastUse;
};

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// Measures one entry; none if there is no directory of its name.
std::optional<DirectoryStore::Measured>
DirectoryStore::measure(const Descriptor &version, const Digest &name) {
  ErrorOr<Descriptor> fanOut = openDirectory(version, fanOutOf(name));
  if (!fanOut)
    return std::nullopt;
  ErrorOr<Descriptor> directory = openDirectory(*fanOut, name.hex());
  struct stat status;
  if (!directory || ::fstat(directory->get(), &status) != 0)
    return std::nullopt;
  Measured entry = {name, 0, lastUseOf(status)};
  ErrorOr<std::vector<std::string>> files = listNames(*directory);
  if (!files)
    return entry;
  for (const std::string &file : *files)
    if (::fstatat(directory->get(), file.c_str(), &status,
                  AT_SYMLINK_NOFOLLOW) == 0)
      entry.size += status.st_size;
  return entry;
}

/// Measures all entries by what they occupy, whether or not they are sound.
Expected<std::vector<DirectoryStore::Measured>>
DirectoryStore::measure() const {
  Expected<std::vector<Digest>> all = names();
  if (!all)
    return all.takeError();
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  std::vector<Measured> result;
  // What is gone, or is no directory, occupies nothing.
  for (const Digest &name : *all)
    if (*version)
      if (std::optional<Measured> entry = measure(**version, name))
        result.push_back(*entry);
  return result;
}

Expected<uint64_t> DirectoryStore::totalSize() const {
  Expected<std::vector<Measured>> entries = measure();
  if (!entries)
    return entries.takeError();
  uint64_t total = 0;
  for (const Measured &entry : *entries)
    total += entry.size;
  return total;
}

//===----------------------------------------------------------------------===//
// Removing
//===----------------------------------------------------------------------===//

/// Renames an entry into a part of the store: at once it is gone for who opens
/// its path. False if it was not there.
Expected<bool> DirectoryStore::moveAway(const Digest &name,
                                        const Descriptor &part,
                                        const std::string &newName) const {
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  if (!*version)
    return false;
  Expected<std::optional<Descriptor>> fanOut = openFanOut(**version, name);
  if (!fanOut)
    return fanOut.takeError();
  if (!*fanOut)
    return false;
  std::error_code error;
  if (::renameat((*fanOut)->get(), name.hex().c_str(), part.get(),
                 newName.c_str()) != 0)
    error = errnoAsErrorCode();
  if (error && error != errc::no_such_file_or_directory)
    return failure(error, "cannot remove `" + name.hex() + "`");
  return !error;
}

/// Removes an entry.
Error DirectoryStore::discard(const Digest &name) const {
  Expected<Descriptor> tmp = openPart("tmp");
  if (!tmp)
    return tmp.takeError();
  std::string aside = uniqueName();
  Expected<bool> moved = moveAway(name, *tmp, aside);
  if (!moved)
    return moved.takeError();
  // What cannot be removed now is reaped later.
  (void)removeTree(*tmp, aside);
  return Error::success();
}

Error DirectoryStore::remove(const Digest &name) {
  if (Error error = discard(name))
    return error;
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  // The next insertion measures again.
  if (*version)
    Usage(**version, modes()).forget();
  return Error::success();
}

Expected<uint64_t> DirectoryStore::clear() {
  Expected<std::vector<Digest>> all = names();
  if (!all)
    return all.takeError();
  for (const Digest &name : *all)
    if (Error error = remove(name))
      return error;
  removeOlder("quarantine", std::chrono::seconds(0));
  return all->size();
}

/// What the file system's clock says, which need not be this host's: the time
/// of something just made. None if nothing can be made.
std::optional<sys::TimePoint<>> DirectoryStore::now() const {
  Expected<Descriptor> tmp = openPart("tmp");
  if (!tmp) {
    consumeError(tmp.takeError());
    return std::nullopt;
  }
  std::string name = uniqueName();
  ErrorOr<Descriptor> file =
      openWritable(*tmp, name, O_CREAT | O_EXCL, userModes.writable);
  struct stat status;
  if (!file)
    return std::nullopt;
  (void)::unlinkat(tmp->get(), name.c_str(), 0);
  if (::fstat(file->get(), &status) != 0)
    return std::nullopt;
  return lastUseOf(status);
}

/// Removes what was put into a part of the directory longer ago than `age`.
void DirectoryStore::removeOlder(StringRef part, std::chrono::seconds age,
                                 TimePoint deadline) const {
  std::optional<sys::TimePoint<>> present = now();
  Expected<Descriptor> directory = openPart(part);
  if (!directory)
    return consumeError(directory.takeError());
  // The rest is left to the next, too.
  constexpr size_t maxMembers = 100'000;
  ErrorOr<std::vector<std::string>> members = listNames(*directory, maxMembers);
  if (!present || !members)
    return;
  for (const std::string &member : *members) {
    struct stat status;
    if (std::chrono::steady_clock::now() > deadline)
      return;
    if (::fstatat(directory->get(), member.c_str(), &status,
                  AT_SYMLINK_NOFOLLOW) != 0 ||
        *present - lastUseOf(status) < age)
      continue;
    if (part == "locks")
      LockFile::removeIfFree(*directory, member);
    else
      (void)removeTree(*directory, member, deadline);
  }
}

/// Removes what processes that died left behind. What takes longer is left to
/// the next: others may have put it there.
void DirectoryStore::reap() const {
  TimePoint deadline = std::chrono::steady_clock::now() + reapAtMost;
  removeOlder("tmp", options.staleAfter, deadline);
  removeOlder("locks", options.staleAfter, deadline);
  removeOlder("quarantine", options.quarantineFor, deadline);
}

/// Puts what is removed first in front: what was used in the future, then what
/// was used longest ago. A time in the future was noted by a clock that has
/// been set back since, and any later use would have corrected it.
void DirectoryStore::sortForEviction(std::vector<Measured> &entries,
                                     sys::TimePoint<> present) {
  auto rank = [&](const Measured &entry) {
    bool isPast = entry.lastUse < present + std::chrono::minutes(1);
    return std::tuple(isPast, entry.lastUse, entry.name);
  };
  sort(entries, [&](const Measured &lhs, const Measured &rhs) {
    return rank(lhs) < rank(rhs);
  });
}

Expected<PruneResult> DirectoryStore::prune(const PruneLimits &limits) {
  reap();
  // Before anything is measured, so that what is used meanwhile is no older.
  sys::TimePoint<> present = now().value_or(std::chrono::system_clock::now());
  Expected<std::vector<Measured>> entries = measure();
  if (!entries)
    return entries.takeError();
  sortForEviction(*entries, present);

  PruneResult result;
  result.remainingEntries = entries->size();
  for (const Measured &entry : *entries)
    result.remainingBytes += entry.size;

  for (const Measured &entry : *entries) {
    bool isOld = limits.maxAge && present - entry.lastUse > *limits.maxAge;
    bool isOver = limits.maxBytes && result.remainingBytes > *limits.maxBytes;
    if (!isOld && !isOver)
      continue;
    if (Error error = discard(entry.name))
      return error;
    counters.evicted.add();
    ++result.removedEntries;
    --result.remainingEntries;
    result.removedBytes += entry.size;
    result.remainingBytes -= entry.size;
  }
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  if (*version)
    Usage(**version, modes()).set(result.remainingBytes);
  return result;
}

/// Removes what is too old, and what processes that died left behind.
void DirectoryStore::tidy() {
  if (!options.limits.maxAge)
    return reap();
  // What cannot be removed now takes room, and does no harm.
  consumeError(
      prune({.maxBytes = {}, .maxAge = options.limits.maxAge}).takeError());
}

/// Notes an insertion of `size` bytes, and prunes if the directory is now over
/// its limits.
Error DirectoryStore::keepBounds(uint64_t size) {
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  if (!*version)
    return Error::success();
  Usage usage(**version, modes());
  std::optional<uint64_t> total = usage.add(size);
  if (!total) {
    Expected<uint64_t> measured = totalSize();
    if (!measured)
      return measured.takeError();
    usage.set(*measured);
    total = *measured;
  }
  PruneLimits limits = options.limits;
  if (!limits.maxBytes || *total <= *limits.maxBytes)
    return Error::success();
  // Some room is left, so that not every insertion has to prune.
  *limits.maxBytes -= *limits.maxBytes / 16;
  return prune(limits).takeError();
}

/// The same, but not again and again for a group, each member of which can fill
/// the directory with what takes long to look at.
Error DirectoryStore::account(uint64_t size) {
  if (!options.allowGroupWritable)
    return keepBounds(size);
  if (!bounding.allows())
    return Error::success();
  TimePoint start = std::chrono::steady_clock::now();
  Error error = keepBounds(size);
  bool isSlow = std::chrono::steady_clock::now() - start > boundingAtMost;
  isSlow ? (void)bounding.failed() : bounding.succeeded();
  return error;
}
