//===- Shadow.cpp - What has happened to each byte ------------------------===//

#include "tl/Simulator/Checkers/Shadow.h"

using namespace tl::sim;

/// More accesses of one cell than any kernel needs to be told apart.
static constexpr size_t kMostRecords = 64;

bool Cell::merge(Record &known, const Record &record) {
  if (known.warp != record.warp || known.flags != record.flags)
    return false;
  bool isSame = known.time == record.time;
  // Who knows of what a thread did last knows of what it did before.
  bool follows = !(known.lanes & ~record.lanes) && !record.isInAnyOrder();
  if (!isSame && !follows)
    return false;
  LaneMask lanes = known.lanes | record.lanes;
  known = record;
  known.lanes = lanes;
  return true;
}

void Cell::addToList(const Record &record) {
  if (!more)
    more = std::make_unique<List>();
  for (Record &known : *more)
    if (merge(known, record))
      return;
  if (more->size() == kMostRecords)
    more->erase(more->begin());
  more->push_back(record);
}

void Cell::keepPlain(const Record &next) {
  // A plain write races with all that other blocks do, as this one would.
  if (!next.isAtomicForBlocks()) {
    plain = Record();
    return;
  }
  forEachWrite([&](const Record &record) {
    if (!record.isAtomicForBlocks())
      plain = record;
  });
  forEachRead([&](const Record &record) {
    if (!plain.exists() && !record.isAtomicForBlocks())
      plain = record;
  });
}

void Cell::addRead(const Record &record) {
  if (!read.exists())
    read = record;
  else if (!merge(read, record))
    addToList(record);
}

void Cell::addWrite(const Record &record) {
  if (!merge(write, record))
    addToList(record);
}
