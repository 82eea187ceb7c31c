//===- Shadow.cpp - What has happened to each byte ------------------------===//

#include "tl/Simulator/Checkers/Shadow.h"

#include "llvm/ADT/STLExtras.h"

using namespace tl::sim;

/// More accesses of one cell than any kernel needs to be told apart.
static constexpr size_t kMostRecords = 64;

void Cell::addToList(const Record &record, AreAlike areAlike) {
  if (!more)
    more = std::make_unique<List>();
  auto mergeInto = [&](AreAlike areAlike) {
    return llvm::any_of(
        *more, [&](Record &known) { return merge(known, record, areAlike); });
  };
  if (mergeInto(areAlike))
    return;
  if (more->size() == kMostRecords) {
    // Rather a place that is not quite right than no report.
    if (mergeInto([](InstructionId, InstructionId) { return true; }))
      return;
    more->erase(more->begin());
  }
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

void Cell::addWrite(const Record &record, AreAlike areAlike) {
  if (!merge(write, record, areAlike))
    addToList(record, areAlike);
}
