//===- BlockOrder.cpp - What happens before what in a block ---------------===//

#include "tl/Simulator/Checkers/BlockOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace tl::sim;

/// Calls `body` with each lane of `mask`.
template <typename Body>
static void forEachLane(LaneMask mask, Body body) {
  for (; mask; mask &= mask - 1)
    body(static_cast<unsigned>(llvm::countr_zero(mask)));
}

template <typename Test>
static bool allLanes(LaneMask mask, Test test) {
  for (; mask; mask &= mask - 1)
    if (!test(static_cast<unsigned>(llvm::countr_zero(mask))))
      return false;
  return true;
}

BlockOrder::BlockOrder(unsigned threads, unsigned blocks, GridOrder *grid)
    : warpsOfBlock((threads + kLanes - 1) / kLanes), grid(grid) {
  unsigned count = warpsOfBlock * blocks;
  warps.resize(count);
  comingToCluster = metInCluster = Clock(count);
  for (unsigned i = 0; i < count; ++i) {
    unsigned lanes = std::min(threads - i % warpsOfBlock * kLanes, kLanes);
    warps[i].present = lanes == kLanes ? kAllLanes : (LaneMask(1) << lanes) - 1;
    warps[i].common = Clock(count);
  }
}

unsigned BlockOrder::addBlock(uint64_t number) {
  blocks.push_back(number);
  return blocks.size() - 1;
}

//===----------------------------------------------------------------------===//
// Letting others know
//===----------------------------------------------------------------------===//

Clock BlockOrder::release(unsigned warp, LaneMask lanes) {
  Warp &state = warps[warp];
  Clock clock = (lanes & ~state.apart) ? state.common : Clock(warps.size());
  forEachLane(lanes & state.apart,
              [&](unsigned lane) { clock.join(state.own[lane]); });
  clock[warp].raise(widen(warp, lanes), state.time);
  ++state.time;
  return clock;
}

void BlockOrder::acquire(unsigned warp, LaneMask lanes, const Clock &clock) {
  Warp &state = warps[warp];
  LaneMask rest = state.present & ~lanes;
  if (!rest)
    state.common.join(clock);
  forEachLane(lanes, [&](unsigned lane) {
    if (!rest && !(state.apart >> lane & 1))
      return;
    auto [it, isNew] = state.own.try_emplace(lane, state.common);
    if (!isNew && !(state.apart >> lane & 1))
      it->second = state.common;
    it->second.join(clock);
    state.apart |= LaneMask(1) << lane;
  });
}

void BlockOrder::arriveAtBarrier(const BarrierEvent &event) {
  Meeting &meeting =
      meetings
          .try_emplace({getPlace(event.warp.block), event.barrier},
                       Meeting{Clock(warps.size()), {}})
          .first->second;
  meeting.clock.join(release(getIndex(event.warp), event.lanes));
  if (event.waits)
    meeting.waiting.push_back(event);
}

void BlockOrder::completeBarrier(const BarrierEvent &event) {
  auto it = meetings.find({getPlace(event.warp.block), event.barrier});
  if (it == meetings.end())
    return;
  for (const Event &waiting : it->second.waiting) {
    Warp &warp = warps[getIndex(waiting.warp)];
    acquire(getIndex(waiting.warp), waiting.lanes, it->second.clock);
    // Lanes that knew something of their own have all said so by now.
    if (waiting.lanes == warp.present)
      warp.apart = 0;
  }
  meetings.erase(it);
}

void BlockOrder::syncLanes(const WarpEvent &event) {
  if (event.kind != WarpEvent::Kind::Sync)
    return;
  unsigned number = getIndex(event.warp);
  Warp &warp = warps[number];
  acquire(number, event.lanes, release(number, event.lanes));
  if (event.lanes == warp.present)
    warp.apart = 0;
}

