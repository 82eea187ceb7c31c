//===- TensorMap.h - A tensor map that can be read --------------*- C++ -*-===//
//
// What a driver encodes in the 128 opaque bytes of a `CUtensorMap`, as plain
// numbers. Everything is innermost first, as there. The pointer that a kernel
// gets for a tensor map is that of one of these.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SIMULATOR_TENSORMAP_H
#define TL_SIMULATOR_TENSORMAP_H

#include <array>
#include <cstdint>

namespace tl::sim {

struct TensorMap {
  static constexpr unsigned kMaxRank = 5;

  /// What elements are to a store that adds to them.
  enum class Addend : uint8_t { None, I32, F16, BF16, F32 };

  uint64_t address = 0;
  unsigned rank = 0;
  unsigned elementBytes = 1;
  std::array<uint64_t, kMaxRank> extents = {};
  /// In bytes; that of dimension 0 is `elementBytes`.
  std::array<uint64_t, kMaxRank> strides = {};
  /// In elements.
  std::array<uint32_t, kMaxRank> box = {};
  /// Every how many elements of the box one is copied; that of dimension 0 has
  /// no meaning.
  std::array<uint32_t, kMaxRank> elementStrides = {1, 1, 1, 1, 1};
  /// 0, 32, 64 or 128 bytes.
  unsigned swizzle = 0;
  /// Elements are `float32`, and loads round them to `tfloat32`.
  bool roundsToTF32 = false;
  Addend addend = Addend::None;
};

} // namespace tl::sim

#endif // TL_SIMULATOR_TENSORMAP_H
