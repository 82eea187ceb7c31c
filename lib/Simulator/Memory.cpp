//===- Memory.cpp - Memory of a simulated launch --------------------------===//
//
// See Memory.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Memory.h"

#include "llvm/ADT/STLExtras.h"

using namespace tl::sim;

GlobalMemory::GlobalMemory(std::vector<Range> given)
    : ranges(std::move(given)) {
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
  return nullptr;
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
  std::vector<std::vector<uint8_t>> saved;
  for (const Range &range : ranges)
    saved.emplace_back(at(range.begin), at(range.end));
  return saved;
}

void GlobalMemory::restore(
    const std::vector<std::vector<uint8_t>> &saved) const {
  for (auto [range, bytes] : llvm::zip_equal(ranges, saved))
    llvm::copy(bytes, at(range.begin));
}
