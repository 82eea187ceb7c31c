//===- Checkers.cpp - All checkers of a launch ----------------------------===//

#include "tl/Simulator/Checkers/Checkers.h"

#include "tl/Simulator/Checkers/BarrierChecker.h"
#include "tl/Simulator/Checkers/BlockRaces.h"
#include "tl/Simulator/Checkers/KernelChecker.h"
#include "tl/Simulator/Checkers/RaceChecker.h"

#include <atomic>

using namespace tl::sim;

namespace {

/// Hands events on: to checks of an event by what was known before it, then to
/// the order of events.
class BlockCheckers : public BlockObserver {
public:
  BlockCheckers(const LaunchInfo &launch, Findings &findings,
                BlockRaces &blocks, GridOrder *grid, std::atomic<bool> &waits,
                uint64_t number, const SharedMemory &shared)
      : isDependent(launch.isDependent), waits(waits),
        order(launch.threadCount(), number, grid),
        races(order, findings, blocks, number, shared),
        barriers(order, findings), kernels(order, findings) {}

  void onAccess(const AccessEvent &event) override {
    if (isDependent)
      kernels.access(event);
    barriers.access(event);
    races.access(event);
    order.access(event);
  }
  void onAsyncIssue(const AsyncEvent &event) override {
    if (isDependent)
      kernels.issue(event);
    order.issue(event);
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
    order.useMbarrier(event);
  }
  void onFence(const FenceEvent &event) override {
    if (event.kind == FenceEvent::Kind::Kernels)
      waits = true;
    order.fence(event);
  }
  void onWarp(const WarpEvent &event) override { order.syncLanes(event); }
  void onBlockEnd() override { races.end(); }

private:
  bool isDependent;
  /// Whether any block waits for the kernels before.
  std::atomic<bool> &waits;
  BlockOrder order;
  RaceChecker races;
  BarrierChecker barriers;
  KernelChecker kernels;
};

class LaunchCheckers : public LaunchObserver {
public:
  explicit LaunchCheckers(const LaunchInfo &launch)
      : launch(launch), findings(launch), blocks(findings) {}

  std::unique_ptr<BlockObserver>
  beginBlock(uint64_t block, const SharedMemory &shared) override {
    return std::make_unique<BlockCheckers>(
        launch, findings, blocks, launch.ordersBlocks ? &grid : nullptr, waits,
        block, shared);
  }

  void onLaunchEnd() override {
    if (!launch.isDependent || waits)
      return;
    Report report;
    report.kind = Report::Kind::Race;
    report.message = "no thread waits for the kernel launched before, so that "
                     "what is launched behind this one may begin before that "
                     "is done; `griddepcontrol.wait` would order them";
    findings.add(std::move(report));
  }

private:
  LaunchInfo launch;
  Findings findings;
  BlockRaces blocks;
  GridOrder grid;
  std::atomic<bool> waits = false;
};

} // namespace

std::unique_ptr<LaunchObserver>
Checkers::beginLaunch(const LaunchInfo &launch) {
  return std::make_unique<LaunchCheckers>(launch);
}
