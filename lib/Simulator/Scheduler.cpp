//===- Scheduler.cpp - Whose turn it is -----------------------------------===//
//
// A block runs in turns. In each a warp that can go on executes some
// instructions, and then some parts of asynchronous operations happen. Random
// numbers decide which warp, how many instructions, and which parts, so that
// seeds differ in what is seen late and what early (Choices.h). Two decisions
// are the whole block's. Its *pace* says how willing asynchronous operations
// are: done as late as they may be, all at once, or in between. Its *order*
// says which warp is first: the one with the lowest number, so that the last
// ones come late wherever they need not be early, the one with the highest, or
// any.
//
// Nothing happens while no warp can go on but parts of operations: they may be
// what warps wait for. When there are none left, the block is in a deadlock.
//
//===----------------------------------------------------------------------===//

#include "Warp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace tl::sim;

/// Of a multiprocessor; a thread has a multiple of 8 of them, and less than 256
/// (PTX ISA, "setmaxnreg").
static constexpr uint32_t kRegisters = 65536, kRegisterStep = 8,
                          kMostRegisters = 255;

/// The most instructions of a turn.
static constexpr uint32_t kLongestTurn = 256;
/// Instructions of a block, counted for each thread, behind which another warp
/// is the first or the last: that one may wait in a loop for what another one
/// writes, and a GPU lets every warp get on.
static constexpr uint64_t kLongestReign = 1 << 19;
/// Less than so many parts happen behind one, if they happen at any time.
static constexpr uint32_t kMostParts = 32;

static constexpr uint32_t kPaces = 3, kOrders = 3;

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

WarpId Warp::getId() const { return {block.number, number}; }

Event Warp::getEvent(const Instruction &instruction) const {
  return {getId(), lanes,
          InstructionId(&instruction - block.program.code.data())};
}

Step Warp::fail(Report::Kind kind, const Instruction &instruction,
                std::string message, std::string what,
                std::optional<unsigned> lane) {
  Report report;
  report.kind = kind;
  report.message = std::move(message);
  Event event = getEvent(instruction);
  report.sides.push_back(
      {event.instruction, event.warp, lane, std::move(what)});
  block.report(std::move(report));
  return Step::Failed;
}

Step Warp::failDivergent(const Instruction &instruction) {
  return fail(Report::Kind::Divergence, instruction,
              formatv("{0} of {1} threads of the warp come here, and the "
                      "instruction needs all of them",
                      popcount(lanes), popcount(exists))
                  .str(),
              "comes here without the others", countr_zero(lanes));
}

Step Warp::failApart(const Instruction &instruction,
                     const WarpGroups::Instance &instead) {
  Event event = getEvent(instruction);
  bool isSame = event.instruction == instead.first.instruction;
  Report report;
  report.kind = Report::Kind::Divergence;
  report.message = isSame ? "the four warps of a group multiply the same "
                            "factors in shared memory"
                          : "the four warps of a group come to the same "
                            "instructions in the same order";
  report.sides.push_back(
      {event.instruction, event.warp, std::nullopt,
       isSame ? "multiplies other factors" : "comes here instead"});
  report.sides.push_back({instead.first.instruction, instead.first.warp,
                          std::nullopt, "comes here"});
  block.report(std::move(report));
  return Step::Failed;
}

Step Warp::failInFlight(const Instruction &instruction, InstructionId writer,
                        llvm::StringRef what) {
  Report report;
  report.kind = Report::Kind::InFlight;
  report.message =
      "the product may still be under way; a wait that carries "
      "its result and leaves fewer groups under way would complete "
      "it";
  report.sides.push_back(
      {getEvent(instruction).instruction, getId(), std::nullopt, what.str()});
  report.sides.push_back({writer, getId(), std::nullopt, "issues the `wgmma`"});
  block.report(std::move(report));
  return Step::Failed;
}

Step Warp::failUnheld(const AsyncOperations::ReadFactor &read) {
  Report report;
  report.kind = Report::Kind::InFlight;
  report.message =
      "nothing keeps the registers of A from other uses until the product is "
      "complete; a wait that carries them would";
  report.sides.push_back({read.wait, getId(), std::nullopt,
                          "waits for a `wgmma` without its registers of A"});
  report.sides.push_back(
      {read.instruction, getId(), std::nullopt, "issues the `wgmma`"});
  block.report(std::move(report));
  return Step::Failed;
}

