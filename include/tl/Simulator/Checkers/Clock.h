//===- Clock.h - What a thread knows of all others --------------*- C++ -*-===//
//
// Time is counted for each warp: a warp's time goes on whenever one of its
// lanes lets others know what it did. A clock says of each lane of the block,
// or of all blocks of its cluster, up to which of its warp's times all that it
// did is known.
//
// Lanes are threads of their own, but most of the time all lanes of a warp are
// known up to the same time, so that a warp takes one number.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_CLOCK_H
#define TL_SIMULATOR_CHECKERS_CLOCK_H

#include "tl/Simulator/Lanes.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <map>
#include <memory>

namespace tl::sim {

/// A time for each lane of a warp.
class LaneTimes {
public:
  uint32_t get(unsigned lane) const {
    return lanes ? lanes->times[lane] : least;
  }

  /// What all lanes have come to.
  uint32_t getLeast() const { return least; }

  /// Whether all of `mask` have come to `time`.
  bool areAtLeast(LaneMask mask, uint32_t time) const;

  /// Raise times that are lower.
  void raise(LaneMask mask, uint32_t time);
  void raise(const LaneTimes &other);

private:
  struct Array : llvm::RefCountedBase<Array> {
    std::array<uint32_t, kLanes> times;
  };

  /// Makes an array that nothing else refers to.
  void own();
  /// Finds `least` again, and gives up the array if all are equal.
  void settle();

  uint32_t least = 0;
  /// Null if all lanes are at `least`.
  llvm::IntrusiveRefCntPtr<Array> lanes;
};

struct OtherBlocks;

/// What is known of each thread of a cluster, and of each mbarrier.
class Clock {
public:
  explicit Clock(unsigned warps = 0) : warps(warps) {}

  LaneTimes &operator[](unsigned warp) { return warps[warp]; }
  const LaneTimes &operator[](unsigned warp) const { return warps[warp]; }

  /// How many phases of mbarrier `barrier` are known to be complete.
  uint64_t getPhases(unsigned barrier) const {
    return barrier < phases.size() ? phases[barrier] : 0;
  }
  void raisePhases(unsigned barrier, uint64_t count);

  /// What is known of other clusters, or null if that is nothing.
  const OtherBlocks *getOthers() const { return others.get(); }
  void joinOthers(const std::shared_ptr<const OtherBlocks> &more);
  void forgetOthers() { others = nullptr; }

  /// Adds all that `other` knows.
  void join(const Clock &other);
  /// The same, but for what it knows of other clusters.
  void joinThreads(const Clock &other);

private:
  llvm::SmallVector<LaneTimes, 4> warps;
  llvm::SmallVector<uint64_t, 4> phases;
  /// Never changed, since many clocks share it.
  std::shared_ptr<const OtherBlocks> others;
};

/// Clocks of clusters, by their numbers, as far as they let others know. Those
/// know of no others themselves.
struct OtherBlocks {
  std::map<uint64_t, Clock> clocks;

  /// Adds what `clock` of a cluster says, and what it knows of others.
  void join(uint64_t cluster, const Clock &clock);
  /// The same, but for what it knows of others.
  void joinThreads(uint64_t cluster, const Clock &clock);
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_CLOCK_H
