//===- Cache.h - Every artifact is made once -------------------*- C++ -*-===//
//
// The cache as its users see it: ask for the artifact of a key and say how to
// make it. It comes from the nearest tier that has it; if none has, it is made
// once, however many threads and processes ask at the same time.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_CACHE_H
#define TL_CACHE_CACHE_H

#include "tl/Cache/DirectoryStore.h"
#include "tl/Cache/MemoryStore.h"
#include "tl/Cache/SharedTiers.h"
#include "tl/Cache/TieredStore.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <condition_variable>

namespace tl::cache {

struct CacheOptions {
  /// Where entries are kept on disk; without it they are kept in memory alone.
  std::optional<std::string> directory;
  DirectoryOptions directoryOptions;
  uint64_t memoryBytes = MemoryStore::defaultMaxBytes;

  /// Servers to ask for what is neither in memory nor in the directory.
  SharedTiers shared;

  /// How long to wait for another thread or process that makes what we need,
  /// before making it ourselves.
  std::chrono::milliseconds waitAtMost = std::chrono::minutes(10);

  /// Hears of tiers that do not work; prints to standard error by default.
  WarningHandler warn;
};

/// Where an artifact came from.
enum class Origin {
  /// It was in the cache.
  Stored,
  /// It was made by this call.
  Made,
  /// It was made by another thread or process while this call waited.
  Shared,
};

struct Fetched {
  EntryPtr entry;
  Origin origin;
};

/// What callers of a cache got; the tiers count for themselves.
struct CacheStats {
  Counter stored;
  Counter made;
  Counter shared;
  /// Artifacts that could not be made.
  Counter failed;
};

class Cache {
public:
  /// A directory that cannot be used is named in a warning, and the cache does
  /// without.
  explicit Cache(CacheOptions options);
  ~Cache();

  /// Adds a tier behind the others. Not while the cache is in use.
  void addTier(std::unique_ptr<ArtifactStore> tier) {
    store.addTier(std::move(tier));
  }

  /// The artifact of `key`, or null if no tier has one that `accept` can read.
  EntryPtr lookup(const Key &key, Accept accept = {});

  /// Stores an artifact and returns the one to use, which is another writer's
  /// if that was first.
  EntryPtr insert(const Key &key, Entry entry);

  /// The artifact of `key`: the stored one, else what `make` returns, which is
  /// then stored. Of all that ask at once one calls `make`. A failure is
  /// returned to all threads that wait for it and is not stored. A stored one
  /// is read by `accept` before anything else is done with it. `use` is what is
  /// done with it here, if that is more than the key says.
  llvm::Expected<Fetched>
  withKey(const Key &key, llvm::function_ref<llvm::Expected<Entry>()> make,
          Accept accept = {}, Use use = Use::Read);

  /// The directory tier, or an error that says why there is none.
  llvm::Expected<DirectoryStore *> directory();

  /// Removes all entries from memory and from the directory; never from a
  /// shared tier, whose entries are others' too. Returns how many the directory
  /// had.
  llvm::Expected<uint64_t> clear();

  /// Drops what is kept in memory.
  void forget() { memoryTier->clear(); }

  /// Removes one entry from the directory, and drops what is kept in memory;
  /// that it is not there is no error.
  llvm::Error remove(const Digest &name);

  /// Waits, at most so long, until shared tiers have what was inserted, and
  /// gives up the rest. True if nothing was given up.
  bool finish(std::chrono::milliseconds atMost) { return store.finish(atMost); }

  const CacheStats &stats() const { return counters; }

  /// Whom entries of others are taken from.
  const SharedTiers &sharing() const { return options.shared; }

  /// All tiers, nearest first.
  llvm::ArrayRef<std::unique_ptr<ArtifactStore>> tiers() const {
    return store.stores();
  }

private:
  struct Flight;

  void openDirectory();
  using Make = llvm::function_ref<llvm::Expected<Entry>()>;
  llvm::Expected<Fetched> lead(const Key &key, Make make, Accept accept,
                               Use use);
  llvm::Expected<Fetched> makeAndStore(const Key &key, Make make, Accept accept,
                                       Use use);
  llvm::Expected<Fetched> land(const Key &key, Flight &flight,
                               llvm::Expected<Fetched> result);
  std::optional<llvm::Expected<Fetched>> follow(Flight &flight);
  llvm::Expected<Fetched> count(llvm::Expected<Fetched> result);

  const CacheOptions options;
  Warnings warnings;
  TieredStore store;
  MemoryStore *memoryTier = nullptr;
  DirectoryStore *directoryTier = nullptr;
  std::string whyNoDirectory = "the cache was opened without a directory";
  CacheStats counters;

  std::mutex mutex;
  std::condition_variable landed;
  /// What threads of this process are making.
  std::unordered_map<Digest, std::shared_ptr<Flight>, DigestHash> flights;
};

} // namespace tl::cache

#endif // TL_CACHE_CACHE_H
