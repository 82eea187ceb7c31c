//===- WarpGroups.h - What four warps do together ---------------*- C++ -*-===//
//
// `wgmma`, its wait and `setmaxnreg` are one instruction of four warps (PTX
// ISA, `.aligned`): all of them execute the same ones in the same order, with
// the same factors in shared memory. Here each warp executes them by itself, so
// that what a group has come to is kept until all four have.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_WARPGROUPS_H
#define TL_LIB_SIMULATOR_WARPGROUPS_H

#include "tl/Simulator/Events.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <deque>
#include <optional>

namespace tl::sim {

/// Instructions of the warp groups of a block.
class WarpGroups {
public:
  static constexpr uint32_t kWarps = 4;

  /// An instruction that not all warps of a group have come to.
  struct Instance {
    /// Of the first warp that came.
    Event first;
    /// Descriptors of the factors in shared memory.
    std::array<uint64_t, 2> factors;
    /// How many warps have come.
    uint32_t arrived = 0;
  };

  /// A warp comes to its next instruction of this kind. Returns what another
  /// warp of the group came to instead, if that is something else.
  std::optional<Instance> arrive(const Event &event,
                                 std::array<uint64_t, 2> factors);

  /// An instruction that a part of a group has come to, or none.
  std::optional<Instance> findOpen() const;

private:
  struct Group {
    /// From number `completed` on; no warp has come to the ones behind.
    std::deque<Instance> open;
    uint64_t completed = 0;
    /// How many each warp has come to.
    std::array<uint64_t, kWarps> counts = {};
  };

  llvm::DenseMap<uint32_t, Group> groups;
};

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_WARPGROUPS_H