Step Warp::fail(const Fault &fault, const Instruction &instruction) {
  InstructionId id = getEvent(instruction).instruction;
  Elements elements = block.getElements();
  switch (fault.kind) {
  case Fault::Kind::OutOfBounds:
    return fail(
        Report::Kind::OutOfBounds, instruction,
        "an access is out of bounds; its index must be below the extent",
        "accesses " +
            elements.describeOutside(id, fault.span, block.shared.size()),
        fault.lane);
  case Fault::Kind::Misaligned: {
    Span first = fault.span;
    first.bytes = 1;
    return fail(Report::Kind::Misaligned, instruction,
                *fault.text ? fault.text
                            : "an access does not begin at a multiple of its "
                              "bytes; an index or the tensor's address is odd",
                formatv("accesses {0} bytes from {1} on, at an address that "
                        "the instruction does not take",
                        fault.span.bytes, elements.describe(id, first)),
                fault.lane);
  }
  case Fault::Kind::Invalid:
    return fail(Report::Kind::Unsupported, instruction, fault.text,
                "executes it", fault.lane);
  }
  llvm_unreachable("all kinds are handled");
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Neighbouring seeds, and blocks, have all pairs of a pace and an order.
static uint32_t getOrderOf(uint64_t seed) {
  return (seed + seed / kPaces) % kOrders;
}

/// Others run at the same time as the one that is to run alone, by the seed.
static bool isOnly(const Launch &launch, uint64_t number) {
  return launch.only.value_or(number) == number;
}

Block::Block(const Launch &launch, uint64_t number, Group &group,
             Cluster &cluster, MutableArrayRef<uint32_t> registers,
             SharedMemory &shared, Reports &reports, BlockObserver *observer)
    : launch(launch), program(*launch.program), number(number),
      position({uint32_t(number % launch.grid[0]),
                uint32_t(number / launch.grid[0] % launch.grid[1]),
                uint32_t(number / launch.grid[0] / launch.grid[1])}),
      group(group), cluster(cluster), shared(shared), global(*launch.global),
      choices(Random(Random(launch.seed).next() ^ Random(number).next()),
              isOnly(launch, number) ? launch.schedule : nullptr,
              isOnly(launch, number) ? launch.decided : nullptr),
      async(*this), reports(reports), observer(observer),
      threadCount(program.block[0] * program.block[1] * program.block[2]),
      pace(Pace(choices.settle(Decision::Kind::Pace, kPaces,
                               (launch.seed + number) % kPaces))),
      order(Order(choices.settle(Decision::Kind::Order, kOrders,
                                 getOrderOf(launch.seed + number)))) {
  group.blocks.push_back(this);
  cluster.blocks.push_back(this);
  uint32_t count = divideCeil(threadCount, kLanes);
  uint32_t owned = std::min(kRegisters / threadCount, kMostRegisters) /
                   kRegisterStep * kRegisterStep;
  warps.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t threads = std::min(threadCount - i * kLanes, kLanes);
    LaneMask exists =
        threads == kLanes ? kAllLanes : (LaneMask(1) << threads) - 1;
    warps.emplace_back(*this, i, exists,
                       registers.data() + size_t(i) * program.registerWords,
                       owned);
    warps.back().begin();
  }
}

void Warp::begin() {
  for (const ConstantRows &constant : block.program.constants)
    for (auto [i, bits] : enumerate(constant.elements))
      if (constant.isWide)
        std::fill_n(wide(constant.at) + i * kLanes, kLanes, bits);
      else
        std::fill_n(words(constant.at) + i * kLanes, kLanes, bits);
  for (auto [parameter, bits] :
       zip_equal(block.program.parameters, block.launch.parameters))
    if (parameter.isWide)
      std::fill_n(wide(parameter.at), kLanes, bits);
    else
      std::fill_n(words(parameter.at), kLanes, bits);
  local.resize(size_t(block.program.localBytes) * kLanes);
}

