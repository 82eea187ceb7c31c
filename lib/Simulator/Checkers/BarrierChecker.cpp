//===- BarrierChecker.cpp - Misuse of barriers ----------------------------===//

#include "tl/Simulator/Checkers/BarrierChecker.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tl::sim;
using llvm::formatv;

/// Bytes of an mbarrier.
static constexpr uint64_t kObject = 8;

std::string BarrierChecker::nameBarrier(InstructionId instruction,
                                        uint64_t address) const {
  return findings.getElements().describeMbarrier(instruction, address);
}

void BarrierChecker::access(const AccessEvent &event) {
  if (event.space != Space::Shared || objects.empty())
    return;
  for (LaneMask rest = event.lanes; rest; rest &= rest - 1)
    checkOverlap(event, event.addresses[llvm::countr_zero(rest)], event.bytes,
                 event.writes());
}

void BarrierChecker::issue(const AsyncEvent &event) {
  if (!objects.empty()) {
    for (const Span &span : event.reads)
      if (span.space == Space::Shared)
        checkOverlap(event, span.address, span.bytes, false);
    for (const Span &span : event.writes)
      if (span.space == Space::Shared)
        checkOverlap(event, span.address, span.bytes, true);
  }
  auto it = objects.find(event.barrier);
  if (event.kind != AsyncKind::TensorLoad || it == objects.end())
    return;
  checkInit(event, event.barrier, /*isAsync=*/true);
  for (const Span &span : event.writes)
    it->second.issued += span.bytes;
  it->second.copy = event;
}

void BarrierChecker::useMbarrier(const MbarrierEvent &event) {
  using Kind = MbarrierEvent::Kind;
  auto it = objects.find(event.address);
  if (event.kind == Kind::Init) {
    if (it != objects.end())
      report(event, "sets it up again",
             nameBarrier(event.instruction, event.address) +
                 " is set up while it is in use; it must be invalidated first",
             &it->second.init, "it is set up here");
    objects[event.address] = Object();
    objects[event.address].init = event;
    return;
  }
  if (it == objects.end())
    return;
  Object &object = it->second;
  switch (event.kind) {
  case Kind::Init:
    break;
  case Kind::Arrive:
    if (unsigned warp = order.getIndex(event.warp); !order.isIn(warp, place))
      fromOthers[warp] = {order.getRecord(event), event};
    [[fallthrough]];
  case Kind::Expect:
    checkInit(event, event.address, /*isAsync=*/false);
    object.expected += event.bytes;
    if (event.bytes)
      object.expectation = event;
    break;
  case Kind::Landed:
    object.landed += event.bytes;
    break;
  case Kind::Completed:
    checkBytes(event, object);
    object.expected = object.issued = object.landed = 0;
    break;
  case Kind::Waited:
    checkInit(event, event.address, /*isAsync=*/false);
    checkPhase(event);
    break;
  case Kind::Invalidate:
    checkInit(event, event.address, /*isAsync=*/false);
    objects.erase(it);
    break;
  }
}

void BarrierChecker::end() {
  for (const auto &[warp, arrival] : fromOthers)
    if (!order.isKnownIn(arrival.first, place))
      report(arrival.second, "arrives",
             nameBarrier(arrival.second.instruction, arrival.second.address) +
                 " is used by another block of the cluster, which need not be "
                 "done with it when its own block ends; a barrier of the "
                 "cluster would order the two");
}

void BarrierChecker::checkInit(const Event &event, uint64_t address,
                               bool isAsync) {
  const BarrierState *barrier = order.findBarrier(place, address);
  if (!barrier)
    return;
  Relation relation = order.relateToInit(*barrier, event, isAsync);
  if (relation == Relation::Ordered)
    return;
  const Event &init = objects[address].init;
  bool isFence = relation == Relation::Unfenced;
  report(event, isAsync ? "issues a copy that completes at it" : "uses it",
         nameBarrier(event.instruction, address) +
             (isFence ? " is used by the async proxy, which need not see that "
                        "it is set up; `fence.mbarrier_init` or "
                        "`fence.proxy.async` behind its initialisation, before "
                        "the barrier, would show it"
                      : " is used, and nothing orders that behind its "
                        "initialisation; a barrier between them would"),
         &init, "sets it up",
         isFence ? Report::Kind::MissingFence : Report::Kind::Race);
}

void BarrierChecker::checkBytes(const MbarrierEvent &event,
                                const Object &object) {
  if (object.landed == object.issued && object.expected == object.landed)
    return;
  report(object.expectation, "expects bytes",
         formatv("phase {0} of {1} is complete with {2} bytes expected and "
                 "copies of {3} bytes issued, of which {4} have landed; the "
                 "bytes of a phase must add up",
                 event.phase, nameBarrier(event.instruction, event.address),
                 object.expected, object.issued, object.landed),
         object.issued ? &object.copy : nullptr,
         "the last copy is issued here");
}

void BarrierChecker::checkPhase(const MbarrierEvent &event) {
  const BarrierState *barrier = order.findBarrier(place, event.address);
  uint64_t seen = event.phase + 1;
  if (!barrier || seen < 2)
    return;
  uint64_t known =
      order.getKnownPhases(*barrier, order.getIndex(event.warp), event.lanes);
  if (known + 1 >= seen)
    return;
  report(event, formatv("waits and sees phase {0}", event.phase),
         formatv("a wait for {0} passes with phase {1}, and phase {2}, which "
                 "has the other parity, was missed by the thread",
                 nameBarrier(event.instruction, event.address), event.phase,
                 event.phase - 1));
}

void BarrierChecker::checkOverlap(const Event &event, uint64_t address,
                                  uint32_t bytes, bool writes) {
  auto it = objects.lower_bound(address < kObject ? 0 : address - kObject + 1);
  if (it == objects.end() || it->first >= address + bytes)
    return;
  report(event,
         (writes ? "writes " : "reads ") + findings.describe(event.instruction,
                                                             Space::Shared,
                                                             address, bytes),
         nameBarrier(it->second.init.instruction, it->first) +
             " may only be used by the instructions for mbarriers while it is "
             "set up",
         &it->second.init, "it is set up here");
}

void BarrierChecker::report(const Event &event, std::string text,
                            std::string message, const Event *other,
                            std::string otherText, Report::Kind kind) {
  if (!findings.isNew(kind, event.instruction, other ? other->instruction : 0))
    return;
  Report report;
  report.kind = kind;
  report.message = std::move(message);
  auto addSide = [&](const Event &side, std::string text) {
    report.sides.push_back({side.instruction, side.warp,
                            llvm::countr_zero(side.lanes), std::move(text)});
  };
  addSide(event, std::move(text));
  if (other)
    addSide(*other, std::move(otherText));
  findings.add(std::move(report));
}
