//===- DirectoryStore.h - Artifacts on disk --------------------*- C++ -*-===//
//
// One directory per entry, named by its key, holding files that a person can
// open and a `manifest.json` that vouches for them:
//
//     <root>/v1/ab/abcdef.../manifest.json
//                            kernel.ptx
//                            ...
//     <root>/v1/tmp/         entries that are being written or removed
//     <root>/v1/quarantine/  entries that did not match their manifest
//     <root>/v1/locks/       one file per key that is being made
//     <root>/v1/usage        the bytes of all entries, to know when to prune
//
// An entry is written and forced to disk in `tmp`, then renamed into place, and
// never changes after. A load reads every file once and checks it against the
// manifest. docs/cache.md has the protocol and what it promises.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_DIRECTORYSTORE_H
#define TL_CACHE_DIRECTORYSTORE_H

#include "tl/Cache/Breaker.h"
#include "tl/Cache/Manifest.h"
#include "tl/Cache/Patience.h"
#include "tl/Cache/Store.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Chrono.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace tl::cache {

class Descriptor;
class EntryReader;
struct Modes;
struct Worth;

/// Where the cache is when nobody says: `$TL_CACHE_DIR`, else
/// `$XDG_CACHE_HOME/tilec`, else `~/.cache/tilec`.
llvm::Expected<std::string> defaultDirectory();

/// Bounds of a directory; what is not given is not bounded.
struct PruneLimits {
  std::optional<uint64_t> maxBytes;
  /// How long an entry is kept without being used.
  std::optional<std::chrono::seconds> maxAge;
};

struct PruneResult {
  uint64_t removedEntries = 0;
  uint64_t removedBytes = 0;
  uint64_t remainingEntries = 0;
  uint64_t remainingBytes = 0;
};

struct DirectoryOptions {
  /// An insertion that exceeds the bytes prunes to them; the first one of a
  /// process removes what is too old.
  PruneLimits limits = {.maxBytes = uint64_t(4) << 30, .maxAge = {}};

  /// What nobody finished in this time was left by a process that died.
  std::chrono::seconds staleAfter = std::chrono::hours(1);

  /// How long quarantined entries are kept for a look.
  std::chrono::seconds quarantineFor = std::chrono::hours(7 * 24);

  /// Let the members of a group share the directory: one that a group may
  /// write is used if this process belongs to the group, whichever member owns
  /// it. Without, it is refused.
  bool allowGroupWritable = false;

  /// So long a process waits for what lies in such a directory, beside what
  /// that saves (Patience.h).
  std::chrono::milliseconds readsAtMost = std::chrono::seconds(1);

  /// How long a race of the tuner's is waited for that such a member holds.
  std::chrono::milliseconds raceAtMost = std::chrono::seconds(20);

  /// Use device code of entries that came from where nobody signs.
  bool allowUnsigned = false;

  /// Written into manifests: the program and its version.
  std::string creator = "tl";

  /// Reads `TL_CACHE_ALLOW_GROUP`, `TL_CACHE_ALLOW_UNSIGNED`,
  /// `TL_CACHE_MAX_BYTES` and `TL_CACHE_MAX_AGE` (seconds). The error names the
  /// one that makes no sense.
  static llvm::Expected<DirectoryOptions> parse(Variables variables);
};

/// What is known of an entry without loading its files.
struct EntryInfo {
  Manifest manifest;
  /// The bytes of all its files, the manifest's included.
  uint64_t size = 0;
  llvm::sys::TimePoint<> lastUse;
};

/// What a list shows of an entry, read from its manifest without checking that
/// it is sound. Texts are those of whoever wrote it.
struct EntrySummary {
  Digest name;
  /// The bytes of all its files, the manifest's included.
  uint64_t size = 0;
  llvm::sys::TimePoint<> lastUse;
  std::string created;
  std::vector<std::string> files;
  /// Members of the metadata that are text: what it is of, of which kind, and
  /// of a tuner's record its key.
  std::string kernel;
  std::string kind;
  std::string tuning;
};

/// A time as lists show it: `2026-01-31T12:00:00Z`.
std::string formatTime(llvm::sys::TimePoint<> time);

/// What a directory holds.
struct DirectoryTotals {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  llvm::sys::TimePoint<> oldestUse;
  llvm::sys::TimePoint<> newestUse;
};

class DirectoryStore final : public ArtifactStore {
public:
  /// Opens the cache in `root`, making it, for this user alone, if it is not
  /// there. Refuses a directory that another user owns or others may write.
  static llvm::Expected<std::unique_ptr<DirectoryStore>>
  open(llvm::StringRef root, DirectoryOptions options = {});

  llvm::StringRef name() const override { return "directory"; }
  std::string place() const override { return rootPath; }
  llvm::Expected<EntryPtr> lookup(const Key &key) override;
  llvm::Expected<EntryPtr> insert(const Key &key, EntryPtr entry) override;
  llvm::Expected<std::unique_ptr<KeyLock>>
  lock(const Key &key, std::chrono::milliseconds timeout) override;
  void reject(const Key &key) override;

  /// The entries whose manifests can be read, sorted by key.
  llvm::Expected<std::vector<EntryInfo>> list() const;

  /// Calls `visit` with one entry after the other, sorted by key, and keeps
  /// none of them; it ends early if that returns false. Entries whose manifests
  /// cannot be read are left out.
  llvm::Error
  forEach(llvm::function_ref<bool(const EntrySummary &)> visit) const;
  llvm::Error forEachInfo(llvm::function_ref<bool(EntryInfo)> visit) const;

  /// Counts the entries.
  llvm::Expected<DirectoryTotals> totals() const;

