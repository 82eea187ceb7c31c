//===- TieredStore.cpp - Several stores as one ----------------------------===//
//
// Entries are inserted from the last tier to the first: the most widely shared
// tier decides which of two writers was first, and the nearer ones follow it.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/TieredStore.h"

#include "tl/Cache/Budget.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace tl::cache;

/// True if what a tier has found may be used and can be read; else says why
/// not.
bool TieredStore::isUsable(ArtifactStore &tier, const Key &key,
                           const Entry &entry, Accept accept, Use use) {
  Error error = checkTrust(entry.trust, std::max(use, key.use()));
  // What this process holds was read when it came.
  if (!error && accept && !tier.isOfThisProcess()) {
    error = accept(entry);
    if (error)
      tier.reject(key);
  }
  if (!error)
    return true;
  // Of a stage nobody is told: what is made instead is as good.
  if (isIntermediate(use)) {
    consumeError(std::move(error));
    return false;
  }
  warnings.report(make_error<StoreError>(
      tier.place(), "the entry `" + key.hex() + "` is not used: it " +
                        toString(std::move(error))));
  return false;
}

/// Asks the tiers that are shared, or those that are not.
EntryPtr TieredStore::lookupWhere(bool isShared, const Key &key, Accept accept,
                                  Use use) {
  for (size_t i = 0; i < tiers.size(); ++i) {
    if (tiers[i]->isShared() != isShared)
      continue;
    Expected<EntryPtr> entry = tiers[i]->lookup(key);
    if (!entry) {
      warnings.report(entry.takeError());
      continue;
    }
    if (!*entry || !isUsable(*tiers[i], key, **entry, accept, use))
      continue;
    counters.hits.add();
    return fill(i, key, std::move(*entry), accept, use);
  }
  counters.misses.add();
  return EntryPtr();
}

EntryPtr TieredStore::lookupHere(const Key &key, Accept accept, Use use) {
  return lookupWhere(/*isShared=*/false, key, accept, use);
}

EntryPtr TieredStore::lookupElsewhere(const Key &key, Accept accept, Use use) {
  // What all servers take together counts.
  BudgetScope budget;
  return lookupWhere(/*isShared=*/true, key, accept, use);
}

Expected<EntryPtr> TieredStore::lookup(const Key &key) {
  if (EntryPtr entry = lookupHere(key))
    return entry;
  return lookupElsewhere(key);
}

Expected<EntryPtr> TieredStore::insert(const Key &key, EntryPtr entry) {
  return insert(key, std::move(entry), {});
}

EntryPtr TieredStore::insert(const Key &key, EntryPtr entry, Accept accept,
                             Use use) {
  counters.inserted.add();
  return fill(tiers.size(), key, std::move(entry), accept, use);
}

/// True if what a tier returned for `entry` is another writer's. Those have
/// their trust from where they lay; only of allowed ones that does not tell.
static bool isOthers(const Entry &held, const Entry &entry) {
  return held.trust != entry.trust || held.trust == Trust::Allowed;
}

/// Inserts an entry into the first `numTiers` tiers and returns the one that
/// they agree on.
EntryPtr TieredStore::fill(size_t numTiers, const Key &key, EntryPtr entry,
                           Accept accept, Use use) {
  auto nearer = ArrayRef(tiers).take_front(numTiers);
  for (const std::unique_ptr<ArtifactStore> &tier : reverse(nearer)) {
    Expected<EntryPtr> held = tier->insert(key, entry);
    // What was rejected is out of the way the second time.
    if (held && *held != entry && isOthers(**held, *entry) &&
        !isUsable(*tier, key, **held, accept, use))
      held = tier->insert(key, entry);
    if (!held)
      warnings.report(held.takeError());
    else if (*held == entry || !isOthers(**held, *entry) ||
             isUsable(*tier, key, **held, accept, use))
      entry = std::move(*held);
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
