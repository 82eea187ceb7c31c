//===- SimulatedExecutable.h - Run a plan in the simulator ------*- C++ -*-===//
//
// The same plan, checks of arguments and parameters as on a GPU; only the
// kernels are programs, and tensors are the host's.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_SIMULATEDEXECUTABLE_H
#define TL_SIMULATOR_SIMULATEDEXECUTABLE_H

#include "tl/Runtime/Executable.h"
#include "tl/Simulator/Program.h"
#include "tl/Simulator/Schedule.h"
#include "llvm/Support/JSON.h"

namespace tl::sim {

/// How launches of this process are simulated, from the next one on.
struct SimulationOptions {
  /// What decides the order of everything that has none.
  uint64_t seed = 0;
  /// Whether what a GPU would let pass is looked for (Checkers.h).
  bool checks = true;
  /// Whether a report comes with the shortest schedule that fails (Shrink.h).
  bool shrinks = false;
};
void setOptions(const SimulationOptions &options);

/// Instructions that launches of this process have executed, each counted once
/// for each thread that executed it.
uint64_t getThreadInstructions();

/// Counts what launches of this thread do, from the next one on, in place of
/// checking them. Of each at most so many blocks run.
void beginCounts(uint64_t mostBlocks);

/// Ends that. Returns the launches since, as JSON.
llvm::json::Value endCounts();

/// Lists what one block of each launch of this thread does, from the next one
/// on, in place of checking (Timeline.h), and the states of mbarriers where a
/// warp comes to `line`, unless that is 0. Other blocks do not run.
void beginTimeline(uint64_t block, unsigned line);

/// Ends that. Returns the launches since, as JSON.
llvm::json::Value endTimeline();

/// Runs the calls of this thread, from the next one on, as a report said it.
/// Launches behind the one that is replayed are left out.
void beginReplay(Replay replay);
void endReplay();

/// A plan whose kernels are these programs. Fails with the category Plan if it
/// needs what the simulator does not have.
llvm::Expected<std::unique_ptr<runtime::Executable>>
loadSimulated(llvm::StringRef plan,
              std::vector<std::unique_ptr<Program>> programs);

} // namespace tl::sim

#endif // TL_SIMULATOR_SIMULATEDEXECUTABLE_H
