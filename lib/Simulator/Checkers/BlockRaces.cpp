//===- BlockRaces.cpp - Blocks that touch the same element ----------------===//

#include "tl/Simulator/Checkers/BlockRaces.h"

#include "llvm/ADT/bit.h"

using namespace tl::sim;

/// What a block did to a cell that may race with what others do.
static llvm::SmallVector<Record, 4> getRecords(const Cell &cell) {
  llvm::SmallVector<Record, 4> records;
  auto add = [&](const Record &record) {
    if (record.exists())
      records.push_back(record);
  };
  add(cell.getPlain());
  // Of what is atomic for other blocks one stands for all.
  add(cell.getWrite());
  cell.forEachWrite([&](const Record &record) {
    if (!record.isAtomicForBlocks() && !(record == cell.getWrite()))
      add(record);
  });
  // A plain write races with all that reads would.
  if (!cell.getWrite().exists() || cell.getWrite().isAtomicForBlocks())
    cell.forEachRead(add);
  return records;
}

/// Whether two accesses, of different blocks, are atomic to each other.
static bool areAtomicForBlocks(const Record &one, const Record &other) {
  return one.isAtomicForBlocks() && other.isAtomicForBlocks() &&
         one.isAtomicWith(other);
}

void BlockRaces::add(const BlockOrder &order, unsigned place,
                     const Shadow<Cell> &memory) {
  uint64_t block = order.getBlock(place), cluster = order.getCluster();
  std::lock_guard<std::mutex> lock(mutex);
  memory.forEach([&](const Cell &cell, uint64_t address, uint32_t bytes) {
    llvm::SmallVector<Record, 4> records = getRecords(cell);
    shadow.visit(address, bytes,
                 [&](BlockCell &known, uint64_t at, uint32_t count) {
                   for (const Record &record : records)
                     check(known, {block, cluster, record}, at, count);
                   for (const Record &record : records)
                     known.keep({block, cluster, record});
                 });
  });
}

void BlockRaces::check(const BlockCell &cell, const BlockCell::Access &access,
                       uint64_t address, uint32_t bytes) {
  if (cell.write.record.exists())
    compare(cell.write, access, address, bytes);
  if (!access.record.writes())
    return;
  for (const auto *reads : {&cell.reads, &cell.atomicReads})
    for (const BlockCell::Access &read : *reads)
      if (read.record.exists())
        compare(read, access, address, bytes);
}

void BlockRaces::BlockCell::keep(const Access &access) {
  if (!access.record.writes()) {
    auto &alike = access.record.isAtomicForBlocks() ? atomicReads : reads;
    if (!alike[0].record.exists())
      alike[0] = access;
    else if (alike[0].block != access.block)
      alike[1] = access;
    return;
  }
  // What is atomic races with less than a plain write, which is kept.
  if (!write.record.exists() || write.record.isAtomicForBlocks() ||
      !access.record.isAtomicForBlocks())
    write = access;
}

void BlockRaces::compare(const BlockCell::Access &earlier,
                         const BlockCell::Access &later, uint64_t address,
                         uint32_t bytes) {
  if (earlier.block == later.block ||
      areAtomicForBlocks(earlier.record, later.record) ||
      earlier.record.mayBeNeighbourOf(later.record) ||
      findings.mayRace(Space::Global, address, bytes) ||
      !findings.isNewInAnyOrder(Report::Kind::Race, earlier.record.instruction,
                                later.record.instruction))
    return;
  report(earlier, later, address, bytes,
         "blocks run in any order, and two of them touch the same element of "
         "device memory, one of them writing; give each block elements of its "
         "own, or use `T.atomic_add` or its kin");
}

void BlockRaces::report(const BlockCell::Access &earlier,
                        const BlockCell::Access &later, uint64_t address,
                        uint32_t bytes, llvm::StringRef why,
                        std::optional<Report::Side> nearly) {
  Report report;
  report.kind = Report::Kind::Race;
  report.message =
      earlier.record.isAtomicForBlocks() && later.record.isAtomicForBlocks()
          ? Record::kWidthsDiffer.str()
      : earlier.record.isAtomic() && later.record.isAtomic()
          ? "two blocks do atomic operations on one element, and what has "
            "the scope of a block is atomic for its threads only; the scope of "
            "the device would make it so for both"
          : why.str();
  // Whoever counts by an atomic operation may take it for an order.
  if (earlier.record.isRelaxed() != later.record.isRelaxed())
    report.message += "; the atomic operation of one of them is relaxed, and "
                      "orders nothing besides itself";
  for (const BlockCell::Access *access : {&later, &earlier}) {
    const Record &record = access->record;
    report.sides.push_back(
        {record.instruction,
         {access->block, record.warp % warpsOfBlock},
         llvm::countr_zero(record.lanes),
         record.describe() + " " +
             findings.describe(record.instruction, Space::Global, address,
                               bytes)});
  }
  if (nearly)
    report.sides.push_back(std::move(*nearly));
  findings.add(std::move(report));
}

