//===- Counters.h - How much a launch does, and where -----------*- C++ -*-===//
//
// Counts, for each op of the program, how often warps execute it, what it moves
// from and to memory, and what it multiplies. None of it depends on the order
// in which things happen: the counts of a program that is right are the same
// under all seeds.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_COUNTERS_COUNTERS_H
#define TL_SIMULATOR_COUNTERS_COUNTERS_H

#include "tl/Simulator/Events.h"
#include "tl/Simulator/Program.h"
#include "llvm/Support/JSON.h"

namespace tl::sim {

/// Accesses of one op to device memory.
struct DeviceTraffic {
  /// Instructions of warps.
  uint64_t requests = 0;
  /// What lanes asked for.
  uint64_t bytes = 0;
  /// What was moved for it (Traffic.h).
  uint64_t sectors = 0;
};

/// Accesses of one op to shared memory.
struct SharedTraffic {
  uint64_t requests = 0;
  uint64_t bytes = 0;
  /// Of lanes; bulk copies and `wgmma` move whole rows, and have none.
  uint64_t wavefronts = 0;
  /// Without bank conflicts.
  uint64_t leastWavefronts = 0;
};

/// What one op did.
struct OpCounts {
  /// Instructions of the simulator, once for each warp that has an active lane.
  uint64_t executed = 0;
  DeviceTraffic device;
  SharedTraffic shared;
  /// Multiplications and additions of tensor cores, and of what.
  uint64_t flop = 0;
  MmaType type = MmaType::F16;

  OpCounts &operator+=(const OpCounts &other);
};

/// What a launch touched of one tensor: sectors, each counted once.
struct TensorCounts {
  std::string name;
  uint64_t bytes = 0;
  uint64_t sectorsRead = 0, sectorsWritten = 0;
};

/// What one launch did.
struct LaunchCounts {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  /// Those that ran and were counted.
  uint64_t blocks = 0;
  uint32_t sharedBytes = 0;
  /// Those of the program, each with what the op there did.
  std::vector<Place> places;
  std::vector<OpCounts> ops;
  std::vector<TensorCounts> tensors;
};

/// Counts all launches that it observes.
class Counters : public ObserverFactory {
public:
  std::unique_ptr<LaunchObserver>
  beginLaunch(const LaunchInfo &launch) override;

  /// Those that have ended, in order.
  llvm::ArrayRef<LaunchCounts> getLaunches() const { return launches; }

private:
  std::vector<LaunchCounts> launches;
};

/// The launch's numbers, and `ops` that were executed.
llvm::json::Value toJSON(const LaunchCounts &launch);

} // namespace tl::sim

#endif // TL_SIMULATOR_COUNTERS_COUNTERS_H
