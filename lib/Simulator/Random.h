//===- Random.h - Numbers that a seed decides -------------------*- C++ -*-===//
//
// SplitMix64: a counter through a mixing function. Small, fast, the same on
// every machine, and good from its first number on for seeds that are alike.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_RANDOM_H
#define TL_LIB_SIMULATOR_RANDOM_H

#include <cstdint>

namespace tl::sim {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t mixed = state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return mixed ^ mixed >> 31;
  }

  /// A number below `bound`, which is not zero.
  uint32_t below(uint32_t bound) { return (next() >> 32) * bound >> 32; }

private:
  uint64_t state;
};

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_RANDOM_H
