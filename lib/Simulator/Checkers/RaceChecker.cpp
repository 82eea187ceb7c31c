//===- RaceChecker.cpp - Accesses that nothing orders ---------------------===//

#include "tl/Simulator/Checkers/RaceChecker.h"

#include "tl/Simulator/Checkers/SameValue.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tl::sim;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// What happens
//===----------------------------------------------------------------------===//

void RaceChecker::access(const AccessEvent &access) {
  if (access.space == Space::Local || !access.lanes)
    return;
  event = &access;
  Record record = order.getRecord(access);
  if (access.writes())
    record.flags |= Record::Write;
  if (access.isAtomic())
    record.flags |=
        (access.scope == Scope::Block ? Record::Atomic | Record::InBlock
                                      : Record::Atomic) |
        static_cast<uint16_t>(llvm::Log2_32(access.bytes) + 1)
            << Record::kWidthShift;
  if (record.isAtomic() && access.ordering == Ordering::Relaxed)
    record.flags |= Record::Relaxed;
  if (access.proxy == ProxyKind::Async)
    record.flags |= Record::AsyncProxy;
  unsigned first = llvm::countr_zero(access.lanes);
  // All lanes read one place, mostly.
  LaneMask together = 0;
  if (!record.writes())
    for (LaneMask rest = access.lanes; rest; rest &= rest - 1) {
      unsigned lane = llvm::countr_zero(rest);
      if (access.addresses[lane] == access.addresses[first])
        together |= LaneMask(1) << lane;
    }
  for (LaneMask rest = access.lanes; rest; rest &= rest - 1) {
    unsigned lane = llvm::countr_zero(rest);
    record.lanes = LaneMask(1) << lane;
    if (together & record.lanes) {
      if (lane != first)
        continue;
      record.lanes = together;
    }
    touch(record, {access.space, access.addresses[lane], access.bytes});
  }
  event = nullptr;
}

void RaceChecker::issue(const AsyncEvent &issue) {
  // Lanes copy for themselves, each one span.
  bool isEach =
      issue.kind == AsyncKind::CopyAsync &&
      issue.writes.size() == static_cast<size_t>(llvm::popcount(issue.lanes));
  auto touchAll = [&](llvm::ArrayRef<Span> spans, uint16_t flags) {
    LaneMask rest = issue.lanes;
    for (const Span &span : spans) {
      Record record =
          order.getRecord(issue, isEach ? rest & -rest : issue.lanes);
      record.flags |= flags;
      rest &= rest - 1;
      if (span.bytes)
        touch(record, {span.space, span.address, span.bytes});
    }
  };
  touchAll(issue.reads, 0);
  touchAll(issue.writes,
           issue.accumulates ? Record::Write | Record::Atomic : Record::Write);
}

void RaceChecker::end() {
  if (!order.getGrid())
    blocks.add(order, place, global);
  for (const auto &[id, operation] : order.getOperations()) {
    if (operation.place != place || order.isSeenComplete(operation) ||
        !findings.isNew(Report::Kind::Race, operation.instruction,
                        operation.instruction))
      continue;
    Report report;
    report.kind = Report::Kind::Race;
    report.message = "an asynchronous operation may be under way in shared "
                     "memory when the block ends, since nobody waits for it";
    report.sides.push_back(
        {operation.instruction, order.getWarp(operation.warp),
         llvm::countr_zero(operation.lanes), "is issued here"});
    findings.add(std::move(report));
  }
  checkOthers();
}

/// Other blocks of the cluster must be done with the memory of one that ends.
/// Operations that are under way are told of as those of the block are.
void RaceChecker::checkOthers() {
  auto check = [&](const Record &record) {
    if (record.isAsync() || order.isIn(record.warp, place) ||
        order.isKnownIn(record, place) ||
        !findings.isNew(Report::Kind::OutOfBounds, record.instruction, 0))
      return;
    Report report;
    report.kind = Report::Kind::OutOfBounds;
    report.message =
        formatv("block {0} of the cluster may have ended, and its shared "
                "memory with it; a barrier of the cluster would keep it",
                place);
    report.sides.push_back({record.instruction, order.getWarp(record.warp),
                            llvm::countr_zero(record.lanes),
                            "touches shared memory of another block"});
    findings.add(std::move(report));
  };
  if (order.isAlone())
    return;
  shared.forEach([&](const Cell &cell, uint64_t, uint32_t) {
    cell.forEachWrite(check);
    cell.forEachRead(check);
  });
}