  /// The names of all entries, damaged ones included, sorted.
  llvm::Expected<std::vector<Digest>> names() const;

  /// Reads the manifest of one entry.
  llvm::Expected<EntryInfo> info(const Digest &name) const;

  /// The one entry whose name begins with `prefix`.
  llvm::Expected<Digest> find(llvm::StringRef prefix) const;

  /// Of the entries of other keys, the one whose key differs from `key` in the
  /// fewest components; of equals the last used. It says why `key` missed.
  llvm::Expected<EntryInfo> nearest(const Key &key) const;

  /// Loads an entry without noting that it is used. That it is not there is an
  /// error.
  llvm::Expected<EntryPtr> read(const Digest &name);

  /// Checks every byte of an entry. A damaged one is set aside, as by a load.
  llvm::Error verify(const Digest &name);

  /// Removes one entry; that it is not there is no error.
  llvm::Error remove(const Digest &name);

  /// Removes all entries and the quarantine; returns how many entries it
  /// removed.
  llvm::Expected<uint64_t> clear();

  /// Removes what is too old, then the least recently used until the rest
  /// fits. Whoever is reading an entry meanwhile has all of it or misses.
  llvm::Expected<PruneResult> prune(const PruneLimits &limits);

  /// The bytes of all entries.
  llvm::Expected<uint64_t> totalSize() const;

  /// The right to hold the tuner's race of this name, which other processes
  /// wait for; null if somebody has had it for all of `timeout`, or in a
  /// group's directory for as long as members are waited for.
  llvm::Expected<std::unique_ptr<KeyLock>>
  lockRace(llvm::StringRef name, std::chrono::milliseconds timeout);

  /// The journal of such a race: lines that outlive who wrote them. One that is
  /// not there is empty.
  llvm::Expected<std::string> readJournal(llvm::StringRef name) const;
  llvm::Error appendJournal(llvm::StringRef name, llvm::StringRef line);
  void removeJournal(llvm::StringRef name);

  /// Removes locks and journals of all races.
  void clearRaces();

  /// True if nobody but this user and the superuser can have written what is
  /// in the directory: it is on a file system of this host, and neither it nor
  /// what leads to it can be written by others.
  bool isPrivate() const;

  /// The directory as it was given, made absolute.
  llvm::StringRef root() const { return rootPath; }

  /// Where the entry of this name is or would be.
  std::string pathOf(const Digest &name) const;

private:
  struct Measured;
  struct Staged;

  DirectoryStore(std::string root, DirectoryOptions options);

  std::string pathOf(llvm::StringRef part) const;
  const Modes &modes() const;
  llvm::Expected<std::optional<Descriptor>> openRoot() const;
  llvm::Expected<std::optional<Descriptor>>
  openVersion(const Descriptor &root) const;
  llvm::Expected<std::optional<Descriptor>> openVersion() const;
  llvm::Expected<Descriptor> prepare() const;
  llvm::Expected<Descriptor> openPart(llvm::StringRef part) const;
  llvm::Expected<std::optional<EntryReader>>
  openEntry(const Digest &name) const;
  llvm::Expected<EntryInfo>
  readInfo(llvm::Expected<std::optional<EntryReader>> reader,
           const Digest &name) const;
  llvm::Error failure(std::error_code error, const llvm::Twine &what) const;

  Trust trustFor(Use use) const;
  bool wasPrivate() const;
  llvm::Error checkPlace(Trust own, Use use) const;
  llvm::Expected<EntryPtr> lookupTrusted(const Key &key, Trust own);
  llvm::Expected<std::optional<Descriptor>>
  openFanOut(const Descriptor &version, const Digest &name) const;
  llvm::Expected<EntryPtr> load(const Digest &name, bool use,
                                const Worth &worth);
  llvm::Expected<EntryPtr> loadOrQuarantine(const Digest &name, bool use,
                                            const Worth &worth);
  void quarantine(const Digest &name);

  llvm::Expected<Staged> stage(const Key &key, const Entry &entry) const;
  llvm::Expected<bool> publish(const Staged &staged, const Digest &name) const;

  llvm::Error walk(
      llvm::function_ref<bool(const Descriptor &, const Digest &)> visit) const;
  static std::optional<Measured> measure(const Descriptor &version,
                                         const Digest &name);
  llvm::Expected<std::vector<Measured>> measure() const;
  static void sortForEviction(std::vector<Measured> &entries,
                              llvm::sys::TimePoint<> present);
  llvm::Error account(uint64_t size);
  llvm::Error keepBounds(uint64_t size);
  llvm::Expected<bool> moveAway(const Digest &name, const Descriptor &part,
                                const std::string &newName) const;
  llvm::Error discard(const Digest &name) const;
  std::optional<llvm::sys::TimePoint<>> now() const;
  void removeOlder(llvm::StringRef part, std::chrono::seconds age,
                   std::chrono::steady_clock::time_point deadline =
                       std::chrono::steady_clock::time_point::max()) const;
  void reap() const;
  void tidy();

  const std::string rootPath;
  const std::string versionPath;
  const DirectoryOptions options;
  std::once_flag tidied;
  /// How long the directory is taken for private without another look.
  mutable std::atomic<std::chrono::steady_clock::rep> privateUntil = 0;

  /// Members of a group can hold locks, fill the directory, and leave there
  /// what takes long to read: what took too long is not waited for again soon.
  Patience reads{options.readsAtMost, std::chrono::seconds(30)};
  Breaker keyLocks{1, std::chrono::seconds(30)};
  Breaker raceLocks{1, std::chrono::minutes(10)};
  Breaker bounding{1, std::chrono::seconds(30)};
};

} // namespace tl::cache

#endif // TL_CACHE_DIRECTORYSTORE_H
