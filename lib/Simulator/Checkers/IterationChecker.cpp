//===- IterationChecker.cpp - Iterations that meet ------------------------===//

#include "tl/Simulator/Checkers/IterationChecker.h"

#include "tl/Simulator/Checkers/SameValue.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tl::sim;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// What has happened to some bytes
//===----------------------------------------------------------------------===//

void IterationChecker::Two::add(const Touch &touch) {
  if (!first.exists())
    first = touch;
  else if (touch.iteration != first.iteration)
    second = touch;
}

const IterationChecker::Touch *
IterationChecker::Two::findOther(uint32_t iteration) const {
  if (first.exists() && first.iteration != iteration)
    return &first;
  return second.exists() && second.iteration != iteration ? &second : nullptr;
}

void IterationChecker::Several::add(const Touch &touch, bool changesNothing) {
  switch (touch.kind) {
  case Kind::Read:
    return reads.add(touch);
  case Kind::Atomic:
    return atomics.add(touch);
  case Kind::AtomicRead:
    return atomicReads.add(touch);
  case Kind::Write:
    if (!changesNothing)
      *this = Several();
    return addWrite(touch);
  }
}

void IterationChecker::Several::addWrite(const Touch &touch) {
  if (!write.exists())
    write = touch;
  if (touch.iteration == write.iteration)
    return;
  again = touch;
  writers.insert(touch.iteration);
}

const IterationChecker::Touch *
IterationChecker::Several::findWrite(uint32_t iteration) const {
  if (write.exists() && write.iteration != iteration)
    return &write;
  return again.exists() && again.iteration != iteration ? &again : nullptr;
}

const IterationChecker::Touch *
IterationChecker::Several::findMet(const Touch &touch) const {
  const Touch *met = nullptr;
  bool isRead = touch.kind == Kind::Read || touch.kind == Kind::AtomicRead;
  bool isAtomic = touch.kind == Kind::Atomic || touch.kind == Kind::AtomicRead;
  if (!isRead || !isWrittenBy(touch.iteration))
    met = findWrite(touch.iteration);
  if (!met && !isAtomic)
    met = atomics.findOther(touch.iteration);
  if (!met && !isAtomic && !isRead)
    met = atomicReads.findOther(touch.iteration);
  if (!met && !isRead)
    met = reads.findOther(touch.iteration);
  return met;
}

IterationChecker::Cell &IterationChecker::Cell::operator=(const Cell &other) {
  owner = other.owner;
  touches = other.touches;
  several = other.several ? std::make_unique<Several>(*other.several) : nullptr;
  return *this;
}

IterationChecker::Touch IterationChecker::Cell::unpackTouch(Kind kind) const {
  uint32_t packed = touches[unsigned(kind)];
  if (!packed)
    return Touch();
  return {packed / kLanes - 1, uint32_t(owner), uint8_t(packed % kLanes), kind};
}

IterationChecker::Several &IterationChecker::Cell::getSeveral() {
  if (uint32_t(owner) == Touch::kNone)
    return *several;
  if (!several)
    several = std::make_unique<Several>();
  *several = Several();
  several->write = unpackTouch(Kind::Write);
  several->reads.first = unpackTouch(Kind::Read);
  several->atomics.first = unpackTouch(Kind::Atomic);
  several->atomicReads.first = unpackTouch(Kind::AtomicRead);
  owner |= Touch::kNone;
  return *several;
}

//===----------------------------------------------------------------------===//
// What happens
//===----------------------------------------------------------------------===//

void IterationChecker::go(const IterationsEvent &event) {
  Place &place = places[event.warp.warp];
  if (!event.extents.empty()) {
    place.execution = ++executions;
    place.extents.assign(event.extents.begin(), event.extents.end());
    return;
  }
  if (event.indices.size() != place.extents.size())
    return;
  place.iterations = {};
  for (auto [extent, row] : llvm::zip(place.extents, event.indices))
    for (unsigned lane = 0; lane < kLanes; ++lane)
      place.iterations[lane] = place.iterations[lane] * extent + row[lane];
}

void IterationChecker::fence(const FenceEvent &event) {
  if (event.kind == FenceEvent::Kind::Memory)
    places[event.warp.warp].execution = ++executions;
}

void IterationChecker::access(const AccessEvent &event) {
  // Warps of other blocks of the cluster tell of their iterations there.
  if (!program || event.space == Space::Local || event.warp.block != block)
    return;
  Place &place = places[event.warp.warp];
  if (const Iterations *iterations = getIterations(event))
    visit(event, *iterations);
  if (event.isAtomic() && event.ordering != Ordering::Relaxed)
    place.execution = ++executions;
}

const Iterations *IterationChecker::getIterations(const Event &event) const {
  auto found = program->iterations.find(event.instruction);
  size_t rank = places[event.warp.warp].extents.size();
  if (found == program->iterations.end() || rank == 0 ||
      found->second.distances.size() % rank != 0)
    return nullptr;
  return &found->second;
}

/// Each register of each thread is a byte of its own. The lanes of a warp stand
/// side by side, since they touch the same register, mostly.
static constexpr unsigned kRegisterBits = 24, kThreadBits = 10;