void RaceChecker::touch(const Record &record, const Bytes &bytes) {
  getShadow(bytes.space)
      .visit(bytes.address, bytes.count,
             [&](Cell &cell, uint64_t address, uint32_t count) {
               Bytes part = {bytes.space, address, count};
               if (addOrdered(cell, record))
                 return;
               if (record.writes())
                 write(cell, record, part);
               else
                 read(cell, record, part);
             });
  if (bytes.space == Space::Global && order.getGrid())
    blocks.touch(order, record, bytes.address, bytes.count);
}

/// Takes `record` in where it needs no more than a look to see that it comes
/// behind all that the cell knows: what `read` and `write` would do then.
/// Returns false if there is more to see.
bool RaceChecker::addOrdered(Cell &cell, const Record &record) const {
  const Record &last = cell.getWrite(), &read = cell.getRead();
  // What nobody has written may have to be reported.
  if (!cell.isPlain() || !last.exists() || !order.isSeenOrdered(last, record))
    return false;
  if (!record.writes()) {
    cell.addRead(record, areAlike());
    return true;
  }
  if (read.exists() && !order.isSeenOrdered(read, record))
    return false;
  cell.setWrite(record);
  return true;
}

void RaceChecker::read(Cell &cell, const Record &record, const Bytes &bytes) {
  // Of several writes of one value it is enough to know of one, but of atomic
  // ones each has a part in what is read.
  std::optional<std::pair<Relation, Record>> unordered, update;
  bool isOrdered = false, isWritten = false;
  cell.forEachWrite([&](const Record &earlier) {
    isWritten = true;
    if (earlier.isAtomicWith(record))
      return;
    Relation relation = order.relate(earlier, record, bytes.space);
    if (earlier.isAtomic()) {
      if (relation != Relation::Ordered)
        update = {relation, earlier};
    } else if (relation == Relation::Ordered ||
               (relation == Relation::Unordered &&
                order.isBehindOneOf(earlier, record, bytes.space))) {
      isOrdered = true;
    } else {
      unordered = {relation, earlier};
    }
  });
  if (update)
    report(update->first, update->second, record, bytes);
  else if (unordered && !isOrdered)
    report(unordered->first, unordered->second, record, bytes);
  if (!isWritten && bytes.space == Space::Shared)
    reportUninitialized(record, bytes);
  cell.addRead(record, areAlike());
}

void RaceChecker::write(Cell &cell, const Record &record, const Bytes &bytes) {
  // Whether nothing orders this with a write that is atomic as well, or that
  // is of the same value.
  bool joins = false, isCopy = false, isWritten = false;
  cell.forEachWrite([&](const Record &earlier) {
    isWritten = true;
    bool areAtomic = earlier.isAtomicWith(record);
    if (areAtomic && joins)
      return;
    Relation relation = order.relate(earlier, record, bytes.space);
    if (relation == Relation::Ordered)
      return;
    bool areCopies = relation == Relation::Unordered && !earlier.isAsync() &&
                     changesNothing(record, bytes);
    joins |= areAtomic || areCopies;
    isCopy |= areCopies;
    if (!areAtomic && !areCopies)
      report(relation, earlier, record, bytes);
  });
  cell.forEachRead([&](const Record &earlier) {
    if (earlier.isAtomicWith(record))
      return;
    Relation relation = order.relate(earlier, record, bytes.space);
    // Who has read another copy has read what this one leaves; but who read
    // before there were copies must be done.
    if (relation != Relation::Ordered &&
        !(relation == Relation::Unordered && isCopy && !earlier.isAsync()))
      report(relation, earlier, record, bytes);
  });
  if (!isWritten && bytes.space == Space::Shared && event &&
      event->kind == AccessEvent::Kind::Atomic && event->usesOld)
    reportUninitialized(record, bytes);
  if (joins)
    cell.addWrite(record, areAlike());
  else
    cell.setWrite(record);
}

bool RaceChecker::changesNothing(const Record &record,
                                 const Bytes &bytes) const {
  return event && event->kind == AccessEvent::Kind::Write &&
         writesSame(*event, llvm::countr_zero(record.lanes), bytes.address,
                    bytes.count, memory);
}

//===----------------------------------------------------------------------===//
// What is said of it
//===----------------------------------------------------------------------===//

static llvm::StringRef getOperationName(AsyncKind kind) {
  switch (kind) {
  case AsyncKind::CopyAsync:
    return "`cp.async`";
  case AsyncKind::TensorLoad:
    return "bulk load";
  case AsyncKind::TensorStore:
    return "bulk store";
  case AsyncKind::Wgmma:
    return "`wgmma`";
  }
  llvm_unreachable("all kinds are named");
}

