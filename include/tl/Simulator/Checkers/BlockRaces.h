//===- BlockRaces.h - Blocks that touch the same element --------*- C++ -*-===//
//
// Blocks run in any order, so that two of them that touch a byte of device
// memory, one writing, race (docs/language/semantics.md, S2). When a block has
// ended, what it did to device memory is held against what the ones before did.
//
// Atomic operations on one element are no race, if their scope is more than a
// block. If a launch orders its blocks
// by atomic operations or fences of the device, nothing is reported: which
// blocks those order is not followed.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_BLOCKRACES_H
#define TL_SIMULATOR_CHECKERS_BLOCKRACES_H

#include "tl/Simulator/Checkers/Findings.h"
#include "tl/Simulator/Checkers/Shadow.h"
#include <atomic>

namespace tl::sim {

class BlockRaces {
public:
  explicit BlockRaces(Findings &findings) : findings(findings) {}

  /// Blocks are ordered by something.
  void noteOrder() { isOrdered = true; }
  /// A block has ended.
  void add(uint64_t block, const Shadow<Cell> &memory);
  /// All have.
  void end();

private:
  /// Accesses of some bytes by all blocks.
  struct BlockCell {
    struct Access {
      uint64_t block = 0;
      Record record;
      bool operator==(const Access &) const = default;
    };
    Access write;
    /// Of two blocks.
    std::array<Access, 2> reads;

    void keep(const Access &access);
    bool hasSameAs(const BlockCell &other) const {
      return write == other.write && reads == other.reads;
    }
  };

  void check(const BlockCell &cell, const BlockCell::Access &access,
             uint64_t address, uint32_t bytes);
  void compare(const BlockCell::Access &earlier, const BlockCell::Access &later,
               uint64_t address, uint32_t bytes);

  Findings &findings;
  std::atomic<bool> isOrdered = false;
  std::mutex mutex;
  Shadow<BlockCell> shadow;
  std::vector<Report> reports;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_BLOCKRACES_H
