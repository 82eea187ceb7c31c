//===- MemoryStore.h - Artifacts of this process ---------------*- C++ -*-===//
//
// The first tier: a bounded table of entries that this process made or loaded,
// least recently used out first. A hit shares the entry and copies nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CACHE_MEMORYSTORE_H
#define TL_CACHE_MEMORYSTORE_H

#include "tl/Cache/Store.h"

#include <list>
#include <unordered_map>

namespace tl::cache {

class MemoryStore final : public ArtifactStore {
public:
  static constexpr uint64_t defaultMaxBytes = 256 << 20;

  explicit MemoryStore(uint64_t maxBytes = defaultMaxBytes)
      : maxBytes(maxBytes) {}

  llvm::StringRef name() const override { return "memory"; }
  bool isOfThisProcess() const override { return true; }
  llvm::Expected<EntryPtr> lookup(const Key &key) override;
  llvm::Expected<EntryPtr> insert(const Key &key, EntryPtr entry) override;

  void clear();

  /// The bytes of all files held.
  uint64_t totalSize() const;

private:
  using Item = std::pair<Digest, EntryPtr>;

  void evict();

  const uint64_t maxBytes;
  mutable std::mutex mutex;
  /// Most recently used first.
  std::list<Item> items;
  std::unordered_map<Digest, std::list<Item>::iterator, DigestHash> index;
  uint64_t bytes = 0;
};

} // namespace tl::cache

#endif // TL_CACHE_MEMORYSTORE_H
