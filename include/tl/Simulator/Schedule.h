//===- Schedule.h - What a block decided where it was free ------*- C++ -*-===//
//
// A block is free to decide which warp goes on and when parts of asynchronous
// operations happen. Each time it does, it takes a number below some bound.
// Zero is the default: the first warp that can go on does so until it has to
// wait, and operations happen as late as they may. A schedule is the list of
// the decisions that are others, by what they are about and how many of the
// kind came before.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_SCHEDULE_H
#define TL_SIMULATOR_SCHEDULE_H

#include "tl/Simulator/Report.h"
#include "llvm/ADT/StringRef.h"

namespace tl::sim {

struct Decision {
  enum class Kind : uint8_t {
    Pace,      ///< when operations happen: late, at once, or at any time
    Order,     ///< which warp is first: the lowest number, the highest, or any
    Warp,      ///< in the last case, the one of this turn
    Length,    ///< how much shorter than the longest the turn is
    Amount,    ///< how many parts of operations happen behind the turn
    Operation, ///< of which operation the next part is
    Part       ///< which part of it that is
  };
  static constexpr unsigned kKinds = 7;

  Kind kind = Kind::Pace;
  /// How many decisions of the kind the block took before.
  uint32_t at = 0;
  /// What is decided; not 0.
  uint32_t choice = 0;
  /// Of `Warp`: whose turn it is, and where it goes on. Told, not read.
  uint32_t warp = 0;
  InstructionId instruction = 0;
};

/// Of a block, those of each kind by `at`.
using Schedule = std::vector<Decision>;

/// What is replayed: one block of the launch with this number in its function,
/// by a schedule; everything else by a seed.
struct Replay {
  uint64_t seed = 0;
  uint64_t launch = 0;
  uint64_t block = 0;
  Schedule schedule;
};

/// As text: "seed 3, launch 0, block 5: order[0]=1 warp[12]=3".
std::string print(const Replay &replay);
/// What `print` wrote, or nothing if it is something else.
std::optional<Replay> parseReplay(llvm::StringRef text);

} // namespace tl::sim

#endif // TL_SIMULATOR_SCHEDULE_H
