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
#include "LeaseFile.h"
#include "LockFile.h"
#include "Trust.h"
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

/// An entry that is being written, below `tmp`. What was not renamed into place
/// is removed.
struct DirectoryStore::Staged {
  explicit Staged(Descriptor tmp) : tmp(std::move(tmp)) {}
  Staged(Staged &&) = default;
  ~Staged() {
    if (tmp.get() >= 0)
      (void)removeTree(tmp, name);
  }

  Descriptor tmp;
  std::string name = uniqueName();
  uint64_t size = 0;
};

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

/// The directory of this format, in the root.
static std::string versionName() {
  return "v" + itostr(Manifest::formatVersion);
}

/// The directory of an entry's directory.
static std::string fanOutOf(const Digest &name) {
  return name.hex().substr(0, fanOutDigits);
}

std::string DirectoryStore::pathOf(StringRef part) const {
  return versionPath + "/" + part.str();
}

std::string DirectoryStore::pathOf(const Digest &name) const {
  return pathOf(fanOutOf(name)) + "/" + name.hex();
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

DirectoryStore::DirectoryStore(std::string root, DirectoryOptions options)
    : rootPath(std::move(root)), versionPath(rootPath + "/" + versionName()),
      options(std::move(options)) {}

Expected<std::unique_ptr<DirectoryStore>>
DirectoryStore::open(StringRef root, DirectoryOptions options) {
  SmallString<128> path(root);
  if (std::error_code error = sys::fs::make_absolute(path))
    return make_error<StoreError>(root.str(), error.message());
  sys::path::remove_dots(path);
  std::unique_ptr<DirectoryStore> store(
      new DirectoryStore(path.str().str(), std::move(options)));
  Expected<Descriptor> prepared = store->prepare();
  if (!prepared)
    return prepared.takeError();
  return store;
}

const Modes &DirectoryStore::modes() const {
  return options.allowGroupWritable ? groupModes : userModes;
}

bool DirectoryStore::isPrivate() const {
  return isPrivateDirectory(versionPath);
}

/// Opens the directory of this format in the root; none if there is none.
Expected<std::optional<Descriptor>>
DirectoryStore::openVersion(const Descriptor &root) const {
  Expected<std::optional<Descriptor>> version =
      openTrustedDirectory(root, versionName(), options.allowGroupWritable);
  if (!version)
    return make_error<StoreError>(versionPath, toString(version.takeError()));
  return version;
}

Expected<std::optional<Descriptor>> DirectoryStore::openRoot() const {
  Expected<std::optional<Descriptor>> root =
      openTrustedDirectory(rootPath, options.allowGroupWritable);
  if (!root)
    return make_error<StoreError>(rootPath, toString(root.takeError()));
  return root;
}

Expected<std::optional<Descriptor>> DirectoryStore::openVersion() const {
  Expected<std::optional<Descriptor>> root = openRoot();
  if (!root || !*root)
    return root;
  return openVersion(**root);
}

/// Makes that directory and its parts, and opens it.
Expected<Descriptor> DirectoryStore::prepare() const {
  StringRef parent = sys::path::parent_path(rootPath);
  // What is wrong with the parent shows when the root is made.
  (void)sys::fs::create_directories(parent, /*IgnoreExisting=*/true,
                                    sys::fs::owner_all);
  bool isNew = ::mkdir(rootPath.c_str(), userModes.directory) == 0;
  if (!isNew && errno != EEXIST)
    return make_error<StoreError>(rootPath, "cannot be made: " +
                                                errnoAsErrorCode().message());
  if (isNew && options.allowGroupWritable)
    (void)::chmod(rootPath.c_str(), groupModes.directory);
  Expected<std::optional<Descriptor>> root = openRoot();
  if (!root)
    return root.takeError();
  if (!*root)
    return make_error<StoreError>(rootPath, "was removed while it was opened");

  ErrorOr<bool> made = makeDirectory(**root, versionName(), modes().directory);
  if (!made)
    return make_error<StoreError>(versionPath, "cannot be made: " +
                                                   made.getError().message());
  Expected<std::optional<Descriptor>> version = openVersion(**root);
  if (!version)
    return version.takeError();
  if (!*version)
    return make_error<StoreError>(versionPath,
                                  "was removed while it was opened");
  // A cache that cannot be written can still be read; who writes is told.
  for (const char *part : {"tmp", "quarantine", "locks"})
    (void)makeDirectory(**version, part, modes().directory);
  return std::move(**version);
}

/// Opens a part that is written to; what is missing is made.
Expected<Descriptor> DirectoryStore::openPart(StringRef part) const {
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  ErrorOr<Descriptor> directory =
      make_error_code(errc::no_such_file_or_directory);
  if (*version)
    directory = openDirectory(**version, part.str());
  if (directory.getError() == errc::no_such_file_or_directory) {
    Expected<Descriptor> prepared = prepare();
    if (!prepared)
      return prepared.takeError();
    directory = openDirectory(*prepared, part.str());
  }
  if (!directory)
    return make_error<StoreError>(
        pathOf(part), "cannot be written: " + directory.getError().message());
  return std::move(*directory);
}

Error DirectoryStore::failure(std::error_code error, const Twine &what) const {
  return make_error<StoreError>(rootPath,
                                (what + ": " + error.message()).str());
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Opens an entry; none if there is none.
Expected<std::optional<EntryReader>>
DirectoryStore::openEntry(const Digest &name) const {
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  if (!*version)
    return std::nullopt;
  ErrorOr<Descriptor> fanOut = openDirectory(**version, fanOutOf(name));
  if (fanOut.getError() == errc::no_such_file_or_directory)
    return std::nullopt;
  if (!fanOut)
    return make_error<StoreError>(pathOf(fanOutOf(name)),
                                  "cannot be opened: " +
                                      fanOut.getError().message());
  return EntryReader::open(std::move(*fanOut), name, pathOf(name),
                           options.allowGroupWritable);
}

/// Reads an entry; null if there is none.
Expected<EntryPtr> DirectoryStore::load(const Digest &name, bool use) {
  Expected<std::optional<EntryReader>> reader = openEntry(name);
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

/// Sets a damaged entry aside. It may be gone already: another reader found the
/// same.
void DirectoryStore::quarantine(const Digest &name) {
  std::string aside = name.hex() + "-" + uniqueName();
  Expected<Descriptor> part = openPart("quarantine");
  if (!part)
    return consumeError(part.takeError());
  Expected<bool> moved = moveAway(name, *part, aside);
  if (!moved)
    return consumeError(moved.takeError());
  if (!*moved)
    return;
  counters.quarantined.add();
  // Its time in quarantine begins now.
  (void)::utimensat(part->get(), aside.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

/// The same; a damaged entry is set aside, so that its name is free again.
Expected<EntryPtr> DirectoryStore::loadOrQuarantine(const Digest &name,
                                                    bool use) {
  Expected<EntryPtr> entry = load(name, use);
  if (entry)
    return entry;
  return handleErrors(entry.takeError(),
                      [&](std::unique_ptr<DamagedError> damage) -> Error {
                        quarantine(name);
                        return Error(std::move(damage));
                      });
}

bool DirectoryStore::isTrustedWith(const Key &key) const {
  return !key.leadsToHostCode() || isPrivate();
}

Expected<EntryPtr> DirectoryStore::lookup(const Key &key) {
  if (!isTrustedWith(key)) {
    counters.misses.add();
    return make_error<StoreError>(
        rootPath, "is not private to you and this machine, so machine code of "
                  "the host is neither loaded from it nor stored; set "
                  "`TL_CACHE_DIR` to a directory that is");
  }
  Expected<EntryPtr> entry = loadOrQuarantine(key.digest(), /*use=*/true);
  bool isHit = entry && *entry;
  (isHit ? counters.hits : counters.misses).add();
  return entry;
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

/// Writes an entry below `tmp`.
Expected<DirectoryStore::Staged>
DirectoryStore::stage(const Key &key, const Entry &entry) const {
  Expected<Descriptor> tmp = openPart("tmp");
  if (!tmp)
    return tmp.takeError();
  Staged staged(std::move(*tmp));
  Manifest manifest = Manifest::describe(key, entry, options.creator);
  ErrorOr<bool> made =
      makeDirectory(staged.tmp, staged.name, modes().directory);
  if (!made)
    return failure(made.getError(), "cannot be written");
  ErrorOr<Descriptor> directory = openDirectory(staged.tmp, staged.name);
  if (!directory)
    return failure(directory.getError(), "cannot be written");
  ErrorOr<uint64_t> written =
      writeEntry(*directory, entry, manifest, modes().readOnly);
  if (!written)
    return failure(written.getError(), "cannot be written");
  staged.size = *written;
  return staged;
}

/// Renames a staged entry into place. False if another is there.
Expected<bool> DirectoryStore::publish(const Staged &staged,
                                       const Digest &name) const {
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  if (!*version)
    return make_error<StoreError>(rootPath, "was removed while it was written");
  ErrorOr<bool> made =
      makeDirectory(**version, fanOutOf(name), modes().directory);
  if (!made)
    return failure(made.getError(), "cannot be written");
  if (std::error_code error =
          *made ? syncDirectory(**version) : std::error_code())
    return failure(error, "cannot be written");
  ErrorOr<Descriptor> fanOut = openDirectory(**version, fanOutOf(name));
  if (!fanOut)
    return failure(fanOut.getError(), "cannot be written");
  if (::renameat(staged.tmp.get(), staged.name.c_str(), fanOut->get(),
                 name.hex().c_str()) != 0) {
    // A directory replaces an empty one alone.
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
      return false;
    return failure(errnoAsErrorCode(), "cannot be written");
  }
  if (std::error_code error = syncDirectory(*fanOut))
    return failure(error, "cannot be written");
  return true;
}

Expected<EntryPtr> DirectoryStore::insert(const Key &key, EntryPtr entry) {
  // Nobody could load it, and one that is there is not to be returned.
  if (!isTrustedWith(key))
    return entry;
  for (const File &file : entry->files())
    if (!isValidFileName(file.name))
      return make_error<StoreError>(rootPath, "an entry cannot hold a file `" +
                                                  file.name + "`");
  std::call_once(reaped, [&] { reap(); });

  Expected<Staged> staged = stage(key, *entry);
  if (!staged)
    return staged.takeError();

  // The name is taken again only if somebody keeps storing damaged entries.
  constexpr int maxAttempts = 3;
  for (int attempt = 0; attempt < maxAttempts; ++attempt) {
    Expected<bool> published = publish(*staged, key.digest());
    if (!published)
      return published.takeError();
    if (*published) {
      counters.inserted.add();
      counters.bytesWritten.add(staged->size);
      if (Error error = account(staged->size))
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

/// Waits for the lock of a key, or for a claim where there are no locks. Null
/// if `isDone` before.
static ErrorOr<std::unique_ptr<KeyLock>>
acquire(Descriptor locks, const std::string &name, mode_t mode,
        std::chrono::milliseconds timeout, function_ref<bool()> isDone) {
  ErrorOr<std::unique_ptr<KeyLock>> lock =
      LockFile::acquire(std::move(locks), name, mode, timeout, isDone);
  if (lock || lock.getError() == std::errc::timed_out)
    return lock;
  return LeaseFile::acquire(std::move(locks), name + ".claim", mode, timeout,
                            isDone);
}

Expected<std::unique_ptr<KeyLock>>
DirectoryStore::lock(const Key &key, std::chrono::milliseconds timeout) {
  Expected<Descriptor> locks = openPart("locks");
  if (!locks)
    return locks.takeError();
  // All who wait for an entry go on when it is there, not one after another.
  auto isDone = [path = pathOf(key.digest())] {
    return ::access(path.c_str(), F_OK) == 0;
  };
  ErrorOr<std::unique_ptr<KeyLock>> lock =
      acquire(std::move(*locks), key.hex(), modes().writable, timeout, isDone);
  if (lock)
    return std::move(*lock);
  if (lock.getError() == std::errc::timed_out)
    return make_error<StoreError>(pathOf("locks/" + key.hex()),
                                  "another process has held this lock for " +
                                      itostr(timeout.count()) +
                                      " ms; its work is done here too");
  return failure(lock.getError(),
                 "cannot lock, so that work may be done more than once");
}

//===----------------------------------------------------------------------===//
// Looking
//===----------------------------------------------------------------------===//

Expected<std::vector<Digest>> DirectoryStore::names() const {
  std::vector<Digest> result;
  Expected<std::optional<Descriptor>> version = openVersion();
  if (!version)
    return version.takeError();
  if (!*version)
    return result;
  ErrorOr<std::vector<std::string>> fanOuts = listNames(**version);
  if (!fanOuts)
    return failure(fanOuts.getError(), "cannot be listed");
  for (const std::string &fanOut : *fanOuts) {
    if (fanOut.size() != fanOutDigits || !all_of(fanOut, isHexDigit))
      continue;
    ErrorOr<std::vector<std::string>> members = listNames(**version, fanOut);
    if (!members)
      return failure(members.getError(), "cannot be listed");
    for (const std::string &member : *members)
      if (std::optional<Digest> name = Digest::fromHex(member);
          name && fanOutOf(*name) == fanOut)
        result.push_back(*name);
  }
  sort(result);
  return result;
}

Expected<EntryInfo> DirectoryStore::info(const Digest &name) const {
  Expected<std::optional<EntryReader>> reader = openEntry(name);
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

Expected<EntryPtr> DirectoryStore::read(const Digest &name) {
  Expected<EntryPtr> entry = loadOrQuarantine(name, /*use=*/false);
  if (entry && !*entry)
    return make_error<StoreError>(rootPath,
                                  "holds no entry `" + name.hex() + "`");
  return entry;
}

Error DirectoryStore::verify(const Digest &name) {
  return read(name).takeError();
}

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
  ErrorOr<Descriptor> fanOut = openDirectory(**version, fanOutOf(name));
  std::error_code error = fanOut.getError();
  if (fanOut && ::renameat(fanOut->get(), name.hex().c_str(), part.get(),
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
void DirectoryStore::removeOlder(StringRef part,
                                 std::chrono::seconds age) const {
  std::optional<sys::TimePoint<>> present = now();
  Expected<Descriptor> directory = openPart(part);
  if (!directory)
    return consumeError(directory.takeError());
  ErrorOr<std::vector<std::string>> members = listNames(*directory);
  if (!present || !members)
    return;
  for (const std::string &member : *members) {
    struct stat status;
    if (::fstatat(directory->get(), member.c_str(), &status,
                  AT_SYMLINK_NOFOLLOW) != 0 ||
        *present - lastUseOf(status) < age)
      continue;
    if (part == "locks")
      LockFile::removeIfFree(*directory, member);
    else
      (void)removeTree(*directory, member);
  }
}

/// Removes what processes that died left behind.
void DirectoryStore::reap() const {
  removeOlder("tmp", options.staleAfter);
  removeOlder("locks", options.staleAfter);
  removeOlder("quarantine", options.quarantineFor);
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

/// Notes an insertion of `size` bytes, and prunes if the directory is now over
/// its limits.
Error DirectoryStore::account(uint64_t size) {
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
