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

#include "DirectoryLayout.h"
#include "EntryFiles.h"
#include "Files.h"
#include "LeaseFile.h"
#include "LockFile.h"
#include "Ownership.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdio>

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

//===----------------------------------------------------------------------===//
// Paths
//===----------------------------------------------------------------------===//

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
  Expected<std::optional<Descriptor>> root = openRoot();
  if (!root)
    return root.takeError();
  if (!*root)
    return make_error<StoreError>(rootPath, "was removed while it was opened");
  if (isNew && options.allowGroupWritable)
    (void)::fchmod((*root)->get(), groupModes.directory);

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
  auto open = [&](const Descriptor &parent) {
    return openTrustedDirectory(parent, part.str(), options.allowGroupWritable);
  };
  Expected<std::optional<Descriptor>> directory = std::nullopt;
  if (*version)
    directory = open(**version);
  if (directory && !*directory) {
    Expected<Descriptor> prepared = prepare();
    if (!prepared)
      return prepared.takeError();
    (void)makeDirectory(*prepared, part.str(), modes().directory);
    directory = open(*prepared);
  }
  if (!directory)
    return make_error<StoreError>(pathOf(part),
                                  toString(directory.takeError()));
  if (!*directory)
    return make_error<StoreError>(pathOf(part), "cannot be made");
  return std::move(**directory);
}

/// Opens the directory that has the entry of this name; none if there is none.
Expected<std::optional<Descriptor>>
DirectoryStore::openFanOut(const Descriptor &version,
                           const Digest &name) const {
  Expected<std::optional<Descriptor>> fanOut =
      openTrustedDirectory(version, fanOutOf(name), options.allowGroupWritable);
  if (!fanOut)
    return make_error<StoreError>(pathOf(fanOutOf(name)),
                                  toString(fanOut.takeError()));
  return fanOut;
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
  Expected<std::optional<Descriptor>> fanOut = openFanOut(**version, name);
  if (!fanOut)
    return fanOut.takeError();
  if (!*fanOut)
    return std::nullopt;
  return EntryReader::open(std::move(**fanOut), name, pathOf(name),
                           options.allowGroupWritable);
}

/// Reads an entry; null if there is none.
Expected<EntryPtr> DirectoryStore::load(const Digest &name, bool use,
                                        const Worth &worth) {
  Expected<std::optional<EntryReader>> reader = openEntry(name);
  if (!reader)
    return reader.takeError();
  if (!*reader)
    return EntryPtr();
  Expected<EntryPtr> entry = (*reader)->read(worth);
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
                                                    bool use,
                                                    const Worth &worth) {
  Expected<EntryPtr> entry = load(name, use, worth);
  if (entry)
    return entry;
  return handleErrors(entry.takeError(),
                      [&](std::unique_ptr<DamagedError> damage) -> Error {
                        quarantine(name);
                        return Error(std::move(damage));
                      });
}

/// What the directory's entries are worth at most, as far as it matters to a
/// use: to look at all that leads to the directory takes time, and data are
/// checked wherever they lie. The user chose the directory, and others can
/// write it only if the user allows that by name.
Trust DirectoryStore::trustFor(Use use) const {
  if (use == Use::Read || !wasPrivate())
    return Trust::Allowed;
  return Trust::Private;
}

/// The same as `isPrivate`, as it was found to be a moment ago. Only the user
/// can open to others what was not.
bool DirectoryStore::wasPrivate() const {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds moment(200);
  steady_clock::rep now = steady_clock::now().time_since_epoch().count();
  if (now < privateUntil.load(std::memory_order_relaxed))
    return true;
  if (!isPrivate())
    return false;
  privateUntil = now + steady_clock::duration(moment).count();
  return true;
}

/// Why no entry of the directory, worth so much, may be put to this use.
Error DirectoryStore::checkPlace(Trust own, Use use) const {
  if (Error error = checkTrust(own, use))
    return make_error<StoreError>(rootPath, toString(std::move(error)));
  return Error::success();
}

/// Loads the entry of a key, which is worth so much if no stranger made it.
Expected<EntryPtr> DirectoryStore::lookupTrusted(const Key &key, Trust own) {
  Trust ofStrangers = options.allowUnsigned ? Trust::Allowed : Trust::None;
  Worth worth = {own, std::min(own, ofStrangers)};
  if (!options.allowGroupWritable)
    return loadOrQuarantine(key.digest(), /*use=*/true, worth);
  if (!reads.allows())
    return EntryPtr();
  reads.begin();
  Expected<EntryPtr> entry =
      loadOrQuarantine(key.digest(), /*use=*/true, worth);
  reads.end(entry && *entry ? Patience::ofUse : Patience::nothing);
  return entry;
}

