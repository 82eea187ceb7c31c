//===- Findings.h - Each mistake once ---------------------------*- C++ -*-===//
//
// Checkers find the same mistake again in each block, warp and iteration. Here
// a mistake is a kind and the instructions on both sides, and is reported once
// for a launch. Texts that several checkers need are made here too.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_CHECKERS_FINDINGS_H
#define TL_SIMULATOR_CHECKERS_FINDINGS_H

#include "tl/Simulator/Events.h"
#include "tl/Simulator/Report.h"
#include <set>
#include <tuple>

namespace tl::sim {

class Findings {
public:
  explicit Findings(const LaunchInfo &launch)
      : reports(launch.reports), memory(launch.global) {}

  /// Whether this is the first finding of the kind between the instructions.
  bool isNew(Report::Kind kind, InstructionId first, InstructionId second);

  void add(Report report) { reports->add(std::move(report)); }

  /// "bytes 16 to 31 of shared memory", "bytes 0 to 3 of `A`".
  std::string describe(Space space, uint64_t address, uint32_t bytes) const;

private:
  Reports *reports;
  const GlobalMemory *memory;
  std::mutex mutex;
  std::set<std::tuple<Report::Kind, InstructionId, InstructionId>> known;
};

/// What kind of mistake it is, in words: "race", "missing fence".
llvm::StringRef getName(Report::Kind kind);

/// "thread 5", "threads 32 to 63".
std::string describeThreads(unsigned warp, LaneMask lanes);

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_FINDINGS_H
