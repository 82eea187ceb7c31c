//===- TieredStore.h - Several stores as one -------------------*- C++ -*-===//
//
// Tiers from the nearest (memory) to the most widely shared (a server). A hit
// in one fills those before it. A tier that fails costs speed and is named in
// one warning; the others answer. So does one whose entry may not be used, or
// cannot be read: no other tier gets that.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_TIEREDSTORE_H
#define TL_CACHE_TIEREDSTORE_H

#include "tl/Cache/Store.h"

#include <vector>

namespace tl::cache {

class TieredStore final : public ArtifactStore {
public:
  /// `warnings` outlives the store.
  explicit TieredStore(Warnings &warnings) : warnings(warnings) {}

  /// Adds a tier behind the others.
  void addTier(std::unique_ptr<ArtifactStore> tier) {
    tiers.push_back(std::move(tier));
  }

  llvm::StringRef name() const override { return "tiers"; }

  /// Never fails: a tier that cannot answer has missed.
  llvm::Expected<EntryPtr> lookup(const Key &key) override;

  /// The entry that a tier of this machine holds, or null. What comes from
  /// outside of the process is read by `accept` first; `use` is what is done
  /// with it, if that is more than the key says.
  EntryPtr lookupHere(const Key &key, Accept accept = {}, Use use = Use::Read);

  /// The entry that a shared tier holds, or null.
  EntryPtr lookupElsewhere(const Key &key, Accept accept = {},
                           Use use = Use::Read);

  /// Never fails: an entry that no tier keeps is returned as it came.
  llvm::Expected<EntryPtr> insert(const Key &key, EntryPtr entry) override;

  /// The same; of another writer's entry that `accept` cannot read, ours is
  /// returned.
  EntryPtr insert(const Key &key, EntryPtr entry, Accept accept,
                  Use use = Use::Read);

  /// The lock of the most widely shared tier that has locks.
  llvm::Expected<std::unique_ptr<KeyLock>>
  lock(const Key &key, std::chrono::milliseconds timeout) override;

  bool finish(std::chrono::milliseconds atMost) override;

  llvm::ArrayRef<std::unique_ptr<ArtifactStore>> stores() const {
    return tiers;
  }

private:
  EntryPtr lookupWhere(bool isShared, const Key &key, Accept accept, Use use);
  EntryPtr fill(size_t numTiers, const Key &key, EntryPtr entry, Accept accept,
                Use use);
  bool isUsable(ArtifactStore &tier, const Key &key, const Entry &entry,
                Accept accept, Use use);

  Warnings &warnings;
  std::vector<std::unique_ptr<ArtifactStore>> tiers;
};

} // namespace tl::cache

#endif // TL_CACHE_TIEREDSTORE_H
