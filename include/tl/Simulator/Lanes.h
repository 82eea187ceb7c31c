//===- Lanes.h - What the lanes of a warp hold ------------------*- C++ -*-===//
//
// The simulator executes an instruction for the 32 lanes of a warp at once. A
// value of N elements is N *rows*, one after the other, and a row is a word for
// each lane: 32 bits wide for types of up to 32 bits, 64 bits for wider ones.
//
// Bits above the type's width are zero: a `f16` is its 16 bits, an `i8` of -1
// is 255, an `i1` is 0 or 1. `index` and pointers to shared memory are 32 bits
// wide, all other pointers 64.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_LANES_H
#define TL_SIMULATOR_LANES_H

#include <cstdint>

namespace tl::sim {

constexpr unsigned kLanes = 32;

/// A bit for each lane, lane 0 the lowest.
using LaneMask = uint32_t;

constexpr LaneMask kAllLanes = ~LaneMask(0);

/// Element `element` of a value of 32-bit words: the word of lane l at [l].
inline uint32_t *row(uint32_t *value, unsigned element) {
  return value + element * kLanes;
}
inline const uint32_t *row(const uint32_t *value, unsigned element) {
  return value + element * kLanes;
}

} // namespace tl::sim

#endif // TL_SIMULATOR_LANES_H
