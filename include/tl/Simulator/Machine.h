//===- Machine.h - Run a program --------------------------------*- C++ -*-===//
//
// Runs all blocks of a grid, over the threads of a pool. The warps of a block
// run in turns that a random number generator decides, and so does when parts
// of asynchronous operations happen. Blocks that a GPU runs at the same time,
// those of a cluster and all of a cooperative launch, take turns as well, so
// that one of them may wait for another. If atomic operations may order the
// blocks, or one may wait in a loop for what they change, these run one after
// the other, since it depends on who came first what they do. The generator is
// seeded by the launch's seed and the block's number: the same seed gives the
// same execution, whatever the threads of the host do.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_MACHINE_H
#define TL_SIMULATOR_MACHINE_H

#include "tl/Simulator/Events.h"
#include "tl/Simulator/Program.h"
#include "tl/Simulator/Schedule.h"
#include <limits>

namespace tl::runtime {
class Interruption;
class ThreadPool;
} // namespace tl::runtime

namespace tl::sim {

struct Launch {
  const Program *program = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  /// Extents in blocks of what runs at the same time; they divide those of the
  /// grid.
  std::array<uint32_t, 3> together = {1, 1, 1};
  /// Extents of a cluster in blocks, which divide those of `together`.
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  /// How many blocks run, evenly spaced among all; all of them if there are
  /// fewer. It is a block at least, with those that run at the same time.
  uint64_t mostBlocks = std::numeric_limits<uint64_t>::max();
  uint32_t sharedBytes = 0;
  /// A GPU begins it while the kernel in front of it may still run.
  bool isDependent = false;
  /// One for each parameter: its bits, or the address of a `TensorMap`.
  llvm::ArrayRef<uint64_t> parameters;
  const GlobalMemory *global = nullptr;
  uint64_t seed = 0;
  /// Who watches, or null.
  ObserverFactory *observers = nullptr;
  /// Null to run in the calling thread alone.
  runtime::ThreadPool *pool = nullptr;
  /// What may end it before it is done; may be null. Then what it reports means
  /// nothing.
  runtime::Interruption *interruption = nullptr;
  /// Runs this block alone, with those at the same time, if there is one here.
  std::optional<uint64_t> only;
  /// How that block decides, instead of by the seed; may be null.
  const Schedule *schedule = nullptr;
  /// Where to write down how that block decided; may be null.
  Schedule *decided = nullptr;
};

struct LaunchResult {
  /// Empty if all went well.
  std::vector<Report> reports;
  /// Instructions that were executed, counted once for each active lane.
  uint64_t threadInstructions = 0;
};

LaunchResult run(const Launch &launch);

/// A report as text of several lines, with places, for people.
std::string describe(const Report &report, const Launch &launch);

} // namespace tl::sim

#endif // TL_SIMULATOR_MACHINE_H