/// What a thread waits by until an operation is complete.
static llvm::StringRef getWait(AsyncKind kind, bool writes) {
  switch (kind) {
  case AsyncKind::CopyAsync:
    return "`cp.async.wait_group`";
  case AsyncKind::TensorLoad:
    return "a wait for the phase of its mbarrier";
  case AsyncKind::TensorStore:
    return writes ? "`cp.async.bulk.wait_group`"
                  : "`cp.async.bulk.wait_group.read`";
  case AsyncKind::Wgmma:
    return "`wgmma.wait_group`";
  }
  llvm_unreachable("all kinds have a wait");
}

std::string RaceChecker::getRemedy(Relation relation, const Record &earlier,
                                   const Record &later) const {
  const Operation *operation =
      earlier.isAsync() ? order.find(earlier.time) : nullptr;
  switch (relation) {
  case Relation::Ordered:
    break;
  case Relation::UnderWay:
    return formatv("nothing waits until the {0} is complete; {1} would order "
                   "them",
                   getOperationName(operation->kind),
                   getWait(operation->kind, earlier.writes()));
  case Relation::Unfenced:
    return "the async proxy need not see what ordinary instructions wrote; "
           "`fence.proxy.async` by the thread that wrote, before the barrier "
           "that the two have between them, would show it";
  case Relation::Unordered:
    if (operation && operation->kind == AsyncKind::TensorLoad)
      return "this thread does not know that the bulk load is complete; a wait "
             "for the phase of its mbarrier, or a barrier behind that of "
             "another thread, would order them";
    if (operation)
      return formatv("the thread that waited for the {0} has not met this one "
                     "since; a barrier behind {1} would order them",
                     getOperationName(operation->kind),
                     getWait(operation->kind, earlier.writes()));
    if (order.getWarp(earlier.warp).block != order.getWarp(later.warp).block)
      return "the two are of different blocks of the cluster, and no barrier "
             "of the cluster stands between them";
    if (earlier.isAtomic() && later.isAtomic())
      return Record::kWidthsDiffer.str();
    return std::string(earlier.warp == later.warp
                           ? "lanes of one warp are threads, which nothing "
                             "orders; "
                           : "no barrier stands between them; ") +
           (findings.areOfOneLine(earlier.instruction, later.instruction)
                ? "where both are one statement, give each thread an element "
                  "of its own, or use `T.atomic_add` or its kin"
                : "`T.sync_threads()` between them would order them");
  }
  return "";
}

Report::Side RaceChecker::getSide(const Record &record,
                                  const Bytes &bytes) const {
  Report::Side side;
  side.instruction = record.instruction;
  side.warp = order.getWarp(record.warp);
  side.lane = llvm::countr_zero(record.lanes);
  side.text = record.describe() + " " +
              findings.describe(record.instruction, bytes.space, bytes.address,
                                bytes.count);
  if (record.isAsync())
    side.text +=
        formatv(" in a {0}", getOperationName(order.find(record.time)->kind))
            .str();
  return side;
}

void RaceChecker::report(Relation relation, const Record &earlier,
                         const Record &later, const Bytes &bytes) {
  Report::Kind kind = relation == Relation::Unfenced
                          ? Report::Kind::MissingFence
                          : Report::Kind::Race;
  if (findings.mayRace(bytes.space, bytes.address, bytes.count))
    return;
  // Iterations that two threads do are the mistake that those of one are.
  bool areIterations =
      relation == Relation::Unordered &&
      findings.areOfOneLoop(earlier.instruction, later.instruction);
  // Of two statements it is not known that they are of two numbers, and a
  // barrier stands between them anyway.
  if (earlier.mayBeNeighbourOf(later) &&
      (areIterations ||
       findings.areOfOneLine(earlier.instruction, later.instruction)))
    return;
  if (areIterations
          ? !findings.isNewInLoop(earlier.instruction, later.instruction)
          : !findings.isNew(kind, earlier.instruction, later.instruction))
    return;
  Report report;
  report.kind = kind;
  report.message = areIterations ? Findings::kIterationsRace.str()
                                 : getRemedy(relation, earlier, later);
  // Lanes that did the same are in one record: of those, another thread.
  Record other = earlier;
  if (LaneMask others = earlier.lanes & ~later.lanes;
      others && earlier.warp == later.warp)
    other.lanes = others;
  report.sides = {getSide(later, bytes), getSide(other, bytes)};
  findings.add(std::move(report));
}

void RaceChecker::reportUninitialized(const Record &record,
                                      const Bytes &bytes) {
  if (!findings.isNew(Report::Kind::Uninitialized, record.instruction, 0))
    return;
  Report report;
  report.kind = Report::Kind::Uninitialized;
  report.message = "nothing has written these bytes; they need a write, a copy "
                   "or `T.clear` before";
  report.sides = {getSide(record, bytes)};
  findings.add(std::move(report));
}