void BlockOrder::fence(const FenceEvent &event) {
  unsigned number = getIndex(event.warp);
  Warp &warp = warps[number];
  switch (event.kind) {
  case FenceEvent::Kind::Wgmma:
    return;
  case FenceEvent::Kind::Kernels:
    kernelWaits.push_back({getCluster(), number, event.lanes, warp.time});
    return;
  case FenceEvent::Kind::AsyncProxy:
  case FenceEvent::Kind::MbarrierInit: {
    bool isInit = event.kind == FenceEvent::Kind::MbarrierInit;
    warp.fences.push_back({warp.time, event.lanes, event.shared && !isInit,
                           event.global && !isInit, event.shared || isInit});
    ++warp.time;
    return;
  }
  case FenceEvent::Kind::Memory:
    if (warp.toAcquire)
      acquire(number, event.lanes, *warp.toAcquire);
    warp.released = release(number, event.lanes);
    return;
  }
}

/// What is stored is not made of what was there, so that it passes on nothing
/// that others released (PTX ISA, "Release and Acquire Patterns"). An exchange
/// that acquires is no store, though nobody asks for the result.
static bool isStore(const AccessEvent &event) {
  return !event.usesOld && (event.ordering == Ordering::Relaxed ||
                            event.ordering == Ordering::Release);
}

void BlockOrder::access(const AccessEvent &event) {
  if (!event.isAtomic())
    return;
  unsigned number = getIndex(event.warp);
  Warp &warp = warps[number];
  unsigned place = getPlace(event.warp.block);
  bool releases = event.ordering == Ordering::Release ||
                  event.ordering == Ordering::AcquireRelease;
  bool acquires = event.ordering == Ordering::Acquire ||
                  event.ordering == Ordering::AcquireRelease;
  bool stores = isStore(event);
  if (event.ordering == Ordering::Relaxed && !warp.released &&
      released.empty() && !(stores && isForBlocks(event)))
    return;
  forEachLane(event.lanes, [&](unsigned lane) {
    LaneMask mask = LaneMask(1) << lane;
    GridOrder::Thread thread = {getCluster(), number, mask};
    uint64_t address = event.addresses[lane];
    auto [it, isNew] = released.try_emplace({place, address});
    Released &here = it->second;
    if (isNew)
      here.clock = Clock(warps.size());
    Clock seen = here.clock;
    if (stores && !(here.last == thread))
      here.clock = Clock(warps.size());
    if (stores && isForBlocks(event))
      grid->store(address, thread);
    if (releases)
      publish(event, thread, address, release(number, mask));
    else if (warp.released)
      publish(event, thread, address, *warp.released);
    if (stores)
      return;
    if (isForBlocks(event))
      addReleased(seen, address);
    if (acquires)
      acquire(number, mask, seen);
    else if (warp.toAcquire)
      warp.toAcquire->join(seen);
    else
      warp.toAcquire = seen;
    if (!acquires)
      warp.found = event.instruction;
  });
}

void BlockOrder::publish(const AccessEvent &event,
                         const GridOrder::Thread &thread, uint64_t address,
                         const Clock &clock) {
  Released &here = released.find({getPlace(event.warp.block), address})->second;
  here.clock.join(clock);
  here.last = thread;
  if (isForBlocks(event))
    grid->release(address, thread, clock);
}

void BlockOrder::addReleased(Clock &clock, uint64_t address) const {
  std::shared_ptr<const OtherBlocks> others = grid->getReleased(address);
  if (!others)
    return;
  // Another cluster may pass on what it knows of this one.
  auto own = others->clocks.find(getCluster());
  if (own != others->clocks.end())
    clock.join(own->second);
  clock.joinOthers(others);
}

void BlockOrder::issue(const AsyncEvent &event, unsigned place) {
  Operation &operation = operations[event.id];
  operation.kind = event.kind;
  operation.instruction = event.instruction;
  operation.warp = getIndex(event.warp);
  operation.place = place;
  operation.lanes = event.lanes;
  auto it = barrierAt.find({place, event.barrier});
  if (event.kind != AsyncKind::TensorLoad || it == barrierAt.end())
    return;
  operation.barrier = it->second;
  operation.phase = barriers[it->second].phases;
}

