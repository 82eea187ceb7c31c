//===- SyncStep.cpp - Executing one op over a state -----------------------===//

#include "SyncStep.h"

#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tl;
using namespace tl::sync;

bool SyncStep::execute() {
  evaluate();
  if (arrivesAtCluster(op))
    for (const Record &record : state.records)
      checkHandedToOthers(record);
  size_t earlier = state.records.size();
  for (const Event &event : facts.events.of(op)) {
    if (auto *access = std::get_if<Access>(&event)) {
      for (size_t i = 0; i < earlier; ++i)
        check(state.records[i], *access);
      addRecord(*access);
      continue;
    }
    if (!apply(std::get<Sync>(event)))
      return false;
    earlier = state.records.size();
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static std::optional<int64_t> compute(Operation *op, ArrayRef<int64_t> in) {
  if (auto rotate = dyn_cast<RotateOp>(op))
    return (in[0] + rotate.getBy()) % rotate.getOf();
  if (auto next = dyn_cast<NextPhaseOp>(op))
    return in[1] == static_cast<int64_t>(next.getOf()) - 1 ? in[0] ^ 1 : in[0];
  if (isa<arith::AddIOp>(op))
    return in[0] + in[1];
  if (isa<arith::SubIOp>(op))
    return in[0] - in[1];
  if (isa<arith::XOrIOp>(op))
    return in[0] ^ in[1];
  if (isa<arith::SelectOp>(op))
    return in[0] ? in[1] : in[2];
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return arith::applyCmpPredicate(compare.getPredicate(),
                                    APInt(64, in[0], /*isSigned=*/true),
                                    APInt(64, in[1], /*isSigned=*/true));
  return std::nullopt;
}

/// Computes the result of the op as a number.
void SyncStep::evaluate() {
  if (op->getNumResults() != 1 || !proof.keeps(op->getResult(0)))
    return;
  SmallVector<int64_t> in;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> number = proof.getNumber(state, operand);
    if (!number)
      return proof.setNumber(state, op->getResult(0), std::nullopt);
    in.push_back(*number);
  }
  proof.setNumber(state, op->getResult(0), compute(op, in));
}

std::optional<int64_t> SyncStep::getSlotNumber(Value view) const {
  Value slot = getSlot(view);
  return slot ? proof.getNumber(state, slot) : std::nullopt;
}

Phase &SyncStep::getPhase(Value barrier, int64_t index) {
  return state.numbers.phases[{barrier.getAsOpaquePointer(), index}];
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

static bool isInShared(const Record &record) {
  return isInSpace(record.access->buffer, Space::Shared);
}

static bool isGenericWrite(const Record &record) {
  return record.access->writes && record.access->proxy == Proxy::Generic;
}

static void addNew(Record record, std::vector<Record> &records) {
  if (!llvm::is_contained(records, record))
    records.push_back(std::move(record));
}

void SyncStep::addRecord(const Access &access) {
  std::optional<Space> space =
      getSpace(cast<MemRefType>(access.buffer.getType()));
  bool isOver = access.completion == Completion::AtOp;
  // What a thread does with its own memory is in its own order.
  if (!space || *space == Space::Private ||
      (*space == Space::Fragment && isOver))
    return;
  // Nor does it matter when a tensor is read that nobody writes.
  if (*space == Space::Global && facts.isOnlyRead(access.buffer))
    return;
  Record record{.op = op,
                .access = &access,
                .trace = Trace(access.footprint),
                .slot = getSlotNumber(access.buffer),
                .isOver = isOver,
                .role = role};
  if (access.completion == Completion::Phase && access.barrierIndex)
    if (std::optional<int64_t> index =
            proof.getNumber(state, access.barrierIndex))
      record.phase = {*index, getPhase(access.barrier, *index).parity};
  addNew(std::move(record), state.records);
}

/// True if those who execute the op are those who did this.
bool SyncStep::isOwn(const Record &record) const {
  return role == kBlock || record.role == role;
}

/// True if nothing can come into conflict with it any more.
bool SyncStep::isHarmless(const Record &record) const {
  if (!record.isOver)
    return false;
  if (isInSpace(record.access->buffer, Space::Fragment))
    return true;
  unsigned witnesses = facts.getWitnesses(record.access->buffer);
  bool isKnown = (record.known & witnesses) == witnesses;
  if (!isKnown || !isGenericWrite(record) || record.isVisible)
    return isKnown;
  return llvm::none_of(facts.asyncAccesses, [&](const Access *other) {
    return shareBytes(record.access->buffer, other->buffer);
  });
}

//===----------------------------------------------------------------------===//
// What orders accesses
//===----------------------------------------------------------------------===//

/// False if the state ends here.
bool SyncStep::apply(const Sync &sync) {
  switch (sync.kind) {
  case Sync::Kind::Barrier:
    for (Record &record : state.records) {
      if (!isOwn(record))
        continue;
      if (record.isOver)
        record.known |=
            isa<ClusterBarrierOp>(op) ? getOwn() | getOthers() : getOwn();
      record.isVisible |= record.isFenced;
    }
    break;
  case Sync::Kind::Fence:
    for (Record &record : state.records)
      record.isFenced |= isOwn(record) && record.isOver &&
                         (sync.device || (isInShared(record) &&
                                          !isMapped(record.access->buffer)));
    break;
  case Sync::Kind::Commit:
    for (Record &record : state.records)
      if (isOwn(record) && record.access->completion == sync.group &&
          !record.isOver)
        record.groups = std::min(record.groups + 1, facts.maxPending + 1);
    break;
  case Sync::Kind::WaitGroups:
    for (Record &record : state.records)
      record.isOver |= isOwn(record) && isWaitedFor(record, sync);
    break;
  case Sync::Kind::Arrive:
    if (reachesCluster(op) && role == kBlock)
      proof.fail(op, "is for the other blocks of the cluster, and stands in no "
                     "role");
    if (!proof.isTold(sync.barrier))
      break;
    if (std::optional<int64_t> index = proof.getNumber(state, sync.index))
      arrive(sync, *index);
    else if (role != kBlock)
      proof.fail(op, "arrives at an mbarrier that is not known");
    break;
  case Sync::Kind::WaitPhase:
    if (!proof.isTold(sync.barrier))
      break;
    if (!(role == kBlock ? waitPhase(sync) : waitTurn(sync)))
      return false;
    break;
  }
  llvm::erase_if(state.records,
                 [&](const Record &record) { return isHarmless(record); });
  return true;
}

/// Behind the barrier of the cluster at which the block arrives, other blocks
/// touch the memory that they reach, by whatever proxy.
void SyncStep::checkHandedToOthers(const Record &record) {
  if (!isReachedByOthers(getBuffer(record.access->buffer)))
    return;
  auto meets = [&](const Access *other) {
    return shareBytes(record.access->buffer, other->buffer);
  };
  bool owesFence = isGenericWrite(record) && !record.isFenced &&
                   llvm::any_of(facts.asyncAccesses, meets);
  if (!record.isOver || owesFence)
    proof.reportHandover(record, op,
                         record.isOver
                             ? "no fence shows it to the async proxy there"
                             : "nothing waits until it is complete");
}

bool SyncStep::isWaitedFor(const Record &record, const Sync &sync) const {
  Value buffer = record.access->buffer;
  if (record.access->completion != sync.group ||
      record.groups <= sync.pending ||
      (sync.readsOnly && record.access->writes))
    return false;
  return !isInSpace(buffer, Space::Fragment) ||
         llvm::is_contained(sync.fragments, buffer);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

void SyncStep::arrive(const Sync &sync, int64_t index) {
  if (role != kBlock) {
    checkArrival(sync, index);
    tell(sync, index);
  }
  // Other blocks arrive as often: at their barriers, and here.
  bool isInCluster = isa<ArriveBarrierOp>(op) && reachesCluster(op);
  getPhase(sync.barrier, index).arrivals +=
      isInCluster ? getClusterSize(facts.kernel) : 1;
}

/// Who waits for the phase on which a role arrives will know what it has done,
/// and what it knows of others. Other blocks of the cluster do the same: what
/// the role knows there of what happened here, it tells those who wait there.
void SyncStep::tell(const Sync &sync, int64_t index) {
  PhaseName here{sync.barrier.getAsOpaquePointer(), index,
                 getPhase(sync.barrier, index).parity};
  PhaseName inOthers = here;
  inOthers.inOthers = true;
  bool isInCluster = reachesCluster(op);
  // One thread does not know what the others of its role have done.
  bool isOne =
      sync.participants == Participants::One && facts.roleThreads[role] > 1;
  for (Record &record : state.records) {
    bool isMine = isOwn(record) &&
                  (!isOne || record.access->participants == Participants::One);
    bool mayTell = (isMine && record.isOver) || (record.known & getOwn());
    bool mayOthersTell = record.known & getOthers();
    unsigned witnesses = facts.getWitnesses(record.access->buffer);
    bool isNews = ((record.known | getOwn()) & witnesses) != witnesses;
    auto add = [&](const PhaseName &name) {
      auto place = llvm::lower_bound(record.told, name);
      if (isNews && (place == record.told.end() || *place != name))
        record.told.insert(place, name);
    };
    if (mayTell || (isInCluster && mayOthersTell))
      add(here);
    if (mayOthersTell || (isInCluster && mayTell))
      add(inOthers);
  }
}

/// Who arrives must know that the phase before has been waited for.
void SyncStep::checkArrival(const Sync &sync, int64_t index) {
  auto alloc = sync.barrier.getDefiningOp<AllocBarriersOp>();
  bool isLate = !alloc || getPhase(sync.barrier, index).arrivals >=
                              static_cast<int64_t>(alloc.getArrivals());
  unsigned mustKnow = reachesCluster(op) ? getOwn() | getOthers() : getOwn();
  for (const Record &record : state.records)
    isLate |= record.isWait && record.slot == index &&
              record.access->buffer == sync.barrier && record.role != role &&
              (record.known & mustKnow) != mustKnow;
  if (isLate && !proof.hasFailed())
    proof.fail(op, "may arrive before the phase before has been waited for");
}

bool SyncStep::waitPhase(const Sync &sync) {
  std::optional<int64_t> index = proof.getNumber(state, sync.index);
  std::optional<int64_t> parity = proof.getNumber(state, sync.parity);
  bool &passes = proof.waits[op];
  // Without the numbers nothing is known to be complete.
  if (!index || !parity) {
    passes = true;
    return true;
  }
  Phase &phase = getPhase(sync.barrier, *index);
  if (phase.parity != *parity) { // The phase before.
    passes = true;
    return true;
  }
  auto alloc = sync.barrier.getDefiningOp<AllocBarriersOp>();
  if (!alloc || phase.arrivals < static_cast<int64_t>(alloc.getArrivals()))
    return false;
  passes = true;
  for (Record &record : state.records)
    if (record.phase == std::pair(*index, *parity) &&
        record.access->barrier == sync.barrier) {
      record.isOver = true;
      record.known |= getOwn();
    }
  phase = {1 - phase.parity, 0};
  return true;
}

/// A wait of a role. False if the state ends here.
bool SyncStep::waitTurn(const Sync &sync) {
  std::optional<int64_t> index = proof.getNumber(state, sync.index);
  std::optional<int64_t> parity = proof.getNumber(state, sync.parity);
  if (!index || !parity) {
    proof.fail(op, "waits for a phase that is not known");
    return false;
  }
  PhaseName phase{sync.barrier.getAsOpaquePointer(), *index, *parity};
  auto [waiter, isNew] = proof.waiters.try_emplace(sync.barrier, role);
  auto last = state.numbers.turns.find({phase.barrier, phase.index});
  if (waiter->second != role ||
      (last != state.numbers.turns.end() && last->second == *parity)) {
    proof.fail(op, "does not wait for one phase after the other");
    return false;
  }
  if (!waitPhase(sync)) {
    proof.fail(op, "waits for a phase that nothing completes");
    return false;
  }
  state.numbers.turns[{phase.barrier, phase.index}] = *parity;
  learn(phase);
  addWait(sync, *index);
  return true;
}

/// The role knows what it was told by way of `phase`.
void SyncStep::learn(const PhaseName &phase) {
  PhaseName inOthers = phase;
  inOthers.inOthers = true;
  for (Record &record : state.records) {
    auto take = [&](const PhaseName &name, unsigned bits) {
      auto place = llvm::lower_bound(record.told, name);
      if (place == record.told.end() || *place != name)
        return;
      record.told.erase(place);
      record.known |= bits;
    };
    take(phase, getOwn());
    take(inOthers, getOthers());
    unsigned witnesses = facts.getWitnesses(record.access->buffer);
    if ((record.known & witnesses) == witnesses)
      record.told.clear();
  }
}

/// That the role has waited, others must know before they arrive again.
void SyncStep::addWait(const Sync &sync, int64_t index) {
  addNew({.op = op,
          .access = facts.getWait(op, sync.barrier),
          .trace = Trace(std::nullopt),
          .slot = index,
          .isOver = true,
          .isWait = true,
          .known = getOwn(),
          .role = role},
         state.records);
}

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

/// True if coordinates in two views of one buffer are comparable: both are
/// slots, as deep in the buffer as each other, or all of it.
static bool areAlike(Value a, Value b) {
  return cast<MemRefType>(a.getType()).getRank() ==
         cast<MemRefType>(b.getType()).getRank();
}

bool SyncStep::mayMeet(const Record &earlier, const Access &access) const {
  Value a = earlier.access->buffer, b = access.buffer;
  if (!shareBytes(a, b))
    return false;
  if (getBuffer(a) != getBuffer(b))
    return true;
  std::optional<int64_t> slot = getSlotNumber(b);
  if (slot && earlier.slot && *slot != *earlier.slot)
    return false;
  return !areAlike(a, b) || !access.footprint ||
         earlier.trace.mayMeet(*access.footprint);
}

/// True if each byte that both touch is touched by one thread only.
bool SyncStep::isOneThread(const Record &earlier, const Access &access) const {
  const Access &before = *earlier.access;
  if (earlier.role != role)
    return false;
  if (before.participants == Participants::One &&
      access.participants == Participants::One)
    return before.proxy == access.proxy;
  if (before.proxy != Proxy::Generic || access.proxy != Proxy::Generic ||
      access.completion != Completion::AtOp ||
      getBuffer(before.buffer) != getBuffer(access.buffer) ||
      earlier.slot != getSlotNumber(access.buffer) ||
      !areAlike(before.buffer, access.buffer) || !access.footprint)
    return false;
  bool isReadBack = before.writes && !access.writes &&
                    before.participants == Participants::Each &&
                    access.participants == Participants::Each &&
                    earlier.trace.isSameElement(*access.footprint);
  return isReadBack || earlier.trace.hasSameOwners(*access.footprint);
}

void SyncStep::check(const Record &earlier, const Access &access) {
  if (proof.hasFailed() || (!earlier.access->writes && !access.writes) ||
      commute(*earlier.access, access) || !mayMeet(earlier, access))
    return;
  // The tensor core executes gemms on one accumulator in their order. It does
  // not have A, if that is in registers, wait for anything.
  bool isFragment = isInSpace(access.buffer, Space::Fragment);
  if (isFragment && access.completion == Completion::GemmGroup &&
      access.proxy == earlier.access->proxy)
    return;
  if (!earlier.isOver)
    return proof.report(earlier, op, access,
                        "nothing waits until it is complete");
  bool isProxyChange = isGenericWrite(earlier) && access.proxy == Proxy::Async;
  if (isProxyChange && !earlier.isVisible)
    return proof.report(earlier, op, access,
                        "no fence and barrier show it to the async proxy");
  bool isKnown = (earlier.known & getOwn()) == getOwn();
  if (access.writes && isMulticast(op) &&
      (earlier.known & getOthers()) != getOthers())
    return proof.report(earlier, op, access,
                        "the other blocks of the cluster are not known to be "
                        "past it");
  if (!isKnown && !isOneThread(earlier, access))
    return proof.report(
        earlier, op, access,
        earlier.role == role
            ? "no barrier stands between them"
            : "no phase of an mbarrier stands between the roles");
}
