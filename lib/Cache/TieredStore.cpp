//===- TieredStore.cpp - Several stores as one ----------------------------===//
//
// Entries are inserted from the last tier to the first: the most widely shared
// tier decides which of two writers was first, and the nearer ones follow it.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/TieredStore.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tl::cache;

/// Asks the tiers that are shared, or those that are not.
EntryPtr TieredStore::lookupWhere(bool isShared, const Key &key) {
  for (size_t i = 0; i < tiers.size(); ++i) {
    if (tiers[i]->isShared() != isShared)
      continue;
    Expected<EntryPtr> entry = tiers[i]->lookup(key);
    if (!entry) {
      warnings.report(entry.takeError());
      continue;
    }
    if (!*entry)
      continue;
    counters.hits.add();
    return fill(i, key, std::move(*entry));
  }
  counters.misses.add();
  return EntryPtr();
}

EntryPtr TieredStore::lookupHere(const Key &key) {
  return lookupWhere(/*isShared=*/false, key);
}

EntryPtr TieredStore::lookupElsewhere(const Key &key) {
  return lookupWhere(/*isShared=*/true, key);
}

Expected<EntryPtr> TieredStore::lookup(const Key &key) {
  if (EntryPtr entry = lookupHere(key))
    return entry;
  return lookupElsewhere(key);
}

Expected<EntryPtr> TieredStore::insert(const Key &key, EntryPtr entry) {
  counters.inserted.add();
  return fill(tiers.size(), key, std::move(entry));
}

/// Inserts an entry into the first `numTiers` tiers and returns the one that
/// they agree on.
EntryPtr TieredStore::fill(size_t numTiers, const Key &key, EntryPtr entry) {
  auto nearer = ArrayRef(tiers).take_front(numTiers);
  for (const std::unique_ptr<ArtifactStore> &tier : reverse(nearer)) {
    Expected<EntryPtr> held = tier->insert(key, entry);
    if (held)
      entry = std::move(*held);
    else
      warnings.report(held.takeError());
  }
  return entry;
}

Expected<std::unique_ptr<KeyLock>>
TieredStore::lock(const Key &key, std::chrono::milliseconds timeout) {
  for (const std::unique_ptr<ArtifactStore> &tier : reverse(tiers)) {
    Expected<std::unique_ptr<KeyLock>> lock = tier->lock(key, timeout);
    if (!lock || *lock)
      return lock;
  }
  return std::unique_ptr<KeyLock>();
}

bool TieredStore::finish(std::chrono::milliseconds atMost) {
  auto deadline = std::chrono::steady_clock::now() + atMost;
  bool isComplete = true;
  for (const std::unique_ptr<ArtifactStore> &tier : tiers) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    isComplete &= tier->finish(std::max(left, std::chrono::milliseconds(0)));
  }
  return isComplete;
}