static uint64_t getRegisterAddress(const FragmentEvent &event, unsigned lane) {
  uint64_t thread = event.warp.warp * kLanes + lane;
  return (uint64_t(event.fragment) << kRegisterBits | event.registers[lane])
             << kThreadBits |
         thread;
}

void IterationChecker::touchFragment(const FragmentEvent &event) {
  const Iterations *iterations = program ? getIterations(event) : nullptr;
  if (!iterations)
    return;
  uint64_t addresses[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    addresses[lane] = getRegisterAddress(event, lane);
  auto access = makeEvent<AccessEvent>(event);
  access.kind = event.isWrite ? Kind::Write : Kind::Read;
  access.space = Space::Local;
  access.addresses = addresses;
  access.bytes = 1;
  visit(access, *iterations);
}

void IterationChecker::visit(const AccessEvent &event,
                             const Iterations &iterations) {
  const Place &place = places[event.warp.warp];
  // How far the iterations are from that of the lane, as numbers: those are
  // linear in the indices.
  size_t rank = place.extents.size();
  size_t count = iterations.distances.size() / rank;
  size_t ofEach = count / iterations.elements;
  uint32_t bytes = event.bytes / iterations.elements;
  if (event.kind == Kind::Atomic && bytes == 1)
    updatesOfBytes.insert(event.instruction);
  llvm::SmallVector<uint32_t, 16> distances(count);
  const int32_t *distance = iterations.distances.data();
  for (uint32_t &sum : distances)
    for (uint32_t extent : place.extents)
      sum = sum * extent + *distance++;
  Shadow<Cell> &shadow = event.space == Space::Shared   ? shared
                         : event.space == Space::Global ? global
                                                        : registers;
  for (LaneMask rest = event.lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    uint32_t by = Cell::packTouch(event.instruction, lane);
    shadow.visitElements(
        event.addresses[lane], bytes, iterations.elements,
        [&](Cell &cell, uint64_t address, uint32_t part, size_t element) {
          for (size_t n = element * ofEach; n < (element + 1) * ofEach; ++n) {
            uint32_t iteration = place.iterations[lane] + distances[n];
            if (LLVM_LIKELY(
                    cell.addOwn(place.execution, iteration, event.kind, by)))
              continue;
            Touch now = {event.instruction, iteration, uint8_t(lane),
                         event.kind};
            meet(event, now, address, part, cell.getSeveral());
          }
        });
  }
}

bool IterationChecker::mayBeNeighbours(const Touch &one,
                                       const Touch &other) const {
  return (other.kind == Kind::Read &&
          updatesOfBytes.contains(one.instruction)) ||
         (one.kind == Kind::Read && updatesOfBytes.contains(other.instruction));
}

void IterationChecker::meet(const AccessEvent &event, const Touch &touch,
                            uint64_t address, uint32_t bytes,
                            Several &several) {
  bool changesNothing = false;
  const Touch *met = several.findMet(touch);
  if (met && !mayBeNeighbours(*met, touch)) {
    changesNothing = touch.kind == Kind::Write &&
                     writesSame(event, touch.lane, address, bytes, memory);
    if (!changesNothing)
      report(event, *met, touch, address, bytes);
  }
  several.add(touch, changesNothing);
}

//===----------------------------------------------------------------------===//
// What is said of it
//===----------------------------------------------------------------------===//

std::string IterationChecker::describePlace(const AccessEvent &event,
                                            InstructionId instruction,
                                            uint64_t address,
                                            uint32_t bytes) const {
  if (event.space != Space::Local)
    return findings.describe(instruction, event.space, address, bytes);
  uint32_t fragment = address >> (kThreadBits + kRegisterBits);
  return "an element of `" + program->namesOfFragments.lookup(fragment) + "`";
}

std::string IterationChecker::describe(const AccessEvent &event,
                                       const Touch &touch, uint64_t address,
                                       uint32_t bytes) const {
  llvm::SmallVector<std::string, 3> indices;
  uint32_t rest = touch.iteration;
  for (uint32_t extent : llvm::reverse(places[event.warp.warp].extents)) {
    indices.push_back(std::to_string(rest % extent));
    rest /= extent;
  }
  llvm::StringRef does = touch.kind == Kind::Atomic  ? "updates"
                         : touch.kind == Kind::Write ? "writes"
                                                     : "reads";
  return formatv("{0} {1} in iteration ({2})", does,
                 describePlace(event, touch.instruction, address, bytes),
                 llvm::join(llvm::reverse(indices), ", "));
}

void IterationChecker::report(const AccessEvent &event, const Touch &earlier,
                              const Touch &later, uint64_t address,
                              uint32_t bytes) {
  if (findings.mayRace(event.space, address, bytes) ||
      !findings.isNewInLoop(earlier.instruction, later.instruction))
    return;
  Report report;
  report.kind = Report::Kind::Race;
  report.message = Findings::kIterationsRace.str();
  for (const Touch *touch : {&later, &earlier}) {
    Report::Side side;
    side.instruction = touch->instruction;
    side.warp = event.warp;
    side.lane = touch->lane;
    side.text = describe(event, *touch, address, bytes);
    report.sides.push_back(side);
  }
  findings.add(std::move(report));
}
