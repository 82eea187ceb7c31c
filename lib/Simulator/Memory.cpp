//===- Memory.cpp - Memory of a simulated launch --------------------------===//
//
// See Memory.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Memory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <atomic>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <sys/mman.h>
#include <unistd.h>

using namespace tl::sim;

/// What was added. Ranges stay where they are: warps remember theirs.
struct GlobalMemory::Added {
  struct Entry {
    Range range;
    /// The bytes that were there, if someone will put them back.
    std::vector<uint8_t> before;
  };
  std::shared_mutex mutex;
  std::deque<Entry> entries;
  /// Whether there are any, for those that do not want to wait.
  std::atomic<bool> any = false;
  std::atomic<bool> keepsCopies = false;

  const Range *find(uint64_t address, uint64_t count) {
    if (!any)
      return nullptr;
    std::shared_lock<std::shared_mutex> lock(mutex);
    for (const Entry &entry : entries)
      if (address >= entry.range.begin && address < entry.range.end &&
          count <= entry.range.end - address)
        return &entry.range;
    return nullptr;
  }
};

/// Whether the process has memory at all addresses from `begin` to `end`.
static bool isMapped(uint64_t begin, uint64_t end) {
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t first = llvm::alignDown(begin, page);
  constexpr uint64_t most = 4096;
  unsigned char pages[most];
  for (uint64_t at = first; at < end; at += most * page)
    // The kernel fails if a page is not there, resident or not.
    if (mincore(reinterpret_cast<void *>(at), std::min(end - at, most * page),
                pages) != 0)
      return false;
  return true;
}

GlobalMemory::GlobalMemory(GlobalMemory &&) = default;
GlobalMemory::~GlobalMemory() = default;

GlobalMemory::GlobalMemory(std::vector<Range> given)
    : ranges(std::move(given)), added(std::make_unique<Added>()) {
  llvm::stable_sort(
      ranges, [](const Range &a, const Range &b) { return a.begin < b.begin; });
}

const GlobalMemory::Range *GlobalMemory::find(uint64_t address,
                                              uint64_t count) const {
  for (const Range &range : ranges) {
    if (range.begin > address)
      break;
    if (address < range.end && count <= range.end - address)
      return &range;
  }
  return added->find(address, count);
}

bool GlobalMemory::add(Range range) const {
  if (range.begin > range.end || !isMapped(range.begin, range.end))
    return false;
  std::unique_lock<std::shared_mutex> lock(added->mutex);
  if (llvm::any_of(added->entries, [&](const Added::Entry &entry) {
        return entry.range.begin == range.begin && entry.range.end == range.end;
      }))
    return true;
  std::vector<uint8_t> before;
  if (added->keepsCopies)
    before.assign(at(range.begin), at(range.end));
  added->entries.push_back({std::move(range), std::move(before)});
  added->any = true;
  return true;
}

const GlobalMemory::Range *GlobalMemory::findNearest(uint64_t address) const {
  auto getDistance = [&](const Range &range) -> uint64_t {
    return address < range.begin  ? range.begin - address
           : address >= range.end ? address - range.end + 1
                                  : 0;
  };
  auto nearest = llvm::min_element(ranges, [&](const Range &a, const Range &b) {
    return getDistance(a) < getDistance(b);
  });
  return nearest == ranges.end() ? nullptr : &*nearest;
}

std::vector<std::vector<uint8_t>> GlobalMemory::save() const {
  added->keepsCopies = true;
  std::vector<std::vector<uint8_t>> saved;
  for (const Range &range : ranges)
    saved.emplace_back(at(range.begin), at(range.end));
  return saved;
}

void GlobalMemory::restore(
    const std::vector<std::vector<uint8_t>> &saved) const {
  // Ranges may overlap, and the oldest copy is the one of before.
  for (const Added::Entry &entry : llvm::reverse(added->entries))
    llvm::copy(entry.before, at(entry.range.begin));
  for (auto [range, bytes] : llvm::zip_equal(ranges, saved))
    llvm::copy(bytes, at(range.begin));
}
