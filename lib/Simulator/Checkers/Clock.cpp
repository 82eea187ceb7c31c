//===- Clock.cpp - What a thread knows of all others ----------------------===//

#include "tl/Simulator/Checkers/Clock.h"

#include <algorithm>

using namespace tl::sim;

bool LaneTimes::areAtLeast(LaneMask mask, uint32_t time) const {
  if (least >= time || !mask)
    return true;
  if (!lanes)
    return false;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (mask >> lane & 1 && lanes->times[lane] < time)
      return false;
  return true;
}

void LaneTimes::own() {
  if (lanes && lanes->UseCount() == 1)
    return;
  auto array = llvm::makeIntrusiveRefCnt<Array>();
  if (lanes)
    array->times = lanes->times;
  else
    array->times.fill(least);
  lanes = std::move(array);
}

void LaneTimes::settle() {
  uint32_t low = lanes->times[0], high = low;
  for (uint32_t time : lanes->times) {
    low = std::min(low, time);
    high = std::max(high, time);
  }
  least = low;
  if (low == high)
    lanes = nullptr;
}

void LaneTimes::raise(LaneMask mask, uint32_t time) {
  if (areAtLeast(mask, time))
    return;
  if (!lanes && mask == kAllLanes) {
    least = time;
    return;
  }
  own();
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (mask >> lane & 1)
      lanes->times[lane] = std::max(lanes->times[lane], time);
  settle();
}

void LaneTimes::raise(const LaneTimes &other) {
  if (!other.lanes)
    return raise(kAllLanes, other.least);
  if (lanes == other.lanes)
    return;
  if (!lanes && least <= other.least) {
    *this = other;
    return;
  }
  // Mostly one of the two knows more of all lanes, and its array can be shared.
  if (lanes) {
    uint32_t isLower = 0, isHigher = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      isLower |= lanes->times[lane] < other.lanes->times[lane];
      isHigher |= lanes->times[lane] > other.lanes->times[lane];
    }
    if (!isLower)
      return;
    if (!isHigher) {
      *this = other;
      return;
    }
  }
  own();
  for (unsigned lane = 0; lane < kLanes; ++lane)
    lanes->times[lane] = std::max(lanes->times[lane], other.lanes->times[lane]);
  settle();
}

void Clock::raisePhases(unsigned barrier, uint64_t count) {
  if (barrier >= phases.size())
    phases.resize(barrier + 1);
  phases[barrier] = std::max(phases[barrier], count);
}

void Clock::join(const Clock &other) {
  joinThreads(other);
  joinOthers(other.others);
}

void Clock::joinThreads(const Clock &other) {
  for (size_t i = 0, end = warps.size(); i < end; ++i)
    warps[i].raise(other.warps[i]);
  for (size_t i = 0, end = other.phases.size(); i < end; ++i)
    raisePhases(i, other.phases[i]);
}

void Clock::joinOthers(const std::shared_ptr<const OtherBlocks> &more) {
  if (!more || others == more)
    return;
  if (!others) {
    others = more;
    return;
  }
  auto all = std::make_shared<OtherBlocks>(*others);
  for (const auto &[cluster, clock] : more->clocks)
    all->joinThreads(cluster, clock);
  others = std::move(all);
}

void OtherBlocks::join(uint64_t cluster, const Clock &clock) {
  if (const OtherBlocks *known = clock.getOthers())
    for (const auto &[other, its] : known->clocks)
      joinThreads(other, its);
  joinThreads(cluster, clock);
}

void OtherBlocks::joinThreads(uint64_t cluster, const Clock &clock) {
  auto [it, isNew] = clocks.try_emplace(cluster);
  if (!isNew) {
    it->second.joinThreads(clock);
    return;
  }
  it->second = clock;
  it->second.forgetOthers();
}
