//===- Timeline.cpp - What the warps of a block do, and wait for ----------===//
//
// See Timeline.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Counters/Timeline.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace llvm;
using namespace tl::sim;

namespace {
/// Something that a warp does.
struct Act {
  StringRef kind;
  uint32_t warp = 0;
  InstructionId instruction = 0;
  /// The steps of it: from `begin` on, before `end`.
  uint32_t begin = 0, end = 0;
  /// Shared memory that is written, or read by a store.
  uint64_t address = 0, bytes = 0;
  /// Before which step the last one has read what it wrote.
  uint32_t read = 0;
  /// Shared memory that a product reads.
  SmallVector<Span, 2> factors;
  /// Of a wait or an arrival: at which barrier or mbarrier, and its phase.
  uint64_t barrier = 0, phase = 0;

  void cover(const Span &span) {
    uint64_t last = std::max(address + bytes, span.address + span.bytes);
    address = bytes ? std::min(address, span.address) : span.address;
    bytes = last - address;
  }
};

/// What is known of an mbarrier.
struct Phases {
  uint32_t arrivals = 0;
  int64_t pendingArrivals = 0, pendingBytes = 0;
  uint64_t phase = 0;
  /// The step before which all that has come so far had.
  uint32_t ready = 0;
  /// The same of the last complete phase.
  uint32_t complete = 0;
};

class LaunchTimeline;

class BlockTimeline : public BlockObserver {
public:
  BlockTimeline(LaunchTimeline &launch, const Program &program, unsigned warps,
                unsigned line)
      : launch(launch), program(program), line(line), now(warps), lines(warps) {
  }

  void onAccess(const AccessEvent &event) override {
    if (event.space == Space::Shared && event.lanes &&
        event.kind == AccessEvent::Kind::Read)
      read(event.addresses[countr_zero(event.lanes)], event.bytes,
           now[event.warp.warp]);
  }

  void onAsyncIssue(const AsyncEvent &event) override {
    bool isStore = event.kind == AsyncKind::TensorStore;
    Act &act = add(getName(event.kind), event);
    operations[event.id] = &act - acts.data();
    if (event.kind == AsyncKind::Wgmma) {
      for (const Span &span : event.reads) {
        act.factors.push_back(span);
        read(span.address, span.bytes, act.end);
      }
      return;
    }
    for (const Span &span : isStore ? event.reads : event.writes)
      act.cover(span);
    if (!isStore)
      writes[act.address] = &act - acts.data();
    else
      read(act.address, act.bytes, act.end);
  }

  void onProduct(const ProductEvent &event) override {
    if (StringRef(program.getPlace(event.instruction).op) == "tl.mma")
      add("mma", event);
  }

  void onWaitGroups(const GroupEvent &event) override {
    uint32_t at = now[event.warp.warp];
    for (AsyncId id : event.operations) {
      auto found = operations.find(id);
      if (found == operations.end())
        continue;
      Act &act = acts[found->second];
      act.end = std::max(act.end, at);
      for (const Span &factor : act.factors)
        read(factor.address, factor.bytes, act.end);
    }
  }

  void onBarrierArrive(const BarrierEvent &event) override {
    arrivals[event.barrier].push_back({event, event.waits});
  }

  void onBarrierComplete(const BarrierEvent &event, ArrayRef<Event>) override {
    std::vector<Arrival> met = std::move(arrivals[event.barrier]);
    arrivals.erase(event.barrier);
    uint32_t ready = 0;
    for (const Arrival &arrival : met)
      ready = std::max(ready, now[arrival.event.warp.warp]);
    for (const Arrival &arrival : met) {
      Act &act =
          add(arrival.waits ? "barrier" : "barrier arrive", arrival.event);
      act.barrier = event.barrier;
      if (arrival.waits)
        goOn(act, ready);
    }
  }

  void onMbarrier(const MbarrierEvent &event) override {
    Phases &phases = mbarriers[event.address];
    uint32_t &at = now[event.warp.warp];
    switch (event.kind) {
    case MbarrierEvent::Kind::Init:
      phases = Phases();
      phases.arrivals = phases.pendingArrivals = event.count;
      return;
    case MbarrierEvent::Kind::Arrive: {
      phases.pendingArrivals -= event.count;
      phases.pendingBytes += event.bytes;
      phases.ready = std::max(phases.ready, at + 1);
      // Lanes arrive one by one.
      if (const Act *last = getLast(event.warp.warp);
          last && last->kind == "arrive" && last->barrier == event.address &&
          last->phase == event.phase)
        return;
      Act &act = add("arrive", event);
      act.barrier = event.address;
      act.phase = event.phase;
      return;
    }
    case MbarrierEvent::Kind::Expect:
      phases.pendingBytes += event.bytes;
      return;
    case MbarrierEvent::Kind::Landed: {
      phases.pendingBytes -= event.bytes;
      auto found = operations.find(event.async);
      if (found != operations.end())
        phases.ready = std::max(phases.ready, acts[found->second].end);
      return;
    }
    case MbarrierEvent::Kind::Completed:
      phases.phase = event.phase + 1;
      phases.complete = phases.ready;
      phases.ready = 0;
      phases.pendingArrivals = phases.arrivals;
      return;
    case MbarrierEvent::Kind::Waited: {
      Act &act = add("wait", event);
      act.barrier = event.address;
      act.phase = event.phase;
      goOn(act, phases.complete);
      return;
    }
    case MbarrierEvent::Kind::Invalidate:
      mbarriers.erase(event.address);
      return;
    }
  }