bool Block::turn(Warp &warp) {
  const Instruction *code = program.code.data();
  uint32_t count =
      kLongestTurn - choices.choose(Decision::Kind::Length, kLongestTurn);
  for (uint32_t i = 0; i < count; ++i) {
    const Instruction &instruction = code[warp.position];
    threadInstructions += popcount(warp.lanes);
    if (LLVM_UNLIKELY(observer))
      observer->onInstruction(warp.getEvent(instruction));
    switch (instruction.execute(warp, instruction)) {
    case Step::Next:
      ++warp.position;
      // Not behind the turn: what the warp does next may be too late.
      if (pace == Pace::Eager && !async.isEmpty())
        async.finish();
      continue;
    case Step::Jumped:
      continue;
    case Step::Paused:
      ++warp.position;
      return true;
    case Step::Ended:
      warp.hasEnded = true;
      completeMeeting(warp.getEvent(instruction));
      return true;
    case Step::Failed:
      return false;
    }
  }
  return true;
}

/// Lets parts of asynchronous operations happen, as the pace says.
void Block::advanceOperations() {
  switch (pace) {
  case Pace::Lazy:
    return;
  case Pace::Eager:
    return async.finish();
  case Pace::Mixed:
    for (uint32_t i = choices.choose(Decision::Kind::Amount, kMostParts);
         i > 0 && !async.isEmpty(); --i)
      async.advance();
    return;
  }
}

/// Whose turn it is, of those that can go on.
Warp &Block::chooseWarp(ArrayRef<Warp *> ready) {
  if (order != Order::Any) {
    size_t behind = threadInstructions / kLongestReign % ready.size();
    return *ready[order == Order::Lowest ? behind : ready.size() - 1 - behind];
  }
  Warp &warp = *ready[choices.choose(Decision::Kind::Warp, ready.size())];
  choices.tell(warp.number, warp.position);
  return warp;
}

bool Block::step() {
  ready.clear();
  for (Warp &warp : warps)
    if (!warp.hasEnded && warp.waiting.kind == Waiting::Kind::Nothing)
      ready.push_back(&warp);
  if (!ready.empty()) {
    ++group.turns;
    Warp &warp = chooseWarp(ready);
    bool wasIdle = group.isIdle(warp);
    if (turn(warp))
      advanceOperations();
    if (!wasIdle || !group.isIdle(warp))
      group.lastActive = group.turns;
    if (!failed && standsStill(warp))
      leaveStandstill();
    return !failed;
  }
  if (!async.isEmpty()) {
    async.advance();
    return !failed;
  }
  if (any_of(warps, [](const Warp &warp) { return !warp.hasEnded; })) {
    if (mayBeWaitedFor())
      return true;
    reportDeadlock();
    return false;
  }
  if (std::optional<WarpGroups::Instance> open = warpGroups.findOpen()) {
    reportApart(*open);
    return false;
  }
  ended = true;
  if (observer)
    observer->onBlockEnd();
  return false;
}

bool Block::canGoOn() const {
  return !async.isEmpty() || any_of(warps, [](const Warp &warp) {
    return !warp.hasEnded && warp.waiting.kind == Waiting::Kind::Nothing;
  });
}

