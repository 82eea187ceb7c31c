//===- DirectoryStore.cpp - Artifacts on disk -----------------------------===//
//
// Everything here rests on one fact: `rename` puts a whole directory in place
// or does nothing. Entries come by a rename from `tmp` and go by a rename to
// it, so that no path ever names half an entry, whenever a process dies. Paths
// are opened anew each time: someone who removes the whole cache under a
// running process causes misses and no errors.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/DirectoryStore.h"

#include "EntryFiles.h"
#include "Files.h"
#include "LockFile.h"
#include "Usage.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;

/// An entry as pruning sees it.
struct DirectoryStore::Measured {
  Digest name;
  uint64_t size;
  sys::TimePoint<> lastUse;
};

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

Expected<std::string> tl::cache::defaultDirectory() {
  if (const char *directory = std::getenv("TL_CACHE_DIR");
      directory && *directory)
    return std::string(directory);
  SmallString<128> path;
  // The XDG specification has relative paths ignored.
  const char *base = std::getenv("XDG_CACHE_HOME");
  if (base && sys::path::is_absolute(base)) {
    path = base;
  } else {
    if (!sys::path::home_directory(path))
      return createStringError("there is no home directory to hold the cache; "
                               "set `TL_CACHE_DIR`");
    sys::path::append(path, ".cache");
  }
  sys::path::append(path, "tilec");
  return path.str().str();
}

/// The length of the first part of an entry's path.
static constexpr size_t fanOutDigits = 2;

std::string DirectoryStore::pathOf(StringRef part) const {
  return versionPath + "/" + part.str();
}

