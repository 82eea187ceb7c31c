//===- MemoryStore.cpp - Artifacts of this process ------------------------===//
//
// One mutex guards the table: it is held for a few pointer moves, never while
// bytes are read or copied.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/MemoryStore.h"

using namespace llvm;
using namespace tl::cache;

Expected<EntryPtr> MemoryStore::lookup(const Key &key) {
  std::lock_guard<std::mutex> guard(mutex);
  auto found = index.find(key.digest());
  if (found == index.end()) {
    counters.misses.add();
    return EntryPtr();
  }
  items.splice(items.begin(), items, found->second);
  counters.hits.add();
  counters.bytesRead.add(items.front().second->size());
  return items.front().second;
}

Expected<EntryPtr> MemoryStore::insert(const Key &key, EntryPtr entry) {
  // It would drive out all others, and then itself.
  if (entry->size() > maxBytes)
    return entry;
  std::lock_guard<std::mutex> guard(mutex);
  auto [position, isNew] = index.try_emplace(key.digest());
  if (!isNew)
    return position->second->second;
  items.emplace_front(key.digest(), entry);
  position->second = items.begin();
  bytes += entry->size();
  counters.inserted.add();
  counters.bytesWritten.add(entry->size());
  evict();
  return entry;
}

/// Drops the least recently used entries until the rest is within the bound.
void MemoryStore::evict() {
  while (bytes > maxBytes) {
    bytes -= items.back().second->size();
    index.erase(items.back().first);
    items.pop_back();
    counters.evicted.add();
  }
}

void MemoryStore::clear() {
  std::lock_guard<std::mutex> guard(mutex);
  index.clear();
  items.clear();
  bytes = 0;
}

uint64_t MemoryStore::totalSize() const {
  std::lock_guard<std::mutex> guard(mutex);
  return bytes;
}