//===----------------------------------------------------------------------===//
// Blocks that are ordered
//===----------------------------------------------------------------------===//

/// Accesses of one kind to one element that are told apart.
static constexpr size_t kMostAccesses = 32;

void BlockRaces::OrderedCell::keep(const Access &access) {
  const Record &record = access.record;
  if (record.writes() && !record.isAtomicForBlocks()) {
    plain = access;
    updates.clear();
    reads.clear();
    return;
  }
  llvm::SmallVector<Access, 2> &alike = record.writes() ? updates : reads;
  // Who knows of what a thread did last knows of what it did before, but for
  // operations that are under way.
  for (Access &known : alike)
    if (known.block == access.block && known.record.warp == record.warp &&
        !known.record.isAsync() && !record.isAsync() &&
        known.record.isAtomic() == record.isAtomic() &&
        !(known.record.lanes & ~record.lanes)) {
      known = access;
      return;
    }
  if (alike.size() == kMostAccesses)
    alike.erase(alike.begin());
  alike.push_back(access);
}

bool BlockRaces::isBehind(const BlockOrder &order, const Record &record,
                          const BlockCell::Access &earlier) {
  const Record &other = earlier.record;
  if (earlier.cluster == order.getCluster()) {
    Relation relation = order.relate(other, record, Space::Global);
    return relation == Relation::Ordered || relation == Relation::Unfenced;
  }
  if (!other.isAsync())
    return order.isKnown(
        GridOrder::Moment{earlier.cluster, other.warp, other.lanes, other.time},
        record.warp, record.lanes);
  const GridOrder::Moment *done =
      order.getGrid()->findStore(earlier.cluster, other.time);
  return done && order.isKnown(*done, record.warp, record.lanes);
}

std::optional<Report::Side>
BlockRaces::findHalfOrder(const BlockOrder &order,
                          const BlockCell::Access &earlier,
                          const Record &later) {
  const Record &other = earlier.record;
  if (other.isAsync() || earlier.cluster == order.getCluster())
    return std::nullopt;
  auto found = order.findUnacquired(
      {earlier.cluster, other.warp, other.lanes, other.time},
      later.warp / warpsOfBlock);
  if (!found)
    return std::nullopt;
  return Report::Side{found->second, order.getWarp(found->first), std::nullopt,
                      "finds here what the other block released behind that, "
                      "and does not acquire it; the order `acq_rel` would"};
}

void BlockRaces::touch(const BlockOrder &order, const Record &record,
                       uint64_t address, uint32_t bytes) {
  BlockCell::Access access = {order.getWarp(record.warp).block,
                              order.getCluster(), record};
  // What an asynchronous operation reads counts as read when it is issued.
  if (record.isAsync() && !record.writes())
    access.record = order.getIssue(record);
  auto check = [&](const BlockCell::Access &earlier, uint64_t at,
                   uint32_t count) {
    if (!earlier.record.exists() || earlier.block == access.block ||
        isBehind(order, record, earlier) ||
        earlier.record.mayBeNeighbourOf(record) ||
        findings.mayRace(Space::Global, at, count) ||
        !findings.isNew(Report::Kind::Race, earlier.record.instruction,
                        record.instruction))
      return;
    report(earlier, access, at, count,
           "nothing orders the two blocks, one of which writes an element of "
           "device memory that the other one touches; a release of the "
           "device's scope behind the first, and an acquire that finds it in "
           "front of the second, would",
           findHalfOrder(order, earlier, record));
  };
  ordered.visit(address, bytes,
                [&](OrderedCell &cell, uint64_t at, uint32_t count) {
                  check(cell.plain, at, count);
                  for (const BlockCell::Access &update : cell.updates)
                    if (!areAtomicForBlocks(update.record, record))
                      check(update, at, count);
                  if (record.writes())
                    for (const BlockCell::Access &read : cell.reads)
                      if (!areAtomicForBlocks(read.record, record))
                        check(read, at, count);
                  cell.keep(access);
                });
}
