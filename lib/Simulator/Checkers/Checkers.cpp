//===- Checkers.cpp - All checkers of a launch ----------------------------===//

#include "tl/Simulator/Checkers/Checkers.h"

#include "tl/Simulator/Checkers/BarrierChecker.h"
#include "tl/Simulator/Checkers/BlockRaces.h"
#include "tl/Simulator/Checkers/RaceChecker.h"

using namespace tl::sim;

namespace {

/// Hands events on: to checks of an event by what was known before it, then to
/// the order of events.
class BlockCheckers : public BlockObserver {
public:
  BlockCheckers(Findings &findings, BlockRaces &blocks, unsigned threads,
                uint64_t number, const SharedMemory &shared)
      : blocks(blocks), number(number), order(threads),
        races(order, findings, number, shared), barriers(order, findings) {}

  void onAccess(const AccessEvent &event) override {
    if (event.kind == AccessEvent::Kind::Atomic &&
        event.ordering != Ordering::Relaxed &&
        (event.scope == Scope::Device || event.scope == Scope::System))
      blocks.noteOrder();
    barriers.access(event);
    races.access(event);
    order.access(event);
  }
  void onAsyncIssue(const AsyncEvent &event) override {
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
    if (event.kind == FenceEvent::Kind::Memory &&
        (event.scope == Scope::Device || event.scope == Scope::System))
      blocks.noteOrder();
    order.fence(event);
  }
  void onWarp(const WarpEvent &event) override { order.syncLanes(event); }
  void onBlockEnd() override {
    races.end();
    blocks.add(number, races.getGlobal());
  }

private:
  BlockRaces &blocks;
  uint64_t number;
  BlockOrder order;
  RaceChecker races;
  BarrierChecker barriers;
};

class LaunchCheckers : public LaunchObserver {
public:
  explicit LaunchCheckers(const LaunchInfo &launch)
      : threads(launch.threadCount()), findings(launch), blocks(findings) {}

  std::unique_ptr<BlockObserver>
  beginBlock(uint64_t block, const SharedMemory &shared) override {
    return std::make_unique<BlockCheckers>(findings, blocks, threads, block,
                                           shared);
  }
  void onLaunchEnd() override { blocks.end(); }

private:
  unsigned threads;
  Findings findings;
  BlockRaces blocks;
};

} // namespace

std::unique_ptr<LaunchObserver>
Checkers::beginLaunch(const LaunchInfo &launch) {
  return std::make_unique<LaunchCheckers>(launch);
}
