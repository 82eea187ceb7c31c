//===- BlockRaces.h - Blocks that touch the same element --------*- C++ -*-===//
//
// Blocks run in any order, so that two of them that touch a byte of device
// memory, one writing, race (docs/language/semantics.md, S2), unless atomic
// operations order them. Atomic operations on one element are no race, if their
// scope is more than a block.
//
// If a launch has none that order blocks, what a block did to device memory is
// held against what the ones before did when it has ended. If it has, each
// access is held against what others did when it happens, since it matters what
// the block knows then (GridOrder.h).
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_BLOCKRACES_H
#define TL_SIMULATOR_CHECKERS_BLOCKRACES_H

#include "tl/Simulator/Checkers/Findings.h"
#include "tl/Simulator/Checkers/Shadow.h"

namespace tl::sim {

class BlockRaces {
public:
  /// Of blocks of so many warps.
  BlockRaces(Findings &findings, unsigned warpsOfBlock)
      : findings(findings), warpsOfBlock(warpsOfBlock) {}

  /// The block at `place` has ended, of a launch that does not order its
  /// blocks.
  void add(const BlockOrder &order, unsigned place, const Shadow<Cell> &memory);

  /// A block of a launch that does so touches bytes of device memory, and knows
  /// what `order` says.
  void touch(const BlockOrder &order, const Record &record, uint64_t address,
             uint32_t bytes);

private:
  /// Accesses of some bytes by all blocks.
  struct BlockCell {
    struct Access {
      uint64_t block = 0;
      uint64_t cluster = 0; ///< the number of the block's relation
      Record record;
      bool operator==(const Access &) const = default;
    };
    Access write;
    /// Of two blocks.
    std::array<Access, 2> reads, atomicReads;

    void keep(const Access &access);
    bool hasSameAs(const BlockCell &other) const {
      return write == other.write && reads == other.reads &&
             atomicReads == other.atomicReads;
    }
  };

  /// The same where blocks are ordered: what comes behind a plain write needs
  /// to know of no access before that.
  struct OrderedCell {
    using Access = BlockCell::Access;
    Access plain;
    /// By atomic operations, each of which a plain access must come behind.
    llvm::SmallVector<Access, 2> updates;
    llvm::SmallVector<Access, 2> reads;

    void keep(const Access &access);
    bool hasSameAs(const OrderedCell &other) const {
      return plain == other.plain && updates == other.updates &&
             reads == other.reads;
    }
  };

  void check(const BlockCell &cell, const BlockCell::Access &access,
             uint64_t address, uint32_t bytes);
  void compare(const BlockCell::Access &earlier, const BlockCell::Access &later,
               uint64_t address, uint32_t bytes);
  void report(const BlockCell::Access &earlier, const BlockCell::Access &later,
              uint64_t address, uint32_t bytes, llvm::StringRef why,
              std::optional<Report::Side> nearly = std::nullopt);
  /// What would order the two if it acquired, or nothing.
  std::optional<Report::Side> findHalfOrder(const BlockOrder &order,
                                            const BlockCell::Access &earlier,
                                            const Record &later);
  /// Whether `record`, which happens now, comes behind what another block did.
  static bool isBehind(const BlockOrder &order, const Record &record,
                       const BlockCell::Access &earlier);

  Findings &findings;
  unsigned warpsOfBlock;
  std::mutex mutex;
  Shadow<BlockCell> shadow;
  Shadow<OrderedCell> ordered;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_BLOCKRACES_H
