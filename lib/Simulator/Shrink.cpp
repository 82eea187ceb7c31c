//===- Shrink.cpp - The shortest schedule that still fails ----------------===//
//
// See Shrink.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Simulator/Shrink.h"

#include "tl/Simulator/Checkers/Findings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace tl::sim;

/// More runs would shorten little.
static constexpr unsigned kMostRuns = 200;

namespace {
class Shrinker {
public:
  Shrinker(Launch launch, const Report &report, function_ref<void()> restore)
      : launch(launch), kind(report.kind), side(report.sides.front()),
        restore(restore) {
    this->launch.only = side.warp.block;
    this->launch.pool = nullptr;
  }

  /// What the seed decides, if the block fails alone.
  std::optional<Schedule> draw() { return run(nullptr); }

  bool fails(const Schedule &schedule) { return run(&schedule).has_value(); }

  /// What a schedule that fails decides, with whose turns it is.
  Schedule tell(const Schedule &schedule) { return *run(&schedule); }

  /// Leaves out the end, as much as can be found by halving.
  void cutEnd(Schedule &schedule) {
    size_t passes = 0, fails = schedule.size();
    while (passes + 1 < fails && hasRuns()) {
      size_t middle = (passes + fails) / 2;
      Schedule begin(schedule.begin(), schedule.begin() + middle);
      (this->fails(begin) ? fails : passes) = middle;
    }
    schedule.resize(fails);
  }

  /// Leaves out pieces, ever smaller ones.
  void cutPieces(Schedule &schedule) {
    size_t size = divideCeil(schedule.size(), 2);
    while (!schedule.empty() && hasRuns()) {
      bool hasCut = false;
      for (size_t at = 0; at < schedule.size() && hasRuns();) {
        Schedule rest(schedule.begin(), schedule.begin() + at);
        rest.insert(rest.end(),
                    schedule.begin() + std::min(at + size, schedule.size()),
                    schedule.end());
        if (fails(rest)) {
          schedule = std::move(rest);
          hasCut = true;
        } else {
          at += size;
        }
      }
      if (size == 1 && !hasCut)
        return;
      size = std::max<size_t>(size / 2, 1);
    }
  }

private:
  bool hasRuns() const { return runs < kMostRuns; }

  /// What a run decided, if it gives the same kind of report at the same
  /// instruction.
  std::optional<Schedule> run(const Schedule *schedule) {
    ++runs;
    restore();
    Schedule decided;
    launch.schedule = schedule;
    launch.decided = &decided;
    bool isSame =
        any_of(tl::sim::run(launch).reports, [&](const Report &report) {
          return report.kind == kind && !report.sides.empty() &&
                 report.sides.front().instruction == side.instruction;
        });
    return isSame ? std::optional(std::move(decided)) : std::nullopt;
  }

  Launch launch;
  const Report::Kind kind;
  const Report::Side side;
  function_ref<void()> restore;
  unsigned runs = 0;
};
} // namespace

std::optional<ShortSchedule> tl::sim::shrink(Launch launch,
                                             ArrayRef<Report> reports,
                                             function_ref<void()> restore) {
  if (reports.empty() || reports.front().sides.empty())
    return std::nullopt;
  Shrinker shrinker(launch, reports.front(), restore);
  std::optional<Schedule> schedule = shrinker.draw();
  if (!schedule)
    return std::nullopt;
  ShortSchedule result;
  result.block = reports.front().sides.front().warp.block;
  result.drawn = schedule->size();
  if (shrinker.fails(Schedule()))
    return result;
  // Other blocks are not run, nor do decisions mean the same to them.
  if (!shrinker.fails(*schedule))
    return std::nullopt;
  shrinker.cutEnd(*schedule);
  shrinker.cutPieces(*schedule);
  result.decisions = shrinker.tell(*schedule);
  return result;
}

//===----------------------------------------------------------------------===//
// In words
//===----------------------------------------------------------------------===//

static std::string describe(const Decision &decision, const Program &program) {
  unsigned number = decision.at + 1, choice = decision.choice;
  switch (decision.kind) {
  case Decision::Kind::Pace:
    return choice == 1 ? "asynchronous operations happen at once"
                       : "asynchronous operations happen at any time";
  case Decision::Kind::Order:
    return choice == 1 ? "of the warps that can go on, the last one does"
                       : "of the warps that can go on, any one does";
  case Decision::Kind::Warp: {
    const Place &place = program.getPlace(decision.instruction);
    return formatv("turn {0} is that of warp {1}, which goes on at {2}:{3}",
                   number, decision.warp, place.file, place.line);
  }
  case Decision::Kind::Length:
    return formatv("turn {0} is {1} instructions shorter than the longest",
                   number, choice);
  case Decision::Kind::Amount:
    return formatv("behind a turn, for the {0}. time, {1} parts of "
                   "asynchronous operations happen",
                   number, choice);
  case Decision::Kind::Operation:
    return formatv("the {0}. part that happens is of the operation issued {1} "
                   "behind the oldest",
                   number, choice);
  case Decision::Kind::Part:
    return formatv("the {0}. part of a copy that happens is not its first",
                   number);
  }
  llvm_unreachable("all kinds are handled");
}

std::string tl::sim::describe(const ShortSchedule &schedule,
                              const Launch &launch) {
  if (schedule.decisions.empty())
    return "it fails in the default order as well: the first warp that can go "
           "on does, and asynchronous operations happen as late as they may";
  uint64_t x = launch.grid[0], y = launch.grid[1];
  std::string text = formatv("the shortest schedule of block ({0}, {1}, {2}) "
                             "that fails has {3} of {4} "
                             "decisions that are not the default:",
                             schedule.block % x, schedule.block / x % y,
                             schedule.block / x / y, schedule.decisions.size(),
                             schedule.drawn);
  for (const Decision &decision : schedule.decisions)
    text += "\n  " + ::describe(decision, *launch.program);
  return text;
}
