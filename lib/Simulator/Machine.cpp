//===- Machine.cpp - Run a program ----------------------------------------===//
//
// See Machine.h. Blocks are shared among the threads of the pool, those that
// run at the same time to one of them; it keeps their registers for the next
// ones.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Machine.h"

#include "Warp.h"
#include "tl/Runtime/Interruption.h"
#include "tl/Runtime/ThreadPool.h"
#include "tl/Simulator/Checkers/Findings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <deque>
#include <map>

using namespace llvm;
using namespace tl::sim;

/// Steps of blocks behind which it is asked whether the call is to end: some
/// milliseconds of work at most.
static constexpr uint64_t kStepsBetweenLooks = 64;

namespace {
/// A block with what is its own.
struct RunningBlock {
  RunningBlock(const Launch &launch, uint64_t number, Group &group,
               Cluster &cluster, MutableArrayRef<uint32_t> registers,
               Reports &reports, LaunchObserver *observer)
      : shared(launch.sharedBytes),
        watching(observer ? observer->beginBlock(number, shared) : nullptr),
        block(launch, number, group, cluster, registers, shared, reports,
              watching.get()) {
    // Not zero, which programs that forget to write often want to read.
    std::fill_n(shared.at(SharedMemory::kBase), shared.size(), 0xFF);
  }

  SharedMemory shared;
  std::unique_ptr<BlockObserver> watching;
  Block block;
};

/// What is common to the blocks of a launch.
class Grid {
public:
  explicit Grid(const Launch &launch) : launch(launch) {
    if (launch.observers)
      observer = launch.observers->beginLaunch(getInfo());
  }

  LaunchResult run() {
    for (unsigned i = 0; i < 3; ++i)
      groups[i] = launch.grid[i] / launch.together[i];
    all = getProduct(groups);
    count = std::clamp<uint64_t>(
        launch.mostBlocks / getProduct(launch.together), 1, all);
    auto runRange = [&](int64_t begin, int64_t end) { runGroups(begin, end); };
    if (launch.only)
      runOnly(getGroupOf(*launch.only));
    else if (launch.pool && !launch.program->ordersBlocks &&
             !launch.program->mayWaitForBlocks)
      launch.pool->parallelFor(count, runRange, launch.interruption);
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
    info.cluster = launch.cluster;
    info.sharedBytes = launch.sharedBytes;
    info.isDependent = launch.isDependent;
    info.ordersBlocks = launch.program->ordersBlocks;
    info.global = launch.global;
    info.seed = launch.seed;
    info.reports = &reports;
    return info;
  }

  static uint64_t getProduct(const std::array<uint32_t, 3> &extents) {
    return uint64_t(extents[0]) * extents[1] * extents[2];
  }

  /// The number of the group that a block is in.
  uint64_t getGroupOf(uint64_t block) const {
    const auto &[x, y, z] = launch.grid;
    uint64_t group[] = {block % x / launch.together[0],
                        block / x % y / launch.together[1],
                        block / x / y / launch.together[2]};
    return group[0] + groups[0] * (group[1] + groups[1] * group[2]);
  }

  /// The numbers of the blocks of a group.
  SmallVector<uint64_t> getBlocksOf(uint64_t group) const {
    const auto &[x, y, z] = launch.together;
    uint64_t first[] = {group % groups[0] * x,
                        group / groups[0] % groups[1] * y,
                        group / groups[0] / groups[1] * z};
    SmallVector<uint64_t> blocks;
    for (uint32_t k = 0; k < z; ++k)
      for (uint32_t j = 0; j < y; ++j)
        for (uint32_t i = 0; i < x; ++i)
          blocks.push_back(first[0] + i +
                           launch.grid[0] * (first[1] + j +
                                             launch.grid[1] * (first[2] + k)));
    return blocks;
  }

  /// Runs some of the groups that are to run.
  void runGroups(int64_t begin, int64_t end) {
    std::vector<uint32_t> registers;
    for (int64_t i = begin; i < end && !hasFailed && !isInterrupted(); ++i)
      runGroup(i * all / count, registers);
  }

  bool isInterrupted() const {
    return launch.interruption && launch.interruption->isWanted();
  }

  void runOnly(uint64_t group) {
    std::vector<uint32_t> registers;
    runGroup(group, registers);
  }

  /// Runs the blocks of a group in turns.
  void runGroup(uint64_t group, std::vector<uint32_t> &registers) {
    SmallVector<uint64_t> numbers = getBlocksOf(group);
    size_t words = divideCeil(getProduct(launch.program->block), kLanes) *
                   launch.program->registerWords;
    registers.resize(words * numbers.size());
    Group together;
    std::map<uint64_t, Cluster> clusters;
    std::deque<RunningBlock> blocks;
    SmallVector<RunningBlock *> running;
    for (auto [i, number] : enumerate(numbers)) {
      MutableArrayRef<uint32_t> own(registers.data() + i * words, words);
      Cluster &cluster =
          clusters[getFirst(number, launch.grid, launch.cluster)];
      running.push_back(&blocks.emplace_back(launch, number, together, cluster,
                                             own, reports, observer.get()));
    }
    Random random(Random(launch.seed).next() + group);
    for (uint64_t steps = 0; !running.empty() && !hasFailed; ++steps) {
      if (steps % kStepsBetweenLooks == 0 && isInterrupted())
        break;
      size_t turn = running.size() == 1 ? 0 : random.below(running.size());
      Block &block = running[turn]->block;
      if (block.step())
        continue;
      running.erase(running.begin() + turn);
      if (block.hasFailed())
        hasFailed = true;
    }
    for (const RunningBlock &each : blocks)
      threadInstructions += each.block.threadInstructions;
  }

  const Launch &launch;
  /// Groups of blocks that run at the same time: by coordinates, all, and those
  /// that run.
  std::array<uint32_t, 3> groups = {1, 1, 1};
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

/// A path that no folder of the program leads to is one of this machine.
static StringRef getShortName(StringRef file) {
  return sys::path::is_absolute(file) ? sys::path::filename(file) : file;
}

std::string tl::sim::describe(const Report &report, const Launch &launch) {
  const Program &program = *launch.program;
  std::string text = formatv("kernel `{0}`: {1}: {2}", program.kernel,
                             getName(report.kind), report.message)
                         .str();
  for (const Report::Side &side : report.sides) {
    const Place &place = program.getPlace(side.instruction);
    text += "\n  ";
    if (!place.file.empty())
      text += formatv("{0}:{1}: ", getShortName(place.file), place.line);
    text += formatv("{0} {1} (`{2}`)",
                    describeWho(side, launch.grid, program.block), side.text,
                    place.op);
  }
  return text;
}