/// True if another block of the cluster may do what this one waits for.
bool Block::mayBeWaitedFor() const {
  return any_of(cluster.blocks,
                [](const Block *other) { return other->canGoOn(); });
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

Step Block::arriveAtBarrier(Warp &warp, const Instruction &instruction,
                            uint32_t number, uint32_t threads, bool waits) {
  NamedBarrier &barrier = barriers[number];
  Event event = warp.getEvent(instruction);
  if (barrier.arrivals.empty())
    barrier.expected = threads;
  else if (barrier.expected != threads)
    return warp.fail(Report::Kind::Barrier, instruction,
                     formatv("barrier {0} is for {1} threads here, and for {2} "
                             "where others wait for it",
                             number, threads, barrier.expected)
                         .str(),
                     "waits");
  barrier.arrivals.push_back(event);
  // Whoever waits is there until the others are; who does not may come again.
  group.changes += !waits;
  // Warps count as a whole, also the last one of a block.
  barrier.arrived += kLanes;
  auto told = makeEvent<BarrierEvent>(event);
  told.barrier = number;
  told.threads = threads;
  told.waits = waits;
  if (observer)
    observer->onBarrierArrive(told);
  if (waits) {
    warp.waiting.kind = Waiting::Kind::Barrier;
    warp.waiting.instruction = event.instruction;
    warp.waiting.lanes = warp.lanes;
    warp.waiting.barrier = number;
    barrier.waiting.push_back(warp.number);
  }
  Step step = waits ? Step::Paused : Step::Next;
  if (barrier.arrived < alignTo(threads, kLanes))
    return step;

  if (observer)
    observer->onBarrierComplete(told, barrier.arrivals);
  for (uint32_t waiting : barrier.waiting)
    warps[waiting].waiting.kind = Waiting::Kind::Nothing;
  barrier = NamedBarrier();
  return step;
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// Whether all warps that have not ended have come to a meeting.
bool Block::hasCome(uint64_t meeting) const {
  return all_of(warps, [&](const Warp &warp) {
    return warp.hasEnded || warp.clusterArrivals > meeting;
  });
}

void Block::tellMeeting(const Event &event, ClusterEvent::Kind kind) {
  if (!observer)
    return;
  auto told = makeEvent<ClusterEvent>(event);
  told.kind = kind;
  observer->onCluster(told);
}

/// Lets the warps of the cluster go on that wait for a meeting, if it is
/// complete.
void Block::completeMeeting(const Event &by) {
  bool anyCame = any_of(cluster.blocks, [&](const Block *block) {
    return any_of(block->warps, [&](const Warp &warp) {
      return warp.clusterArrivals > cluster.meetings;
    });
  });
  if (!anyCame || !all_of(cluster.blocks, [&](const Block *block) {
        return block->hasCome(cluster.meetings);
      }))
    return;
  ++cluster.meetings;
  tellMeeting(by, ClusterEvent::Kind::Complete);
  for (Block *block : cluster.blocks)
    for (Warp &warp : block->warps) {
      if (warp.waiting.kind != Waiting::Kind::Cluster)
        continue;
      warp.waiting.kind = Waiting::Kind::Nothing;
      block->tellMeeting(
          {warp.getId(), warp.waiting.lanes, warp.waiting.instruction},
          ClusterEvent::Kind::Wait);
    }
}

Step Block::arriveAtCluster(Warp &warp, const Instruction &instruction) {
  if (warp.clusterArrivals > warp.clusterWaits)
    return warp.fail(Report::Kind::Barrier, instruction,
                     "a warp comes to the barrier of the cluster again, and "
                     "has not waited there",
                     "arrives");
  ++warp.clusterArrivals;
  ++group.changes;
  tellMeeting(warp.getEvent(instruction), ClusterEvent::Kind::Arrive);
  completeMeeting(warp.getEvent(instruction));
  return Step::Next;
}

Step Block::waitForCluster(Warp &warp, const Instruction &instruction) {
  if (warp.clusterArrivals == warp.clusterWaits)
    return warp.fail(Report::Kind::Barrier, instruction,
                     "a warp waits at the barrier of the cluster, where it has "
                     "not arrived",
                     "waits");
  ++warp.clusterWaits;
  Event event = warp.getEvent(instruction);
  if (cluster.meetings >= warp.clusterWaits) {
    tellMeeting(event, ClusterEvent::Kind::Wait);
    return Step::Next;
  }
  warp.waiting.kind = Waiting::Kind::Cluster;
  warp.waiting.instruction = event.instruction;
  warp.waiting.lanes = warp.lanes;
  return Step::Paused;
}

Block *Block::findBlock(Warp &warp, const Instruction &instruction,
                        unsigned lane, uint32_t &address) {
  uint32_t rank = address >> kClusterShift;
  address &= (1u << kClusterShift) - 1;
  if (rank == 0)
    return this;
  const char *problem = nullptr;
  if (rank > cluster.blocks.size())
    problem = "the cluster has no block {0}";
  else if (cluster.blocks[rank - 1]->hasEnded())
    problem = "block {0} of the cluster has ended, and its shared memory with "
              "it; a barrier of the cluster would keep it";
  if (!problem)
    return cluster.blocks[rank - 1];
  (void)warp.fail(Report::Kind::OutOfBounds, instruction,
                  formatv(problem, rank - 1).str(),
                  "touches shared memory of another block", lane);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

Step Block::setRegisters(Warp &warp, const Instruction &instruction,
                         uint32_t count) {
  warp.waiting.kind = Waiting::Kind::Registers;
  warp.waiting.instruction = warp.getEvent(instruction).instruction;
  warp.waiting.lanes = warp.lanes;
  warp.waiting.registers = count;
  takeRegisters(warp);
  for (Warp &other : warps)
    if (other.waiting.kind == Waiting::Kind::Registers)
      takeRegisters(other);
  return warp.waiting.kind == Waiting::Kind::Nothing ? Step::Next
                                                     : Step::Paused;
}

/// Ends the wait that the warp has begun, if there are enough.
void Block::takeRegisters(Warp &warp) {
  uint32_t wanted = warp.waiting.registers;
  if (wanted > warp.owned + freeRegisters)
    return;
  ++group.changes;
  freeRegisters += warp.owned;
  freeRegisters -= wanted;
  warp.owned = wanted;
  warp.waiting.kind = Waiting::Kind::Nothing;
}

//===----------------------------------------------------------------------===//
// mbarriers
//===----------------------------------------------------------------------===//

Mbarrier *Block::findMbarrier(uint32_t address) {
  auto found = mbarriers.find(address);
  return found == mbarriers.end() ? nullptr : &found->second;
}

const Mbarrier *Block::findMbarrier(uint32_t address) const {
  auto found = mbarriers.find(address);
  return found == mbarriers.end() ? nullptr : &found->second;
}

bool Block::isOver(const Waiting &waiting) {
  for (unsigned lane = 0; lane < kLanes; ++lane)
    if (waiting.lanes & LaneMask(1) << lane)
      if (Mbarrier *barrier = findMbarrier(waiting.addresses[lane]))
        if (!barrier->isComplete(waiting.parities[lane]))
          return false;
  return true;
}

/// Tells that a warp has seen a phase complete.
void Block::tellWaited(const Warp &warp) {
  if (!observer)
    return;
  auto event = makeEvent<MbarrierEvent>(
      {warp.getId(), warp.waiting.lanes, warp.waiting.instruction});
  event.kind = MbarrierEvent::Kind::Waited;
  event.address = warp.waiting.addresses[countr_zero(warp.waiting.lanes)];
  event.phase = findMbarrier(event.address)->getPhase() - 1;
  observer->onMbarrier(event);
}

bool Block::waitForPhase(Warp &warp) {
  if (!isOver(warp.waiting))
    return false;
  tellWaited(warp);
  warp.waiting.kind = Waiting::Kind::Nothing;
  return true;
}

void Block::tellPhases(const Event &by, uint32_t address, uint64_t before) {
  ++group.changes;
  uint64_t now = findMbarrier(address)->getPhase();
  if (now == before)
    return;
  if (observer) {
    auto event = makeEvent<MbarrierEvent>(by);
    event.kind = MbarrierEvent::Kind::Completed;
    event.address = address;
    event.phase = now - 1;
    observer->onMbarrier(event);
  }
  for (Warp &warp : warps)
    if (warp.waiting.kind == Waiting::Kind::Mbarrier)
      (void)waitForPhase(warp);
}

void Block::land(const Event &issue, uint32_t address, uint32_t bytes,
                 AsyncId operation) {
  // Whoever ends an object while bytes are on their way to it is told so.
  Mbarrier *barrier = findMbarrier(address);
  if (!barrier)
    return;
  uint64_t before = barrier->getPhase();
  const char *problem = barrier->land(bytes);
  if (observer) {
    auto event = makeEvent<MbarrierEvent>(issue);
    event.kind = MbarrierEvent::Kind::Landed;
    event.address = address;
    event.bytes = bytes;
    event.async = operation;
    observer->onMbarrier(event);
  }
  if (problem) {
    Report report;
    report.kind = Report::Kind::Barrier;
    report.message =
        formatv("{0}: {1}",
                getElements().describeMbarrier(issue.instruction, address),
                problem)
            .str();
    report.sides.push_back(
        {issue.instruction, issue.warp, std::nullopt, "issued the copy"});
    return this->report(std::move(report));
  }
  tellPhases(issue, address, before);
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

/// What a warp waits for, in words.
std::string Block::describe(const Waiting &waiting) const {
  if (waiting.kind == Waiting::Kind::Barrier) {
    const NamedBarrier &barrier = barriers[waiting.barrier];
    return formatv("waits at barrier {0} for {1} threads, of which {2} are "
                   "there",
                   waiting.barrier, barrier.expected,
                   std::min(barrier.arrived, barrier.expected))
        .str();
  }
  if (waiting.kind == Waiting::Kind::Cluster)
    return "waits for the other warps of the cluster";
  if (waiting.kind == Waiting::Kind::Registers)
    return formatv("waits for {0} registers of each thread, of which {1} are "
                   "free",
                   waiting.registers, freeRegisters)
        .str();
  uint32_t address = waiting.addresses[countr_zero(waiting.lanes)];
  uint32_t parity = waiting.parities[countr_zero(waiting.lanes)];
  const Mbarrier *barrier = findMbarrier(address);
  std::string name =
      getElements().describeMbarrier(waiting.instruction, address);
  if (!barrier)
    return formatv("waits for {0}, where none is", name).str();
  return formatv(
             "waits for a phase of parity {0} of {1}, "
             "which is in phase {2} and lacks {3} of {4} arrivals and {5} "
             "bytes{6}",
             parity, name, barrier->getPhase(), barrier->getPendingArrivals(),
             barrier->getArrivals(), barrier->getPendingBytes(),
             lastArrivals.contains(address) ? "" : "; nobody has arrived at it")
      .str();
}

void Block::reportDeadlock() {
  Report report;
  report.kind = Report::Kind::Deadlock;
  uint32_t ended = count_if(warps, [](const Warp &w) { return w.hasEnded; });
  report.message = formatv("no warp of the {0} can go on",
                           cluster.blocks.size() > 1 ? "cluster" : "block");
  if (ended) {
    report.message += formatv("; {0} of {1} have ended, and arrive nowhere any "
                              "more:",
                              ended, warps.size());
    for (const Warp &warp : warps)
      if (warp.hasEnded)
        report.message += formatv(" {0}", warp.number);
  }
  addWaiting(report);
  for (Block *other : cluster.blocks)
    if (other != this)
      other->addWaiting(report);
  this->report(std::move(report));
}

/// Adds what each warp of the block waits for, and who arrived last at each
/// mbarrier that is waited for: it is there that an arrival is missing now.
void Block::addWaiting(Report &report) const {
  for (const Warp &warp : warps)
    if (!warp.hasEnded)
      report.sides.push_back({warp.waiting.instruction, warp.getId(),
                              std::nullopt, describe(warp.waiting)});
  SmallVector<uint32_t> told;
  for (const Warp &warp : warps) {
    if (warp.hasEnded || warp.waiting.kind != Waiting::Kind::Mbarrier)
      continue;
    uint32_t address = warp.waiting.addresses[countr_zero(warp.waiting.lanes)];
    auto last = lastArrivals.find(address);
    if (last == lastArrivals.end() || is_contained(told, address))
      continue;
    told.push_back(address);
    const Event &event = last->second;
    report.sides.push_back(
        {event.instruction, event.warp, countr_zero(event.lanes),
         "made the last arrival at " +
             getElements().describeMbarrier(event.instruction, address)});
  }
}

/// Says that warps of a group have ended and not come to what others came to.
void Block::reportApart(const WarpGroups::Instance &open) {
  Report report;
  report.kind = Report::Kind::Divergence;
  report.message =
      formatv("{0} of the 4 warps of the group come here, and the instruction "
              "needs all of them",
              open.arrived)
          .str();
  report.sides.push_back({open.first.instruction, open.first.warp, std::nullopt,
                          "comes here without the others"});
  this->report(std::move(report));
}
