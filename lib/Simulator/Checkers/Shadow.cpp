//===- Shadow.cpp - What has happened to each byte ------------------------===//

#include "tl/Simulator/Checkers/Shadow.h"

using namespace tl::sim;

/// More accesses of one cell than any kernel needs to be told apart.
static constexpr size_t kMostRecords = 64;

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

void Cell::keepPlain() {
  forEachWrite([&](const Record &record) {
    if (!record.isAtomicForBlocks())
      plain = record;
  });
  forEachRead([&](const Record &record) {
    if (!plain.exists() && !record.isAtomicForBlocks())
      plain = record;
  });
}

void Cell::addWrite(const Record &record) {
  if (!merge(write, record))
    addToList(record);
}
