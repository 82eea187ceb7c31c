//===- Cache.cpp - Every artifact is made once ----------------------------===//
//
// Among the threads of a process the first to miss a key leads and the others
// wait for what it makes. Among processes the leaders compete for the lock of
// the key; who gets it looks again, because the one before may have made it,
// and only then asks the shared tiers: a machine asks once for each key.
// Waiting is only ever an optimisation: whoever waits too long, or cannot
// lock, does the work itself.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/Cache.h"

#include "tl/Cache/SharedStore.h"

#include <thread>

#include <unistd.h>

using namespace llvm;
using namespace tl::cache;

/// An artifact that a thread of this process is making.
struct Cache::Flight {
  const std::thread::id leader = std::this_thread::get_id();
  /// A child that was forked meanwhile has the flight but not the thread.
  const pid_t process = ::getpid();
  bool hasLanded = false;
  EntryPtr entry;
  std::string failure;
};

static std::unique_ptr<ArtifactStore> openShared(const RemoteAddress &server,
                                                 const CacheOptions &options,
                                                 Warnings &warnings) {
  SharedOptions shared;
  shared.place = server.url();
  shared.isReadOnly = server.isReadOnly;
  shared.key = options.shared.key;
  shared.allowUnsigned = options.shared.allowUnsigned;
  // All servers together have the time of one.
  shared.waitsAtMost /= options.shared.servers.size();
  shared.creator = options.directoryOptions.creator;
  return std::make_unique<SharedStore>(
      [server, connection = options.shared.connectionTo(server)] {
        return openTransport(server, connection);
      },
      std::move(shared), warnings);
}

Cache::Cache(CacheOptions given)
    : options(std::move(given)), warnings(options.warn), store(warnings) {
  auto memory = std::make_unique<MemoryStore>(options.memoryBytes);
  memoryTier = memory.get();
  store.addTier(std::move(memory));
  if (options.directory)
    openDirectory();
  for (const RemoteAddress &server : options.shared.servers)
    store.addTier(openShared(server, options, warnings));
}

void Cache::openDirectory() {
  Expected<std::unique_ptr<DirectoryStore>> directory =
      DirectoryStore::open(*options.directory, options.directoryOptions);
  if (!directory) {
    Error error = directory.takeError();
    whyNoDirectory = toStringWithoutConsuming(error);
    warnings.report(std::move(error));
    return;
  }
  directoryTier = directory->get();
  store.addTier(std::move(*directory));
}

Cache::~Cache() = default;

EntryPtr Cache::lookup(const Key &key, Accept accept) {
  if (EntryPtr entry = store.lookupHere(key, accept))
    return entry;
  return store.lookupElsewhere(key, accept);
}

EntryPtr Cache::insert(const Key &key, Entry entry) {
  return cantFail(
      store.insert(key, std::make_shared<const Entry>(std::move(entry))));
}

Expected<DirectoryStore *> Cache::directory() {
  if (!directoryTier)
    return createStringError(whyNoDirectory);
  return directoryTier;
}

Expected<uint64_t> Cache::clear() {
  forget();
  return directoryTier ? directoryTier->clear() : 0;
}

Error Cache::remove(const Digest &name) {
  forget();
  return directoryTier ? directoryTier->remove(name) : Error::success();
}

Expected<Fetched> Cache::count(Expected<Fetched> result) {
  if (!result)
    counters.failed.add();
  else if (result->origin == Origin::Stored)
    counters.stored.add();
  else if (result->origin == Origin::Made)
    counters.made.add();
  else
    counters.shared.add();
  return result;
}

/// True if what another thread found or made may be put to a use: that thread
/// may have wanted it for one that needs less trust.
static bool mayUse(const Entry &entry, const Key &key, Use use) {
  Error error = checkTrust(entry.trust, std::max(use, key.use()));
  bool isTrusted = !error;
  consumeError(std::move(error));
  return isTrusted;
}

Expected<Fetched> Cache::withKey(const Key &key,
                                 function_ref<Expected<Entry>()> make,
                                 Accept accept, Use use) {
  if (EntryPtr entry = store.lookupHere(key, accept, use))
    return count(Fetched{std::move(entry), Origin::Stored});

  auto flight = std::make_shared<Flight>();
  std::shared_ptr<Flight> other;
  {
    std::lock_guard<std::mutex> guard(mutex);
    std::shared_ptr<Flight> &slot = flights[key.digest()];
    if (slot && slot->process == flight->process)
      other = slot;
    else
      slot = flight;
  }
  if (!other)
    return count(land(key, *flight, lead(key, make, accept, use)));
  if (std::optional<Expected<Fetched>> result = follow(*other))
    if (!*result || mayUse(*(*result)->entry, key, use))
      return count(std::move(*result));
  return count(makeAndStore(key, make, accept, use));
}

/// Makes the artifact unless another process or machine made it meanwhile.
Expected<Fetched> Cache::lead(const Key &key, Make make, Accept accept,
                              Use use) {
  Expected<std::unique_ptr<KeyLock>> lock = store.lock(key, options.waitAtMost);
  if (!lock)
    warnings.report(lock.takeError());
  if (EntryPtr entry = store.lookupHere(key, accept, use))
    return Fetched{std::move(entry), Origin::Shared};
  if (EntryPtr entry = store.lookupElsewhere(key, accept, use))
    return Fetched{std::move(entry), Origin::Stored};
  return makeAndStore(key, make, accept, use);
}

Expected<Fetched> Cache::makeAndStore(const Key &key, Make make, Accept accept,
                                      Use use) {
  Expected<Entry> entry = make();
  if (!entry)
    return entry.takeError();
  auto made = std::make_shared<const Entry>(std::move(*entry));
  if (!made->mayBeKept)
    return Fetched{std::move(made), Origin::Made};
  return Fetched{store.insert(key, std::move(made), accept, use), Origin::Made};
}

/// Gives the leader's result to those who follow, and returns it.
Expected<Fetched> Cache::land(const Key &key, Flight &flight,
                              Expected<Fetched> result) {
  Error error = result.takeError();
  {
    std::lock_guard<std::mutex> guard(mutex);
    flight.hasLanded = true;
    if (error)
      flight.failure = toStringWithoutConsuming(error);
    else
      flight.entry = result->entry;
    flights.erase(key.digest());
  }
  landed.notify_all();
  if (error)
    return error;
  return result;
}

/// Waits for another thread's result. None if there will be none in time.
std::optional<Expected<Fetched>> Cache::follow(Flight &flight) {
  // A thread that needs, to make an artifact, the artifact itself.
  if (flight.leader == std::this_thread::get_id())
    return std::nullopt;
  std::unique_lock<std::mutex> guard(mutex);
  if (!landed.wait_for(guard, options.waitAtMost,
                       [&] { return flight.hasLanded; }))
    return std::nullopt;
  if (!flight.entry)
    return Expected<Fetched>(createStringError(flight.failure));
  return Expected<Fetched>(Fetched{flight.entry, Origin::Shared});
}
