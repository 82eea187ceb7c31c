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

IterationChecker::Cell &IterationChecker::Cell::operator=(const Cell &other) {
  execution = other.execution;
  write = other.write;
  reads = other.reads;
  rest = other.rest ? std::make_unique<Rest>(*other.rest) : nullptr;
  return *this;
}

void IterationChecker::Cell::add(const Touch &touch, bool changesNothing) {
  if (touch.kind == Kind::Read)
    return reads.add(touch);
  if (touch.kind == Kind::Atomic)
    return getRest().atomics.add(touch);
  if (touch.kind == Kind::AtomicRead)
    return getRest().atomicReads.add(touch);
  if (!changesNothing)
    clear();
  addWrite(touch);
}

void IterationChecker::Cell::addWrite(const Touch &touch) {
  if (!write.exists())
    write = touch;
  if (touch.iteration == write.iteration)
    return;
  getRest().write = touch;
  rest->writers.insert(touch.iteration);
}

const IterationChecker::Touch *
IterationChecker::Cell::findWrite(uint32_t iteration) const {
  if (write.exists() && write.iteration != iteration)
    return &write;
  return rest && rest->write.exists() && rest->write.iteration != iteration
             ? &rest->write
             : nullptr;
}

const IterationChecker::Touch *
IterationChecker::Cell::findMet(const Touch &touch) const {
  const Touch *met = nullptr;
  bool isRead = touch.kind == Kind::Read || touch.kind == Kind::AtomicRead;
  bool isAtomic = touch.kind == Kind::Atomic || touch.kind == Kind::AtomicRead;
  if (!isRead || !isWrittenBy(touch.iteration))
    met = findWrite(touch.iteration);
  if (!met && rest && !isAtomic)
    met = rest->atomics.findOther(touch.iteration);
  if (!met && rest && !isAtomic && !isRead)
    met = rest->atomicReads.findOther(touch.iteration);
  if (!met && !isRead)
    met = reads.findOther(touch.iteration);
  return met;
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
  place.indices.resize(event.indices.size());
  for (auto [row, from] : llvm::zip(place.indices, event.indices))
    std::copy_n(from, kLanes, row.begin());
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
    for (LaneMask rest = event.lanes; rest; rest &= rest - 1)
      visitLane(event, *iterations, place, llvm::countr_zero(rest));
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

/// Each register of each thread is a byte of its own.
static constexpr unsigned kRegisterBits = 24, kThreadBits = 10;

static uint64_t getRegisterAddress(const FragmentEvent &event, unsigned lane) {
  uint64_t thread = event.warp.warp * kLanes + lane;
  return (uint64_t(event.fragment) << kThreadBits | thread) << kRegisterBits |
         event.registers[lane];
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
  for (LaneMask rest = event.lanes; rest; rest &= rest - 1)
    visitLane(access, *iterations, places[event.warp.warp],
              llvm::countr_zero(rest));
}

void IterationChecker::visitLane(const AccessEvent &event,
                                 const Iterations &iterations,
                                 const Place &place, unsigned lane) {
  size_t rank = place.extents.size();
  size_t count = iterations.distances.size() / rank;
  size_t ofEach = count / iterations.elements;
  uint32_t bytes = event.bytes / iterations.elements;
  Shadow<Cell> &shadow = event.space == Space::Shared   ? shared
                         : event.space == Space::Global ? global
                                                        : registers;
  const int32_t *distance = iterations.distances.data();
  for (size_t n = 0; n < count; ++n) {
    Touch now = {event.instruction, 0, uint8_t(lane), event.kind};
    for (size_t d = 0; d < rank; ++d)
      now.iteration = now.iteration * place.extents[d] +
                      place.indices[d][lane] + *distance++;
    shadow.visit(event.addresses[lane] + n / ofEach * bytes, bytes,
                 [&](Cell &cell, uint64_t address, uint32_t part) {
                   cell.enter(place.execution);
                   visitCell(event, now, address, part, cell);
                 });
  }
}

void IterationChecker::visitCell(const AccessEvent &event, const Touch &touch,
                                 uint64_t address, uint32_t bytes, Cell &cell) {
  bool changesNothing = false;
  if (const Touch *met = cell.findMet(touch)) {
    changesNothing = touch.kind == Kind::Write &&
                     writesSame(event, touch.lane, address, bytes, memory);
    if (!changesNothing)
      report(event, *met, touch, address, bytes);
  }
  cell.add(touch, changesNothing);
}

//===----------------------------------------------------------------------===//
// What is said of it
//===----------------------------------------------------------------------===//

std::string IterationChecker::describePlace(const AccessEvent &event,
                                            uint64_t address,
                                            uint32_t bytes) const {
  if (event.space != Space::Local)
    return findings.describe(event.space, address, bytes);
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
                 describePlace(event, address, bytes),
                 llvm::join(llvm::reverse(indices), ", "));
}

void IterationChecker::report(const AccessEvent &event, const Touch &earlier,
                              const Touch &later, uint64_t address,
                              uint32_t bytes) {
  if (findings.mayRace(event.space, address, bytes) ||
      !findings.isNewInAnyOrder(Report::Kind::Race, earlier.instruction,
                                later.instruction))
    return;
  Report report;
  report.kind = Report::Kind::Race;
  report.message =
      "two iterations of one `T.Parallel` touch one element, and nothing "
      "orders iterations; give each an element of its own, read a copy that "
      "is made before the loop, or use `T.atomic_add` or its kin";
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
