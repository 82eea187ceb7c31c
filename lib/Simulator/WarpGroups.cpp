//===- WarpGroups.cpp - What four warps do together -----------------------===//
//
// See WarpGroups.h.
//
//===----------------------------------------------------------------------===//

#include "WarpGroups.h"

using namespace tl::sim;

std::optional<WarpGroups::Instance>
WarpGroups::arrive(const Event &event, std::array<uint64_t, 2> factors) {
  Group &group = groups[event.warp.warp / kWarps];
  uint64_t number = group.counts[event.warp.warp % kWarps]++;
  uint64_t index = number - group.completed;
  if (index == group.open.size())
    group.open.push_back({event, factors});
  Instance &instance = group.open[index];
  if (instance.first.instruction != event.instruction ||
      instance.factors != factors)
    return instance;
  // All have come to the ones before it, too.
  if (++instance.arrived == kWarps) {
    group.open.pop_front();
    ++group.completed;
  }
  return std::nullopt;
}

std::optional<WarpGroups::Instance> WarpGroups::findOpen() const {
  // The lowest group, whatever the order of the map.
  std::optional<Instance> found;
  for (const auto &[number, group] : groups)
    if (!group.open.empty() &&
        (!found || group.open.front().first.warp.warp < found->first.warp.warp))
      found = group.open.front();
  return found;
}