  void onInstruction(const Event &event) override {
    if (!line || !event.lanes)
      return;
    unsigned here = program.getPlace(event.instruction).line;
    if (here == line && lines[event.warp.warp] != line)
      states.push_back(getState(event));
    lines[event.warp.warp] = here;
  }

  void onBlockEnd() override;

private:
  struct Arrival {
    Event event;
    bool waits;
  };

  static StringRef getName(AsyncKind kind) {
    switch (kind) {
    case AsyncKind::CopyAsync:
      return "cp.async";
    case AsyncKind::TensorLoad:
      return "bulk load";
    case AsyncKind::TensorStore:
      return "bulk store";
    case AsyncKind::Wgmma:
      return "wgmma";
    }
    llvm_unreachable("all kinds are named");
  }

  /// An act of the warp's next step, or the one before if it is the same line
  /// that goes on: copies by several boxes, products by several instructions.
  Act &add(StringRef kind, const Event &event) {
    uint32_t warp = event.warp.warp;
    if (Act *last = getLast(warp);
        last && last->kind == kind && (kind == "mma" || kind == "cp.async") &&
        isOnePlace(last->instruction, event.instruction))
      return *last;
    lastOf[warp] = acts.size();
    Act &act = acts.emplace_back();
    act.kind = kind;
    act.warp = warp;
    act.instruction = event.instruction;
    act.begin = now[warp]++;
    act.end = now[warp];
    return act;
  }

  Act *getLast(uint32_t warp) {
    auto last = lastOf.find(warp);
    return last == lastOf.end() ? nullptr : &acts[last->second];
  }

  bool isOnePlace(InstructionId a, InstructionId b) const {
    const Place &first = program.getPlace(a), &second = program.getPlace(b);
    return first.line == second.line && first.file == second.file;
  }

  /// A wait is over behind step `ready` at the earliest.
  void goOn(Act &act, uint32_t ready) {
    act.end = std::max(act.begin, ready);
    now[act.warp] = act.end;
  }

  /// Bytes are read before a step.
  void read(uint64_t address, uint64_t bytes, uint32_t before) {
    for (const auto &[_, number] : writes) {
      Act &act = acts[number];
      if (act.address < address + bytes && address < act.address + act.bytes)
        act.read = std::max(act.read, before);
    }
  }

  json::Object getPlaceOf(InstructionId instruction) const {
    const Place &place = program.getPlace(instruction);
    return json::Object{{"op", place.op},
                        {"file", place.file},
                        {"line", place.line},
                        {"statement", place.statement}};
  }

  json::Value getState(const Event &event) const {
    json::Array all;
    for (const auto &[address, phases] : mbarriers)
      all.push_back(
          json::Object{{"address", int64_t(address - SharedMemory::kBase)},
                       {"phase", int64_t(phases.phase)},
                       {"arrivals", phases.arrivals},
                       {"pending_arrivals", phases.pendingArrivals},
                       {"pending_bytes", phases.pendingBytes}});
    json::Object state = getPlaceOf(event.instruction);
    state["warp"] = event.warp.warp;
    state["mbarriers"] = std::move(all);
    return state;
  }

  LaunchTimeline &launch;
  const Program &program;
  const unsigned line;
  std::vector<Act> acts;
  /// Of each warp: its next step, and the line that it is in.
  std::vector<uint32_t> now, lines;
  /// Numbers of acts: the last one of a warp, operations, and what wrote shared
  /// memory from an address on.
  DenseMap<uint32_t, size_t> lastOf;
  DenseMap<AsyncId, size_t> operations;
  std::map<uint64_t, size_t> writes;
  std::map<uint32_t, std::vector<Arrival>> arrivals;
  std::map<uint64_t, Phases> mbarriers;
  json::Array states;
};

class LaunchTimeline : public LaunchObserver {
public:
  LaunchTimeline(const Timeline &timeline, const LaunchInfo &info,
                 json::Array &launches)
      : timeline(timeline), info(info), launches(launches) {}

  std::unique_ptr<BlockObserver> beginBlock(uint64_t block,
                                            const SharedMemory &) override {
    if (block != timeline.block)
      return std::make_unique<BlockObserver>();
    return std::make_unique<BlockTimeline>(*this, *info.program,
                                           info.warpCount(), timeline.line);
  }
  void onLaunchEnd() override {
    launches.push_back(json::Object{{"kernel", info.program->kernel},
                                    {"grid", json::Array(info.grid)},
                                    {"block", json::Array(info.block)},
                                    {"acts", std::move(acts)},
                                    {"states", std::move(states)}});
  }

  json::Array acts, states;

private:
  const Timeline &timeline;
  const LaunchInfo info;
  json::Array &launches;
};
} // namespace

void BlockTimeline::onBlockEnd() {
  for (const Act &act : acts) {
    json::Object object = getPlaceOf(act.instruction);
    object["kind"] = act.kind;
    object["warp"] = act.warp;
    object["begin"] = act.begin;
    object["end"] = act.end;
    if (act.bytes) {
      object["address"] = int64_t(act.address - SharedMemory::kBase);
      object["bytes"] = int64_t(act.bytes);
      object["read"] = act.read;
    }
    if (act.kind.starts_with("barrier"))
      object["barrier"] = int64_t(act.barrier);
    if (act.kind == "wait" || act.kind == "arrive") {
      object["mbarrier"] = int64_t(act.barrier - SharedMemory::kBase);
      object["phase"] = int64_t(act.phase);
    }
    launch.acts.push_back(std::move(object));
  }
  launch.states = std::move(states);
}

std::unique_ptr<LaunchObserver>
Timeline::beginLaunch(const LaunchInfo &launch) {
  return std::make_unique<LaunchTimeline>(*this, launch, launches);
}
