//===- Choices.h - Who decides where a block is free ------------*- C++ -*-===//
//
// Decisions are drawn from a seed, or those of a schedule.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_CHOICES_H
#define TL_LIB_SIMULATOR_CHOICES_H

#include "Random.h"
#include "tl/Simulator/Schedule.h"
#include <algorithm>
#include <array>
#include <map>

namespace tl::sim {

class Choices {
public:
  /// Draws if `schedule` is null. Decisions that are not the default are added
  /// to `decided`, unless that is null.
  Choices(Random random, const Schedule *schedule, Schedule *decided)
      : random(random), draws(!schedule), decided(decided) {
    if (schedule)
      for (const Decision &decision : *schedule)
        scheduled[{decision.kind, decision.at}] = decision.choice;
  }

  /// A number below `bound`, which is not zero.
  uint32_t choose(Decision::Kind kind, uint32_t bound) {
    return settle(kind, bound, draws ? random.below(bound) : 0);
  }

  /// The same, where the seed says `drawn` without any luck.
  uint32_t settle(Decision::Kind kind, uint32_t bound, uint32_t drawn) {
    uint32_t at = taken[unsigned(kind)]++;
    uint32_t choice = draws ? drawn : find(kind, at, bound);
    if (decided && choice)
      decided->push_back({kind, at, choice});
    return choice;
  }

  /// Whose turn was chosen just now, and where that warp goes on.
  void tell(uint32_t warp, InstructionId instruction) {
    if (!decided || decided->empty())
      return;
    decided->back().warp = warp;
    decided->back().instruction = instruction;
  }

private:
  /// What the schedule says, or zero. There may be less to choose from than
  /// where the decision was taken.
  uint32_t find(Decision::Kind kind, uint32_t at, uint32_t bound) const {
    auto found = scheduled.find({kind, at});
    return found == scheduled.end() ? 0 : std::min(found->second, bound - 1);
  }

  Random random;
  const bool draws;
  std::map<std::pair<Decision::Kind, uint32_t>, uint32_t> scheduled;
  Schedule *decided;
  /// How many decisions of each kind there were.
  std::array<uint32_t, Decision::kKinds> taken = {};
};

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_CHOICES_H