Expected<EntryPtr> DirectoryStore::lookup(const Key &key) {
  Trust own = trustFor(key.use());
  if (Error error = checkPlace(own, key.use())) {
    counters.misses.add();
    if (!isIntermediate(key.use()))
      return error;
    consumeError(std::move(error));
    return EntryPtr();
  }
  Expected<EntryPtr> entry = lookupTrusted(key, own);
  if (entry && *entry)
    if (Error error = checkTrust((*entry)->trust, key.use())) {
      counters.misses.add();
      return make_error<StoreError>(rootPath, toString(std::move(error)));
    }
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
  Expected<std::optional<Descriptor>> fanOut = openFanOut(**version, name);
  if (!fanOut)
    return fanOut.takeError();
  if (!*fanOut)
    return make_error<StoreError>(rootPath, "was removed while it was written");
  if (::renameat(staged.tmp.get(), staged.name.c_str(), (*fanOut)->get(),
                 name.hex().c_str()) != 0) {
    // A directory replaces an empty one alone.
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
      return false;
    return failure(errnoAsErrorCode(), "cannot be written");
  }
  if (std::error_code error = syncDirectory(**fanOut))
    return failure(error, "cannot be written");
  return true;
}

Expected<EntryPtr> DirectoryStore::insert(const Key &key, EntryPtr entry) {
  // Nobody could load it, and one that is there is not to be returned.
  Trust own = trustFor(key.use());
  if (Error error = checkPlace(own, key.use())) {
    consumeError(std::move(error));
    return entry;
  }
  if (!reads.allows())
    return entry;
  for (const File &file : entry->files())
    if (!isValidFileName(file.name))
      return make_error<StoreError>(rootPath, "an entry cannot hold a file `" +
                                                  file.name + "`");
  if (entry->files().size() > Manifest::maxFiles ||
      entry->size() > Manifest::maxEntryBytes)
    return make_error<StoreError>(
        rootPath, "an entry cannot hold more than " +
                      utostr(Manifest::maxFiles) + " files, or " +
                      utostr(Manifest::maxEntryBytes) + " bytes");
  std::call_once(tidied, [&] { tidy(); });

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
    Expected<EntryPtr> winner = lookupTrusted(key, own);
    if (!winner) {
      consumeError(winner.takeError());
      continue;
    }
    if (!*winner)
      continue;
    Error distrusted = checkTrust((*winner)->trust, key.use());
    if (!distrusted)
      return winner;
    // One that may not be used is not kept in the way of one that may.
    consumeError(std::move(distrusted));
    if (Error error = discard(key.digest()))
      return error;
  }
  return make_error<StoreError>(pathOf(key.digest()), "cannot be replaced");
}

void DirectoryStore::reject(const Key &key) {
  if (options.allowGroupWritable)
    reads.takeBack(Patience::ofUse);
  quarantine(key.digest());
}

/// How long a lock that others than the user may hold is waited for. With what
/// servers may take it stays below the ten seconds of a lookup.
static constexpr std::chrono::milliseconds waitForGroupAtMost(2500);

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
  // Any member of a group can hold a lock, and make nothing; or all of them.
  bool isGroups = options.allowGroupWritable;
  bool isWaitedFor = !isGroups || keyLocks.allows();
  if (isGroups)
    timeout = isWaitedFor ? std::min(timeout, waitForGroupAtMost)
                          : std::chrono::milliseconds(0);
  Expected<Descriptor> locks = openPart("locks");
  if (!locks)
    return locks.takeError();
  // All who wait for an entry go on when it is there, not one after another.
  auto isDone = [path = pathOf(key.digest())] {
    return ::access(path.c_str(), F_OK) == 0;
  };
  ErrorOr<std::unique_ptr<KeyLock>> lock =
      acquire(std::move(*locks), key.hex(), modes().writable, timeout, isDone);
  bool isHeld = lock.getError() == std::errc::timed_out;
  if (isGroups && isWaitedFor)
    isHeld ? (void)keyLocks.failed() : keyLocks.succeeded();
  if (isHeld && !isWaitedFor)
    return std::unique_ptr<KeyLock>();
  if (lock)
    return std::move(*lock);
  if (isHeld)
    return make_error<StoreError>(pathOf("locks/" + key.hex()),
                                  "another process has held this lock for " +
                                      itostr(timeout.count()) +
                                      " ms; its work is done here too");
  return failure(lock.getError(),
                 "cannot lock, so that work may be done more than once");
}
