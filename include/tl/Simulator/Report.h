//===- Report.h - What a simulation found wrong -----------------*- C++ -*-===//
//
// The machine reports what it cannot go on after (`Bounds`, `Deadlock`, …), and
// checkers what a GPU would let pass (`Race`, …). A report names instructions
// by their position in the program; `Program::getPlace` says which line that
// is.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_REPORT_H
#define TL_SIMULATOR_REPORT_H

#include "tl/Simulator/Lanes.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tl::sim {

/// Position of an instruction in its program.
using InstructionId = uint32_t;

/// A warp of a launch.
struct WarpId {
  /// The block's linear number in the grid, x fastest.
  uint64_t block = 0;
  /// The warp's number in its block.
  uint32_t warp = 0;

  bool operator==(const WarpId &) const = default;
};

struct Report {
  enum class Kind : uint8_t {
    OutOfBounds,   ///< outside of every tensor, or of shared memory
    Misaligned,    ///< an address that the instruction does not take
    Deadlock,      ///< no warp can go on
    Divergence,    ///< a part of a warp where all of it must be
    Race,          ///< two accesses that nothing orders
    MissingFence,  ///< ordered, but for the async proxy's lack of a fence
    Uninitialized, ///< read and never written
    Barrier,       ///< misuse of an mbarrier or a named barrier
    InFlight,      ///< registers of a `wgmma` that is under way
    Unsupported    ///< what the simulator has no meaning for
  };

  /// One of the sides.
  struct Side {
    InstructionId instruction = 0;
    WarpId warp;
    /// The first lane concerned, if it is not the warp as a whole.
    std::optional<unsigned> lane;
    /// What happens there: "writes 16 bytes of shared memory at 1024".
    std::string text;
  };

  Kind kind = Kind::OutOfBounds;
  /// Lower case, no full stop.
  std::string message;
  /// The one at which it was found comes first.
  llvm::SmallVector<Side, 2> sides;
};

/// What was found in one launch, by threads of which several may report.
class Reports {
public:
  /// No reader wants more of them.
  static constexpr size_t kMost = 64;

  void add(Report report) {
    std::lock_guard<std::mutex> lock(mutex);
    if (reports.size() < kMost)
      reports.push_back(std::move(report));
  }

  std::vector<Report> take() {
    std::lock_guard<std::mutex> lock(mutex);
    return std::move(reports);
  }

private:
  std::mutex mutex;
  std::vector<Report> reports;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_REPORT_H
