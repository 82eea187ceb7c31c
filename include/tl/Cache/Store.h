//===- Store.h - Where artifacts are kept ----------------------*- C++ -*-===//
//
// The interface of a tier: memory, a directory, a server. A tier may lose what
// it was given and may fail; it never returns an entry that differs from the
// one that was stored. What a failure means is decided above, in `TieredStore`:
// a warning, and the work is done again.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_STORE_H
#define TL_CACHE_STORE_H

#include "tl/Cache/Entry.h"
#include "tl/Cache/Key.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace tl::cache {

/// A number that many threads count. A copy is a snapshot.
class Counter {
public:
  Counter() = default;
  Counter(const Counter &other) : value(other.get()) {}
  Counter &operator=(const Counter &other) {
    value.store(other.get(), std::memory_order_relaxed);
    return *this;
  }

  void add(uint64_t amount = 1) {
    value.fetch_add(amount, std::memory_order_relaxed);
  }
  uint64_t get() const { return value.load(std::memory_order_relaxed); }

private:
  std::atomic<uint64_t> value = 0;
};

/// What one tier did since it was opened.
struct StoreStats {
  Counter hits;
  Counter misses;
  Counter inserted;
  Counter bytesRead;
  Counter bytesWritten;
  /// Damaged entries that were set aside.
  Counter quarantined;
  /// Entries that made room for others.
  Counter evicted;
  /// Requests that a server did not answer, or answered with nonsense.
  Counter failures;
  /// Entries that were to be uploaded and were not.
  Counter dropped;
};

/// A tier could not answer or keep something. `place` is the directory or the
/// entry, `reason` what is wrong with it and what follows.
class StoreError : public llvm::ErrorInfo<StoreError> {
public:
  static char ID;

  StoreError(std::string place, std::string reason)
      : place(std::move(place)), reason(std::move(reason)) {}

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string place;
  std::string reason;
};

/// Reads an entry that was found, all that its user will read of it. The error
/// says why it is not what was stored under the key; then it is a miss, and no
/// other tier gets it.
using Accept = llvm::function_ref<llvm::Error(const Entry &)>;

/// The right to make the artifact of a key, released when destroyed.
class KeyLock {
public:
  virtual ~KeyLock() = default;
};

class ArtifactStore {
public:
  virtual ~ArtifactStore() = default;

  /// A short name for statistics: `memory`, `directory`, `shared`.
  virtual llvm::StringRef name() const = 0;

  /// What messages call it: a directory, a server.
  virtual std::string place() const { return name().str(); }

  /// True if nobody but this process can put an entry there.
  virtual bool isOfThisProcess() const { return false; }

  /// The entry stored under `key`, or null if there is none. An error says why
  /// the tier cannot answer.
  virtual llvm::Expected<EntryPtr> lookup(const Key &key) = 0;

  /// Stores an entry and returns the one that the tier now holds under `key`:
  /// if another writer was first, that writer's, so that all use the same.
  virtual llvm::Expected<EntryPtr> insert(const Key &key, EntryPtr entry) = 0;

  /// Waits until nobody else holds the lock of `key`, in any process that
  /// shares this store. Null if the tier has no locks, or if the entry appeared
  /// while somebody held it; an error if they do not work or `timeout` passed.
  virtual llvm::Expected<std::unique_ptr<KeyLock>>
  lock(const Key &key, std::chrono::milliseconds timeout);

  /// Notes that the entry of a key turned out to be of no use: the next one
  /// that is inserted replaces it.
  virtual void reject(const Key &key) {}

  /// True if other machines may hold the tier's entries. It is asked after all
  /// tiers of this machine, and by one thread of one process for each key.
  virtual bool isShared() const { return false; }

  /// Completes what is done in the background, for at most so long, and gives
  /// up the rest. True if nothing was given up.
  virtual bool finish(std::chrono::milliseconds) { return true; }

  const StoreStats &stats() const { return counters; }

protected:
  StoreStats counters;
};

/// The value of an environment variable, or none if it is not set.
using Variables =
    llvm::function_ref<std::optional<std::string>(llvm::StringRef name)>;

/// True if a variable is set, and neither empty nor `0`, `false`, `no` or `off`
/// in whatever case.
bool readFlag(Variables variables, llvm::StringRef name);

using WarningHandler = std::function<void(llvm::StringRef)>;

/// Reports trouble once: the same place and reason a second time is silent.
class Warnings {
public:
  /// Without a handler warnings go to the standard error stream.
  explicit Warnings(WarningHandler handler = {});

  void report(llvm::Error error);

private:
  WarningHandler handler;
  std::mutex mutex;
  llvm::StringSet<> seen;
};

} // namespace tl::cache

#endif // TL_CACHE_STORE_H