void BlockOrder::waitForGroups(const GroupEvent &event) {
  unsigned number = getIndex(event.warp);
  uint32_t time = warps[number].time;
  for (AsyncId id : event.operations) {
    auto it = operations.find(id);
    if (it == operations.end())
      continue;
    LaneMask lanes = event.lanes & it->second.lanes;
    it->second.read.push_back({lanes, time});
    if (event.readsOnly)
      continue;
    it->second.complete.push_back({lanes, time});
    if (grid && event.kind == AsyncKind::TensorStore)
      grid->completeStore(id, {getCluster(), number, lanes, time});
  }
}

void BlockOrder::meetInCluster(const ClusterEvent &event) {
  unsigned number = getIndex(event.warp);
  switch (event.kind) {
  case ClusterEvent::Kind::Arrive:
    comingToCluster.join(release(number, event.lanes));
    break;
  case ClusterEvent::Kind::Complete:
    metInCluster = comingToCluster;
    break;
  case ClusterEvent::Kind::Wait:
    acquire(number, event.lanes, metInCluster);
    break;
  }
}

void BlockOrder::useMbarrier(const MbarrierEvent &event, unsigned place) {
  using Kind = MbarrierEvent::Kind;
  if (event.kind == Kind::Init) {
    barrierAt[{place, event.address}] = barriers.size();
    Record init = getRecord(event);
    init.flags = Record::Write;
    barriers.push_back({.address = event.address,
                        .init = init,
                        .arrived = Clock(warps.size()),
                        .published = Clock(warps.size())});
    return;
  }
  auto it = barrierAt.find({place, event.address});
  if (it == barrierAt.end())
    return;
  BarrierState &barrier = barriers[it->second];
  switch (event.kind) {
  case Kind::Arrive:
    barrier.arrived.join(release(getIndex(event.warp), event.lanes));
    break;
  case Kind::Completed:
    barrier.phases = event.phase + 1;
    barrier.published = barrier.arrived;
    break;
  case Kind::Waited: {
    Clock clock = barrier.published;
    clock.raisePhases(it->second, event.phase + 1);
    acquire(getIndex(event.warp), event.lanes, clock);
    break;
  }
  case Kind::Invalidate:
    barrier.isLive = false;
    barrierAt.erase(it);
    break;
  case Kind::Init:
  case Kind::Expect:
  case Kind::Landed:
    break;
  }
}

//===----------------------------------------------------------------------===//
// Knowing of others
//===----------------------------------------------------------------------===//

Record BlockOrder::getRecord(const Event &event) const {
  unsigned number = getIndex(event.warp);
  return {event.instruction, warps[number].time, event.lanes,
          static_cast<uint16_t>(number), 0};
}

Record BlockOrder::getRecord(const AsyncEvent &event, LaneMask lanes) const {
  uint16_t flags = Record::Async;
  if (event.kind != AsyncKind::CopyAsync)
    flags |= Record::AsyncProxy;
  if (event.kind == AsyncKind::TensorLoad)
    flags |= Record::AnyOrder;
  return {event.instruction, event.id, lanes,
          static_cast<uint16_t>(getIndex(event.warp)), flags};
}

bool BlockOrder::know(unsigned warp, LaneMask lanes, unsigned of,
                      LaneMask others, uint32_t time) const {
  const Warp &state = warps[warp];
  if (!(lanes & state.apart)) {
    const LaneTimes &times = state.common[of];
    if (times.areAtLeast(others, time))
      return true;
    if (of != warp)
      return false;
  }
  return allLanes(lanes, [&](unsigned lane) {
    LaneMask rest = of == warp ? others & ~(LaneMask(1) << lane) : others;
    return getClock(state, lane)[of].areAtLeast(rest, time);
  });
}

