//===- Findings.h - Each mistake once ---------------------------*- C++ -*-===//
//
// Checkers find the same mistake again in each block, warp and iteration. Here
// a mistake is a kind and the places of the program on both sides, of which an
// unrolled loop makes many instructions, and is reported once for a launch.
// Texts that several checkers need are made here too.
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
      : reports(launch.reports), program(launch.program),
        memory(launch.global) {}

  /// Whether this is the first finding of the kind between the instructions.
  bool isNew(Report::Kind kind, InstructionId first, InstructionId second);

  /// The same, of two that meet in either order.
  bool isNewInAnyOrder(Report::Kind kind, InstructionId first,
                       InstructionId second);

  void add(Report report) { reports->add(std::move(report)); }

  /// Whether races on it are no mistake.
  bool mayRace(Space space, uint64_t address, uint32_t bytes) const;

  /// "bytes 16 to 31 of shared memory", "bytes 0 to 3 of `A`".
  std::string describe(Space space, uint64_t address, uint32_t bytes) const;

private:
  /// The same for all instructions of one place. The mutex is held.
  uint32_t getNumber(InstructionId instruction);

  Reports *reports;
  const Program *program;
  const GlobalMemory *memory;
  std::mutex mutex;
  std::set<std::tuple<Report::Kind, uint32_t, uint32_t>> known;
  /// Of each place of the program, once something is found.
  std::vector<uint32_t> numbers;
};

/// What kind of mistake it is, in words: "race", "missing fence".
llvm::StringRef getName(Report::Kind kind);

/// Who a side is: "block (0, 0, 0), thread (5, 0, 0)", or a warp.
std::string describeWho(const Report::Side &side,
                        const std::array<uint32_t, 3> &grid,
                        const std::array<uint32_t, 3> &block);

} // namespace tl::sim

#endif // TL_SIMULATOR_CHECKERS_FINDINGS_H
