//===- Machine.cpp - Run a program ----------------------------------------===//
//
// See Machine.h. Blocks are shared among the threads of the pool; a thread
// keeps the registers and the shared memory of the block that it runs for the
// next one.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Machine.h"

#include "Warp.h"
#include "tl/Runtime/ThreadPool.h"
#include "tl/Simulator/Checkers/Findings.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <atomic>

using namespace llvm;
using namespace tl::sim;

namespace {
/// What is common to the blocks of a launch.
class Grid {
public:
  explicit Grid(const Launch &launch) : launch(launch) {
    if (launch.observers)
      observer = launch.observers->beginLaunch(getInfo());
  }

  LaunchResult run() {
    all = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    count = std::min(all, launch.mostBlocks);
    auto runRange = [&](int64_t begin, int64_t end) { runBlocks(begin, end); };
    if (launch.only)
      runRange(*launch.only, *launch.only + 1);
    else if (launch.pool)
      launch.pool->parallelFor(count, runRange);
    else
      runRange(0, count);
    if (observer)
      observer->onLaunchEnd();
    return {reports.take(), threadInstructions};
  }

private:
  LaunchInfo getInfo() {
    LaunchInfo info;
    info.program = launch.program;
    info.grid = launch.grid;
    info.block = launch.program->block;
    info.sharedBytes = launch.sharedBytes;
    info.global = launch.global;
    info.seed = launch.seed;
    info.reports = &reports;
    return info;
  }

  void runBlocks(int64_t begin, int64_t end) {
    const Program &program = *launch.program;
    uint64_t threads =
        uint64_t(program.block[0]) * program.block[1] * program.block[2];
    std::vector<uint32_t> registers(divideCeil(threads, kLanes) *
                                    program.registerWords);
    uint64_t executed = 0;
    for (int64_t i = begin; i < end && !hasFailed; ++i) {
      uint64_t number = i * all / count;
      SharedMemory shared(launch.sharedBytes);
      // Not zero, which programs that forget to write often want to read.
      std::fill_n(shared.at(SharedMemory::kBase), shared.size(), 0xFF);
      std::unique_ptr<BlockObserver> watching;
      if (observer)
        watching = observer->beginBlock(number, shared);
      Block block(launch, number, registers, shared, reports, watching.get());
      if (!block.run())
        hasFailed = true;
      executed += block.threadInstructions;
    }
    threadInstructions += executed;
  }

  const Launch &launch;
  /// Blocks of the grid, and those that run.
  uint64_t all = 0, count = 0;
  Reports reports;
  std::unique_ptr<LaunchObserver> observer;
  std::atomic<uint64_t> threadInstructions = 0;
  /// The other blocks need not run to their ends.
  std::atomic<bool> hasFailed = false;
};
} // namespace

LaunchResult tl::sim::run(const Launch &launch) { return Grid(launch).run(); }

//===----------------------------------------------------------------------===//
// Reports as text
//===----------------------------------------------------------------------===//

std::string tl::sim::describe(const Report &report, const Launch &launch) {
  const Program &program = *launch.program;
  std::string text = formatv("kernel `{0}`: {1}: {2}", program.kernel,
                             getName(report.kind), report.message)
                         .str();
  for (const Report::Side &side : report.sides) {
    const Place &place = program.getPlace(side.instruction);
    text += "\n  ";
    if (!place.file.empty())
      text += formatv("{0}:{1}: ", place.file, place.line);
    text += formatv("{0} {1} (`{2}`)",
                    describeWho(side, launch.grid, program.block), side.text,
                    place.op);
  }
  return text;
}