bool BlockOrder::knowOne(unsigned warp, LaneMask lanes, unsigned of,
                         LaneMask others, uint32_t time) const {
  if (know(warp, lanes, of, others, time))
    return true;
  return allLanes(lanes, [&](unsigned lane) {
    return !allLanes(others, [&](unsigned other) {
      return !know(warp, LaneMask(1) << lane, of, LaneMask(1) << other, time);
    });
  });
}

bool BlockOrder::knowFence(unsigned warp, LaneMask lanes, unsigned of,
                           LaneMask others, uint32_t time,
                           bool Fence::*kind) const {
  return allLanes(others, [&](unsigned other) {
    LaneMask mask = LaneMask(1) << other;
    for (const Fence &fence : llvm::reverse(warps[of].fences)) {
      if (fence.time < time)
        return false;
      if (fence.*kind && fence.lanes & mask &&
          know(warp, lanes, of, mask, fence.time))
        return true;
    }
    return false;
  });
}

bool BlockOrder::isKnown(const Record &earlier, unsigned warp,
                         LaneMask lanes) const {
  return know(warp, lanes, earlier.warp, earlier.lanes, earlier.time);
}

bool BlockOrder::isKnownIn(const Record &earlier, unsigned place) const {
  for (unsigned i = 0; i < warpsOfBlock; ++i) {
    unsigned warp = place * warpsOfBlock + i;
    bool isUnknown = allLanes(warps[warp].present, [&](unsigned lane) {
      return !isKnown(earlier, warp, LaneMask(1) << lane);
    });
    if (!isUnknown)
      return true;
  }
  return false;
}

/// Whether a clock has what lanes of another cluster did up to a time.
static bool hasMoment(const Clock &clock, const GridOrder::Moment &moment) {
  const OtherBlocks *others = clock.getOthers();
  if (!others)
    return false;
  auto it = others->clocks.find(moment.cluster);
  return it != others->clocks.end() &&
         it->second[moment.warp].areAtLeast(moment.lanes, moment.time);
}

bool BlockOrder::isKnown(const GridOrder::Moment &moment, unsigned warp,
                         LaneMask lanes) const {
  return allLanes(lanes, [&](unsigned lane) {
    return hasMoment(getClock(warps[warp], lane), moment);
  });
}

std::optional<std::pair<unsigned, InstructionId>>
BlockOrder::findUnacquired(const GridOrder::Moment &moment,
                           unsigned place) const {
  unsigned begin = place * warpsOfBlock;
  for (unsigned i = begin; i < begin + warpsOfBlock; ++i)
    if (warps[i].toAcquire && hasMoment(*warps[i].toAcquire, moment))
      return std::pair(i, warps[i].found);
  return std::nullopt;
}

bool BlockOrder::knowKernels(unsigned warp, LaneMask lanes) const {
  // Mostly each has waited itself.
  for (const GridOrder::Moment &wait : kernelWaits)
    if (wait.warp == warp)
      lanes &= ~wait.lanes;
  return allLanes(lanes, [&](unsigned lane) {
    return llvm::any_of(kernelWaits, [&](const GridOrder::Moment &wait) {
      return knowOne(warp, LaneMask(1) << lane, wait.warp, wait.lanes,
                     wait.time);
    });
  });
}

Relation BlockOrder::relate(const Record &earlier, const Record &later,
                            Space space) const {
  bool Fence::*kind = space == Space::Shared ? &Fence::shared : &Fence::global;
  if (earlier.isAsync())
    return relateToOperation(earlier, later, kind);
  if (!know(later.warp, later.lanes, earlier.warp, earlier.lanes, earlier.time))
    return Relation::Unordered;
  if (earlier.isGenericWrite() && later.isAsyncProxy() &&
      !knowFence(later.warp, later.lanes, earlier.warp, earlier.lanes,
                 earlier.time, kind))
    return Relation::Unfenced;
  return Relation::Ordered;
}

