//===- Checkers.cpp - All checkers of a launch ----------------------------===//

#include "tl/Simulator/Checkers/Checkers.h"

#include "tl/Simulator/Checkers/BarrierChecker.h"
#include "tl/Simulator/Checkers/BlockRaces.h"
#include "tl/Simulator/Checkers/IterationChecker.h"
#include "tl/Simulator/Checkers/KernelChecker.h"
#include "tl/Simulator/Checkers/RaceChecker.h"
#include <atomic>
#include <map>
#include <mutex>

using namespace tl::sim;

namespace {

/// What the blocks of a launch have done, in several threads of the host.
struct Progress {
  /// Whether any block waits for the kernels before.
  std::atomic<bool> waits = false;
  /// Blocks that have begun, and not come to their end.
  std::atomic<uint64_t> unfinished = 0;
};

/// Hands events on: to checks of an event by what was known before it, then to
/// the order of events.
class BlockCheckers : public BlockObserver {
public:
  BlockCheckers(const LaunchInfo &launch, Findings &findings,
                BlockRaces &blocks, std::shared_ptr<BlockOrder> ofCluster,
                Progress &progress, uint64_t number, const SharedMemory &shared)
      : isDependent(launch.isDependent), progress(progress),
        ofCluster(std::move(ofCluster)), order(*this->ofCluster),
        place(order.addBlock(number)),
        races(order, findings, blocks, place, shared),
        iterations(launch.program, findings, number, launch.warpCount(),
                   shared),
        barriers(order, findings, place), kernels(order, findings) {
    ++progress.unfinished;
  }

  void onAccess(const AccessEvent &event) override {
    if (isDependent)
      kernels.access(event);
    barriers.access(event);
    // First, since it knows more of what it finds.
    iterations.access(event);
    races.access(event);
    order.access(event);
  }
  void onAsyncIssue(const AsyncEvent &event) override {
    if (isDependent)
      kernels.issue(event);
    order.issue(event, place);
    barriers.issue(event);
    races.issue(event);
  }
  void onWaitGroups(const GroupEvent &event) override {
    order.waitForGroups(event);
  }
  void onBarrierArrive(const BarrierEvent &event) override {
    order.arriveAtBarrier(event);
  }
  void onBarrierComplete(const BarrierEvent &event,
                         llvm::ArrayRef<Event>) override {
    order.completeBarrier(event);
  }
  void onMbarrier(const MbarrierEvent &event) override {
    barriers.useMbarrier(event);
    order.useMbarrier(event, place);
  }
  void onCluster(const ClusterEvent &event) override {
    order.meetInCluster(event);
  }
  void onFence(const FenceEvent &event) override {
    if (event.kind == FenceEvent::Kind::Kernels)
      progress.waits = true;
    order.fence(event);
    iterations.fence(event);
  }
  void onWarp(const WarpEvent &event) override { order.syncLanes(event); }
  void onFragment(const FragmentEvent &event) override {
    iterations.touchFragment(event);
  }
  void onIterations(const IterationsEvent &event) override {
    iterations.go(event);
  }
  void onBlockEnd() override {
    races.end();
    barriers.end();
    --progress.unfinished;
  }

private:
  bool isDependent;
  Progress &progress;
  std::shared_ptr<BlockOrder> ofCluster;
  BlockOrder &order;
  unsigned place;
  RaceChecker races;
  IterationChecker iterations;
  BarrierChecker barriers;
  KernelChecker kernels;
};

class LaunchCheckers : public LaunchObserver {
public:
  explicit LaunchCheckers(const LaunchInfo &launch)
      : launch(launch), findings(launch), blocks(findings, launch.warpCount()) {
  }

  std::unique_ptr<BlockObserver>
  beginBlock(uint64_t block, const SharedMemory &shared) override {
    return std::make_unique<BlockCheckers>(
        launch, findings, blocks, getOrder(block), progress, block, shared);
  }

  void onLaunchEnd() override {
    // A block that failed might have waited later.
    if (!launch.isDependent || progress.waits || progress.unfinished)
      return;
    Report report;
    report.kind = Report::Kind::Race;
    report.message = "no thread waits for the kernel launched before, so that "
                     "what is launched behind this one may begin before that "
                     "is done; `griddepcontrol.wait` would order them";
    findings.add(std::move(report));
  }

private:
  /// The order that a block has with those of its cluster, all of which begin
  /// before one of them ends.
  std::shared_ptr<BlockOrder> getOrder(uint64_t block) {
    std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<BlockOrder> &known =
        orders[getFirst(block, launch.grid, launch.cluster)];
    std::shared_ptr<BlockOrder> order = known.lock();
    if (!order)
      known = order = std::make_shared<BlockOrder>(
          launch.threadCount(), launch.clusterSize(),
          launch.ordersBlocks ? &grid : nullptr);
    return order;
  }

  LaunchInfo launch;
  Findings findings;
  BlockRaces blocks;
  GridOrder grid;
  Progress progress;
  std::mutex mutex;
  /// By the number of the cluster's first block.
  std::map<uint64_t, std::weak_ptr<BlockOrder>> orders;
};

} // namespace

std::unique_ptr<LaunchObserver>
Checkers::beginLaunch(const LaunchInfo &launch) {
  return std::make_unique<LaunchCheckers>(launch);
}
