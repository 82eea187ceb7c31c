//===- BlockRaces.cpp - Blocks that touch the same element ----------------===//

#include "tl/Simulator/Checkers/BlockRaces.h"

#include "llvm/Support/FormatVariadic.h"

using namespace tl::sim;
using llvm::formatv;

void BlockRaces::add(uint64_t block, const Shadow<Cell> &memory) {
  std::lock_guard<std::mutex> lock(mutex);
  memory.forEach([&](const Cell &cell, uint64_t address, uint32_t bytes) {
    auto addRecord = [&](const Record &record) {
      shadow.visit(address, bytes,
                   [&](BlockCell &known, uint64_t at, uint32_t count) {
                     add(known, {block, record}, at, count);
                   });
    };
    if (cell.getWrite().exists())
      addRecord(cell.getWrite());
    else
      cell.forEachRead(addRecord);
  });
}

void BlockRaces::add(BlockCell &cell, const BlockCell::Access &access,
                     uint64_t address, uint32_t bytes) {
  if (cell.write.record.exists())
    compare(cell.write, access, address, bytes);
  if (!access.record.writes()) {
    if (!cell.reads[0].record.exists())
      cell.reads[0] = access;
    else if (cell.reads[0].block != access.block)
      cell.reads[1] = access;
    return;
  }
  for (const BlockCell::Access &read : cell.reads)
    if (read.record.exists())
      compare(read, access, address, bytes);
  cell.write = access;
}

void BlockRaces::compare(const BlockCell::Access &earlier,
                         const BlockCell::Access &later, uint64_t address,
                         uint32_t bytes) {
  if (earlier.block == later.block ||
      (earlier.record.isAtomic() && later.record.isAtomic()) ||
      !findings.isNew(Report::Kind::Race, earlier.record.instruction,
                      later.record.instruction))
    return;
  Report report;
  report.kind = Report::Kind::Race;
  report.message = "blocks run in any order, and two of them touch the same "
                   "element of device memory, one of them writing";
  for (const BlockCell::Access *access : {&later, &earlier}) {
    const Record &record = access->record;
    report.sides.push_back(
        {record.instruction,
         {access->block, record.warp},
         llvm::countr_zero(record.lanes),
         formatv("{0} of block {1} {2} {3}",
                 describeThreads(record.warp, record.lanes), access->block,
                 record.isAtomic() ? "updates"
                 : record.writes() ? "writes"
                                   : "reads",
                 findings.describe(Space::Global, address, bytes))});
  }
  reports.push_back(std::move(report));
}

void BlockRaces::end() {
  if (isOrdered)
    return;
  for (Report &report : reports)
    findings.add(std::move(report));
}