Relation BlockOrder::relateToOperation(const Record &earlier,
                                       const Record &later,
                                       bool Fence::*kind) const {
  const Operation *operation = find(earlier.time);
  if (!operation || (later.isAsync() && later.time == earlier.time))
    return Relation::Ordered;
  if (operation->kind == AsyncKind::TensorLoad) {
    const BarrierState &barrier = barriers[operation->barrier];
    if (getKnownPhases(barrier, later.warp, later.lanes) > operation->phase)
      return Relation::Ordered;
    return barrier.phases > operation->phase ? Relation::Unordered
                                             : Relation::UnderWay;
  }
  const auto &seen = earlier.writes() ? operation->complete : operation->read;
  LaneMask waited = 0;
  Relation relation = Relation::Ordered;
  for (Operation::Seen one : seen) {
    LaneMask lanes = one.lanes & earlier.lanes & ~waited;
    waited |= lanes;
    if (!lanes)
      continue;
    // The lanes of a warp wait for their gemms together: each knows of all.
    bool isKnown =
        operation->kind == AsyncKind::Wgmma
            ? knowOne(later.warp, later.lanes, earlier.warp, lanes, one.time)
            : know(later.warp, later.lanes, earlier.warp, lanes, one.time);
    if (!isKnown)
      relation = Relation::Unordered;
    else if (relation == Relation::Ordered && earlier.isGenericWrite() &&
             later.isAsyncProxy() &&
             !knowFence(later.warp, later.lanes, earlier.warp, lanes, one.time,
                        kind))
      relation = Relation::Unfenced;
  }
  return waited == earlier.lanes ? relation : Relation::UnderWay;
}

bool BlockOrder::isBehindOneOf(const Record &earlier, const Record &later,
                               Space space) const {
  return allLanes(later.lanes, [&](unsigned lane) {
    Record one = later;
    one.lanes = LaneMask(1) << lane;
    return !allLanes(earlier.lanes, [&](unsigned other) {
      Record before = earlier;
      before.lanes = LaneMask(1) << other;
      return relate(before, one, space) != Relation::Ordered;
    });
  });
}

const Operation *BlockOrder::find(AsyncId id) const {
  auto it = operations.find(id);
  return it == operations.end() ? nullptr : &it->second;
}

bool BlockOrder::isSeenComplete(const Operation &operation) const {
  if (operation.kind == AsyncKind::TensorLoad) {
    const BarrierState &barrier = barriers[operation.barrier];
    return llvm::any_of(warps,
                        [&](const Warp &warp) {
                          if (warp.common.getPhases(operation.barrier) >
                              operation.phase)
                            return true;
                          return llvm::any_of(warp.own, [&](const auto &entry) {
                            return entry.second.getPhases(operation.barrier) >
                                   operation.phase;
                          });
                        }) &&
           barrier.phases > operation.phase;
  }
  // Writes of a store go to device memory, which outlives the block.
  LaneMask waited = 0;
  for (Operation::Seen seen : operation.read)
    waited |= seen.lanes;
  return waited == operation.lanes;
}

const BarrierState *BlockOrder::findBarrier(unsigned place,
                                            uint64_t address) const {
  auto it = barrierAt.find({place, address});
  return it == barrierAt.end() ? nullptr : &barriers[it->second];
}

uint64_t BlockOrder::getKnownPhases(const BarrierState &barrier, unsigned warp,
                                    LaneMask lanes) const {
  unsigned number = &barrier - barriers.data();
  const Warp &state = warps[warp];
  if (!(lanes & state.apart))
    return state.common.getPhases(number);
  uint64_t least = UINT64_MAX;
  forEachLane(lanes, [&](unsigned lane) {
    least = std::min(least, getClock(state, lane).getPhases(number));
  });
  return least;
}

Relation BlockOrder::relateToInit(const BarrierState &barrier,
                                  const Event &event, bool isAsync) const {
  const Record &init = barrier.init;
  unsigned number = getIndex(event.warp);
  if (!isKnown(init, number, event.lanes))
    return Relation::Unordered;
  if (isAsync && !knowFence(number, event.lanes, init.warp, init.lanes,
                            init.time, &Fence::barriers))
    return Relation::Unfenced;
  return Relation::Ordered;
}