std::string DirectoryStore::pathOf(const Digest &name) const {
  std::string hex = name.hex();
  return versionPath + "/" + hex.substr(0, fanOutDigits) + "/" + hex;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

/// Why a directory of this status cannot be trusted to hold what we put into
/// it; empty if it can.
static std::string distrust(const struct stat &status) {
  if (!S_ISDIR(status.st_mode))
    return "is not a directory";
  // The superuser could change any directory anyway.
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return "belongs to user " + utostr(status.st_uid) +
           "; choose a directory of your own";
  if (status.st_mode & S_IWOTH)
    return "can be written by anyone; run `chmod o-w` on it";
  return "";
}

/// Makes `path` with access for this user alone if it is not there, and checks
/// that it can be trusted.
static Error makePrivate(const std::string &path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return make_error<StoreError>(path, "cannot be made: " +
                                            errnoAsErrorCode().message());
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return make_error<StoreError>(path, "cannot be used: " +
                                            errnoAsErrorCode().message());
  std::string reason = distrust(status);
  if (!reason.empty())
    return make_error<StoreError>(path, reason);
  return Error::success();
}

DirectoryStore::DirectoryStore(std::string root, DirectoryOptions options)
    : rootPath(std::move(root)),
      versionPath(rootPath + "/v" + itostr(Manifest::formatVersion)),
      options(std::move(options)) {}

Expected<std::unique_ptr<DirectoryStore>>
DirectoryStore::open(StringRef root, DirectoryOptions options) {
  SmallString<128> path(root);
  if (std::error_code error = sys::fs::make_absolute(path))
    return make_error<StoreError>(root.str(), error.message());
  sys::path::remove_dots(path);
  std::unique_ptr<DirectoryStore> store(
      new DirectoryStore(path.str().str(), std::move(options)));
  if (Error error = store->prepare())
    return error;
  return store;
}

/// Makes the directories that hold everything else.
Error DirectoryStore::prepare() const {
  StringRef parent = sys::path::parent_path(rootPath);
  // What is wrong with the parent shows when the root is made.
  (void)sys::fs::create_directories(parent, /*IgnoreExisting=*/true,
                                    sys::fs::owner_all);
  if (Error error = makePrivate(rootPath))
    return error;
  if (Error error = makePrivate(versionPath))
    return error;
  // A cache that cannot be written can still be read; who writes is told.
  for (StringRef part : {"tmp", "quarantine", "locks"})
    (void)::mkdir(pathOf(part).c_str(), 0700);
  return Error::success();
}

Error DirectoryStore::failure(std::error_code error, const Twine &what) const {
  return make_error<StoreError>(rootPath,
                                (what + ": " + error.message()).str());
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Reads an entry; null if there is none.
Expected<EntryPtr> DirectoryStore::load(const Digest &name, bool use) {
  Expected<std::optional<EntryReader>> reader =
      EntryReader::open(pathOf(name), name);
  if (!reader)
    return reader.takeError();
  if (!*reader)
    return EntryPtr();
  Expected<EntryPtr> entry = (*reader)->read();
  counters.bytesRead.add((*reader)->bytesRead());
  if (entry && use)
    (*reader)->touch();
  if (entry || (*reader)->isCurrent())
    return entry;
  consumeError(entry.takeError());
  return EntryPtr();
}

/// The same; a damaged entry is set aside, so that its name is free again.
Expected<EntryPtr> DirectoryStore::loadOrQuarantine(const Digest &name,
                                                    bool use) {
  Expected<EntryPtr> entry = load(name, use);
  if (entry)
    return entry;
  return handleErrors(
      entry.takeError(), [&](std::unique_ptr<DamagedError> damage) -> Error {
        std::string aside =
            pathOf("quarantine/" + name.hex() + "-" + uniqueName());
        // It may be gone already: another reader found the same.
        if (::rename(pathOf(name).c_str(), aside.c_str()) == 0) {
          counters.quarantined.add();
          // Its time in quarantine begins now.
          (void)::utimensat(AT_FDCWD, aside.c_str(), nullptr,
                            AT_SYMLINK_NOFOLLOW);
        }
        return Error(std::move(damage));
      });
}

Expected<EntryPtr> DirectoryStore::lookup(const Key &key) {
  Expected<EntryPtr> entry = loadOrQuarantine(key.digest(), /*use=*/true);
  bool isHit = entry && *entry;
  (isHit ? counters.hits : counters.misses).add();
  return entry;
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

/// Writes an entry below `tmp` and returns the path.
Expected<std::string> DirectoryStore::stage(const Key &key, const Entry &entry,
                                            uint64_t &size) const {
  std::string path = pathOf("tmp/" + uniqueName());
  if (::mkdir(path.c_str(), 0700) != 0) {
    // Someone may have removed the whole cache.
    if (Error error = prepare())
      return error;
    if (::mkdir(path.c_str(), 0700) != 0)
      return failure(errnoAsErrorCode(), "cannot be written");
  }
  Manifest manifest = Manifest::describe(key, entry, options.creator);
  ErrorOr<uint64_t> written = writeEntry(path, entry, manifest);
  if (!written) {
    (void)sys::fs::remove_directories(path);
    return failure(written.getError(), "cannot be written");
  }
  size = *written;
  return path;
}

/// Renames a staged entry into place. False if another is there.
Expected<bool> DirectoryStore::publish(const std::string &staged,
                                       const Digest &name) const {
  std::string path = pathOf(name);
  std::string fanOut = sys::path::parent_path(path).str();
  if (::mkdir(fanOut.c_str(), 0700) == 0) {
    if (std::error_code error = syncDirectory(versionPath))
      return failure(error, "cannot be written");
  } else if (errno != EEXIST) {
    return failure(errnoAsErrorCode(), "cannot be written");
  }
  if (::rename(staged.c_str(), path.c_str()) != 0) {
    // A directory replaces an empty one alone.
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
      return false;
    return failure(errnoAsErrorCode(), "cannot be written");
  }
  if (std::error_code error = syncDirectory(fanOut))
    return failure(error, "cannot be written");
  return true;
}

Expected<EntryPtr> DirectoryStore::insert(const Key &key, EntryPtr entry) {
  for (const File &file : entry->files())
    if (!isValidFileName(file.name))
      return make_error<StoreError>(rootPath, "an entry cannot hold a file `" +
                                                  file.name + "`");
  std::call_once(reaped, [&] { reap(); });

  uint64_t size = 0;
  Expected<std::string> staged = stage(key, *entry, size);
  if (!staged)
    return staged.takeError();
  auto removeStaged =
      scope_exit([&] { (void)sys::fs::remove_directories(*staged); });

  // The name is taken again only if somebody keeps storing damaged entries.
  constexpr int maxAttempts = 3;
  for (int attempt = 0; attempt < maxAttempts; ++attempt) {
    Expected<bool> published = publish(*staged, key.digest());
    if (!published)
      return published.takeError();
    if (*published) {
      removeStaged.release();
      counters.inserted.add();
      counters.bytesWritten.add(size);
      if (Error error = account(size))
        return error;
      auto held = std::make_shared<Entry>(*entry);
      held->directory = pathOf(key.digest());
      return held;
    }
    Expected<EntryPtr> winner = loadOrQuarantine(key.digest(), /*use=*/true);
    if (winner && *winner)
      return winner;
    if (!winner)
      consumeError(winner.takeError());
  }
  return make_error<StoreError>(pathOf(key.digest()), "cannot be replaced");
}

Expected<std::unique_ptr<KeyLock>>
DirectoryStore::lock(const Key &key, std::chrono::milliseconds timeout) {
  std::string path = pathOf("locks") + "/" + key.hex();
  ErrorOr<std::unique_ptr<LockFile>> lock = LockFile::acquire(path, timeout);
  if (lock.getError() == errc::no_such_file_or_directory) {
    if (Error error = prepare())
      return error;
    lock = LockFile::acquire(path, timeout);
  }
  if (lock)
    return std::unique_ptr<KeyLock>(std::move(*lock));
  if (lock.getError() == std::errc::timed_out)
    return make_error<StoreError>(
        path, "another process has held this lock for " +
                  itostr(timeout.count()) + " ms; its work is done here too");
  return failure(lock.getError(),
                 "cannot lock, so that work may be done more than once");
}

//===----------------------------------------------------------------------===//
// Looking
//===----------------------------------------------------------------------===//

Expected<std::vector<Digest>> DirectoryStore::names() const {
  std::vector<Digest> result;
  ErrorOr<std::vector<std::string>> fanOuts = listNames(versionPath);
  if (!fanOuts)
    return failure(fanOuts.getError(), "cannot be listed");
  for (const std::string &fanOut : *fanOuts) {
    if (fanOut.size() != fanOutDigits || !all_of(fanOut, isHexDigit))
      continue;
    ErrorOr<std::vector<std::string>> members = listNames(pathOf(fanOut));
    if (!members)
      return failure(members.getError(), "cannot be listed");
    for (const std::string &member : *members)
      if (std::optional<Digest> name = Digest::fromHex(member);
          name && StringRef(member).starts_with(fanOut))
        result.push_back(*name);
  }
  sort(result);
  return result;
}

Expected<EntryInfo> DirectoryStore::info(const Digest &name) const {
  Expected<std::optional<EntryReader>> reader =
      EntryReader::open(pathOf(name), name);
  if (!reader)
    return reader.takeError();
  if (!*reader)
    return make_error<StoreError>(rootPath,
                                  "holds no entry `" + name.hex() + "`");
  Expected<Manifest> manifest = (*reader)->readManifest();
  if (!manifest)
    return manifest.takeError();
  uint64_t size = (*reader)->bytesRead();
  for (const FileRecord &file : manifest->files)
    size += file.size;
  return EntryInfo{std::move(*manifest), size, (*reader)->lastUse()};
}

Expected<std::vector<EntryInfo>> DirectoryStore::list() const {
  Expected<std::vector<Digest>> all = names();
  if (!all)
    return all.takeError();
  std::vector<EntryInfo> result;
  for (const Digest &name : *all) {
    Expected<EntryInfo> entry = info(name);
    if (entry)
      result.push_back(std::move(*entry));
    else
      consumeError(entry.takeError()); // `verify` tells.
  }
  return result;
}

Expected<Digest> DirectoryStore::find(StringRef prefix) const {
  Expected<std::vector<Digest>> all = names();
  if (!all)
    return all.takeError();
  erase_if(*all, [&](const Digest &name) {
    return !StringRef(name.hex()).starts_with(prefix);
  });
  if (all->empty())
    return make_error<StoreError>(rootPath,
                                  "holds no entry `" + prefix.str() + "`");
  if (all->size() > 1)
    return make_error<StoreError>(
        rootPath, "holds " + utostr(all->size()) +
                      " entries whose names begin with `" + prefix.str() +
                      "`; give more of the name");
  return all->front();
}

Expected<EntryInfo> DirectoryStore::nearest(const Key &key) const {
  Expected<std::vector<EntryInfo>> entries = list();
  if (!entries)
    return entries.takeError();
  erase_if(*entries, [&](const EntryInfo &entry) {
    return entry.manifest.key.digest() == key.digest();
  });
  if (entries->empty())
    return make_error<StoreError>(rootPath, "holds no entry to compare with");
  auto rank = [&](const EntryInfo &entry) {
    return std::pair(explain(key, entry.manifest.key).size(),
                     -entry.lastUse.time_since_epoch());
  };
  return std::move(*min_element(
      *entries, [&](auto &lhs, auto &rhs) { return rank(lhs) < rank(rhs); }));
}

Error DirectoryStore::verify(const Digest &name) {
  Expected<EntryPtr> entry = loadOrQuarantine(name, /*use=*/false);
  if (!entry)
    return entry.takeError();
  if (!*entry)
    return make_error<StoreError>(rootPath,
                                  "holds no entry `" + name.hex() + "`");
  return Error::success();
}

/// Measures all entries by what they occupy, whether or not they are sound.
Expected<std::vector<DirectoryStore::Measured>>
DirectoryStore::measure() const {
  Expected<std::vector<Digest>> all = names();
  if (!all)
    return all.takeError();
  std::vector<Measured> result;
  for (const Digest &name : *all) {
    ErrorOr<Descriptor> directory = openDirectory(pathOf(name));
    struct stat status;
    // What is gone, or is no directory, occupies nothing.
    if (!directory || ::fstat(directory->get(), &status) != 0)
      continue;
    Measured &entry = result.emplace_back(name, 0, lastUseOf(status));
    ErrorOr<std::vector<std::string>> files = listNames(*directory);
    if (!files)
      continue;
    for (const std::string &file : *files)
      if (::fstatat(directory->get(), file.c_str(), &status,
                    AT_SYMLINK_NOFOLLOW) == 0)
        entry.size += status.st_size;
  }
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

/// Removes an entry: at once for who opens its path, then file by file.
std::error_code DirectoryStore::discard(const Digest &name) const {
  std::string aside = pathOf("tmp/" + uniqueName());
  if (::rename(pathOf(name).c_str(), aside.c_str()) != 0)
    return errno == ENOENT ? std::error_code() : errnoAsErrorCode();
  (void)sys::fs::remove_directories(aside);
  return {};
}

Error DirectoryStore::remove(const Digest &name) {
  if (std::error_code error = discard(name))
    return failure(error, "cannot remove `" + name.hex() + "`");
  // The next insertion measures again.
  Usage(versionPath).forget();
  return Error::success();
}

Error DirectoryStore::clear() {
  Expected<std::vector<Digest>> all = names();
  if (!all)
    return all.takeError();
  for (const Digest &name : *all)
    if (Error error = remove(name))
      return error;
  removeOlder("quarantine", std::chrono::seconds(0));
  return Error::success();
}

/// Removes what was put into a part of the directory longer ago than `age`.
void DirectoryStore::removeOlder(StringRef part,
                                 std::chrono::seconds age) const {
  ErrorOr<std::vector<std::string>> members = listNames(pathOf(part));
  if (!members)
    return;
  auto now = std::chrono::system_clock::now();
  for (const std::string &member : *members) {
    std::string path = pathOf(part) + "/" + member;
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 || now - lastUseOf(status) < age)
      continue;
    if (part == "locks")
      LockFile::removeIfFree(path);
    else if (S_ISDIR(status.st_mode))
      (void)sys::fs::remove_directories(path);
    else
      (void)::unlink(path.c_str());
  }
}

/// Removes what processes that died left behind.
void DirectoryStore::reap() const {
  removeOlder("tmp", options.staleAfter);
  removeOlder("locks", options.staleAfter);
  removeOlder("quarantine", options.quarantineFor);
}

Expected<PruneResult> DirectoryStore::prune(const PruneLimits &limits) {
  reap();
  Expected<std::vector<Measured>> entries = measure();
  if (!entries)
    return entries.takeError();
  sort(*entries, [](const Measured &lhs, const Measured &rhs) {
    return std::tie(lhs.lastUse, lhs.name) < std::tie(rhs.lastUse, rhs.name);
  });

  PruneResult result;
  result.remainingEntries = entries->size();
  for (const Measured &entry : *entries)
    result.remainingBytes += entry.size;

  auto now = std::chrono::system_clock::now();
  for (const Measured &entry : *entries) {
    bool isOld = limits.maxAge && now - entry.lastUse > *limits.maxAge;
    bool isOver = limits.maxBytes && result.remainingBytes > *limits.maxBytes;
    if (!isOld && !isOver)
      break;
    if (std::error_code error = discard(entry.name))
      return failure(error, "cannot remove `" + entry.name.hex() + "`");
    counters.evicted.add();
    ++result.removedEntries;
    --result.remainingEntries;
    result.removedBytes += entry.size;
    result.remainingBytes -= entry.size;
  }
  Usage(versionPath).set(result.remainingBytes);
  return result;
}

/// Notes an insertion of `size` bytes, and prunes if the directory is now over
/// its limits.
Error DirectoryStore::account(uint64_t size) {
  Usage usage(versionPath);
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
