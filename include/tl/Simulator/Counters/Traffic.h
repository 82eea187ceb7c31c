//===- Traffic.h - What an access of a warp costs ---------------*- C++ -*-===//
//
// Memory does not move the bytes that lanes ask for, but the units that they
// lie in. Device memory has *sectors* of 32 bytes, which lanes of an
// instruction share. Shared memory has 32 banks, four bytes wide: a *wavefront*
// gives each bank one word to read or write, which lanes share too, and lanes
// that want different words of a bank need one wavefront each.
//
// Of wider accesses than a word, as many neighbouring lanes go together as can
// fill one wavefront: 16 for 8 bytes, 8 for 16 bytes. What NVIDIA publishes is
// the banks and the words (CUDA C++ Programming Guide, "Shared Memory"); how
// lanes of wide accesses go together is what kernels are laid out for, and some
// hardware does better where many of them want the same words.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_COUNTERS_TRAFFIC_H
#define TL_SIMULATOR_COUNTERS_TRAFFIC_H

#include "tl/Simulator/Lanes.h"
#include "tl/Simulator/Memory.h"
#include "llvm/ADT/ArrayRef.h"

namespace tl::sim {

inline constexpr uint32_t kSectorBytes = 32;

/// Wavefronts of one access, and the fewest that lanes without conflicts need
/// for it.
struct Wavefronts {
  uint32_t count = 0;
  uint32_t least = 0;
};

/// `bytes` of shared memory for each of the active lanes, at `addresses`.
Wavefronts countWavefronts(llvm::ArrayRef<uint64_t> addresses, uint32_t bytes,
                           LaneMask lanes);

/// Numbers of the sectors that spans touch, each once. They are counted from
/// `base` on.
llvm::SmallVector<uint64_t> findSectors(llvm::ArrayRef<Span> spans,
                                        uint64_t base);

} // namespace tl::sim

#endif // TL_SIMULATOR_COUNTERS_TRAFFIC_H
