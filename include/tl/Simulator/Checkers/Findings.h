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

#include "tl/Simulator/Checkers/Elements.h"
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
  /// The same where both orders of the two are one mistake, as of blocks that
  /// have no order.
  bool isNewInAnyOrder(Report::Kind kind, InstructionId one,
                       InstructionId other);

  /// Whether both are accesses by iterations of one parallel loop.
  bool areOfOneLoop(InstructionId first, InstructionId second) const;

  /// Whether this is the first finding of such a loop between the two lines, be
  /// the iterations one thread's or two threads'. The kind is `Race`.
  bool isNewInLoop(InstructionId first, InstructionId second);

  /// What is said of it, whoever finds it.
  static constexpr llvm::StringLiteral kIterationsRace =
      "two iterations of one `T.Parallel`, or two threads at one statement, "
      "touch one element, and nothing orders them, nor does a barrier fit "
      "between them; give each an element of its own, use `T.atomic_add` or "
      "its kin, or make two loops or statements of it";

  /// Whether both are at one line of the program.
  bool areOfOneLine(InstructionId first, InstructionId second) const;

  void add(Report report) { reports->add(std::move(report)); }

  /// Whether races on it are no mistake.
  bool mayRace(Space space, uint64_t address, uint32_t bytes) const;

  /// What memory is called.
  Elements getElements() const { return {program, memory}; }

  /// "`S[18]`": what `instruction` touches there.
  std::string describe(InstructionId instruction, Space space, uint64_t address,
                       uint32_t bytes) const {
    return getElements().describe(instruction, {space, address, bytes});
  }

private:
  /// File and line.
  std::pair<llvm::StringRef, unsigned> getLine(InstructionId instruction) const;

  /// The same for all instructions of one place. The mutex is held.
  uint32_t getNumber(InstructionId instruction);

  Reports *reports;
  const Program *program;
  const GlobalMemory *memory;
  std::mutex mutex;
  std::set<std::tuple<Report::Kind, uint32_t, uint32_t>> known;
  /// Of loops: their numbers, and both lines.
  std::set<std::tuple<uint32_t, std::pair<llvm::StringRef, unsigned>,
                      std::pair<llvm::StringRef, unsigned>>>
      knownInLoops;
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
