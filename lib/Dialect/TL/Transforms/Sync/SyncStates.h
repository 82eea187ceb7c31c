//===- SyncStates.h - What tl-verify-sync knows at a place ------*- C++ -*-===//
//
// The abstract states over which a kernel is executed.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCSTATES_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCSTATES_H

#include "tl/Dialect/TL/Analysis/Footprints.h"

#include "llvm/ADT/STLExtras.h"
#include <map>

namespace tl::sync {

/// A phase of an mbarrier, by its parity.
struct PhaseName {
  const void *barrier;
  int64_t index, parity;
  bool inOthers = false; ///< the phases of the same name in other blocks

  auto operator<=>(const PhaseName &) const = default;
};

/// An access that has happened.
struct Record {
  mlir::Operation *op;
  const Access *access;
  Trace trace;
  std::optional<int64_t> slot; ///< none: any, or the whole buffer
  bool isOver;                 ///< for the threads that took part
  bool isWait = false;         ///< of a role, at an mbarrier
  /// Roles whose threads all know that it is over; those of the other blocks of
  /// the cluster come behind those of this one.
  unsigned known = 0;
  bool isFenced = false;  ///< by the threads that took part
  bool isVisible = false; ///< to the async proxy of any thread
  int64_t groups = 0;     ///< closed since, as far as waits tell
  /// The barrier's index and the parity of the phase that it is part of.
  std::optional<std::pair<int64_t, int64_t>> phase = std::nullopt;
  int role = -1; ///< that did it; -1 for the block
  /// Whoever waits for one of these will know. Sorted: the order in which they
  /// came does not matter, and is another one on each way through a kernel.
  std::vector<PhaseName> told = {};

  bool operator==(const Record &) const = default;
};

/// Numbers from `low` to `high`.
struct Interval {
  int64_t low = INT64_MIN, high = INT64_MAX;

  bool isEmpty() const { return low > high; }
  Interval plus(int64_t amount) const {
    return {low == INT64_MIN ? low : low + amount,
            high == INT64_MAX ? high : high + amount};
  }
  bool operator==(const Interval &) const = default;
};

/// One `mbarrier`: the parity of its current phase, and the arrivals on it.
struct Phase {
  int64_t parity = 0, arrivals = 0;
  bool operator==(const Phase &) const = default;
};

/// What is the same in all executions that a state stands for.
struct Numbers {
  std::map<const void *, int64_t> values;
  std::map<std::pair<const void *, int64_t>, Phase> phases;
  /// The parity that was last waited for at an mbarrier, by a role.
  std::map<std::pair<const void *, int64_t>, int64_t> turns;
  /// How much the first value is greater than the second.
  std::map<std::pair<const void *, const void *>, Interval> differences;
  /// How many iterations of a loop are to come, this one included.
  std::map<mlir::Operation *, Interval> left;

  bool operator==(const Numbers &) const = default;
};

struct State {
  Numbers numbers;
  std::vector<Record> records;
  bool operator==(const State &) const = default;
};

/// States, no two of which have the same numbers.
class States {
public:
  /// The state that `state` became part of, if that says something new.
  State *add(State state) {
    for (State &own : states) {
      if (own.numbers != state.numbers)
        continue;
      bool isNew = false;
      for (Record &record : state.records)
        if (!llvm::is_contained(own.records, record)) {
          own.records.push_back(std::move(record));
          isNew = true;
        }
      return isNew ? &own : nullptr;
    }
    states.push_back(std::move(state));
    return &states.back();
  }
  void add(States &&other) {
    for (State &state : other.states)
      add(std::move(state));
  }

  bool operator==(const States &) const = default;

  std::vector<State> states;
};

} // namespace tl::sync

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCSTATES_H
