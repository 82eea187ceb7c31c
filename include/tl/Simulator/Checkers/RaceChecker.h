//===- RaceChecker.h - Accesses that nothing orders -------------*- C++ -*-===//
//
// Holds every access of a block against the ones before it that touched the
// same bytes. Two of them, one writing, must be ordered by what BlockOrder
// knows, and a write by ordinary instructions needs a fence before the async
// proxy touches the bytes. An asynchronous operation counts as happening from
// its issue until somebody has waited for it, whenever the machine lets it
// happen: so that a race is found whatever the schedule.
//
// It also finds reads of shared memory that nothing has written.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_RACECHECKER_H
#define TL_SIMULATOR_CHECKERS_RACECHECKER_H

#include "tl/Simulator/Checkers/BlockRaces.h"
#include "tl/Simulator/Checkers/Findings.h"
#include "tl/Simulator/Checkers/Shadow.h"

namespace tl::sim {

class RaceChecker {
public:
  /// Of the block at `place` of `order`.
  RaceChecker(const BlockOrder &order, Findings &findings, BlockRaces &blocks,
              unsigned place, const SharedMemory &memory)
      : order(order), findings(findings), blocks(blocks), place(place),
        memory(memory) {}

  void access(const AccessEvent &event);
  void issue(const AsyncEvent &event);
  /// Shared memory must be left alone when the block ends.
  void end();

private:
  /// Bytes that an access touches.
  struct Bytes {
    Space space;
    uint64_t address;
    uint32_t count;
  };

  Shadow<Cell> &getShadow(Space space) {
    return space == Space::Shared ? shared : global;
  }
  void checkOthers();
  void touch(const Record &record, const Bytes &bytes);
  bool addOrdered(Cell &cell, const Record &record) const;
  void read(Cell &cell, const Record &record, const Bytes &bytes);
  void write(Cell &cell, const Record &record, const Bytes &bytes);
  /// For cells: whether a report may tell one instruction for another.
  auto areAlike() const {
    return [this](InstructionId one, InstructionId other) {
      return findings.areOfOneLine(one, other);
    };
  }
  /// Whether the bytes hold already what is written, so that it does not matter
  /// who wrote last.
  bool changesNothing(const Record &record, const Bytes &bytes) const;
  void report(Relation relation, const Record &earlier, const Record &later,
              const Bytes &bytes);
  void reportUninitialized(const Record &record, const Bytes &bytes);
  std::string getRemedy(Relation relation, const Record &earlier,
                        const Record &later) const;
  Report::Side getSide(const Record &record, const Bytes &bytes) const;

  const BlockOrder &order;
  Findings &findings;
  BlockRaces &blocks;
  unsigned place;
  const SharedMemory &memory;
  Shadow<Cell> shared, global;
  /// What is happening.
  const AccessEvent *event = nullptr;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_RACECHECKER_H
