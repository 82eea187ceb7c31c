//===- Swizzle.h - XOR swizzles and swizzled layouts ----------------------===//
//
// Shared memory has 32 banks; a tile whose rows are a multiple of 128 bytes
// puts each column into one of them. A swizzle permutes the offsets so that
// rows start in different banks. It is an XOR, which no shape and stride can
// say, hence a layout of its own kind: swizzle o (offset + layout), CuTe's
// ComposedLayout (CUTLASS, include/cute/swizzle.hpp and swizzle_layout.hpp).
//
//===----------------------------------------------------------------------===//

#ifndef TL_LAYOUT_SWIZZLE_H
#define TL_LAYOUT_SWIZZLE_H

#include "tl/Layout/Layout.h"

namespace tl::layout {

/// `Sw<bits,base,shift>`: XORs `bits` bits of an offset, from bit `base` on,
/// with those `shift` bits above. With a negative shift the lower bits, which
/// are always the ones at `base`, change the upper ones instead:
///
///   0bxxYYYxxxZZZxxxx    base = number of x on the right, shift = distance
///                        ZZZ ^= YYY, or YYY ^= ZZZ if shift < 0
///
/// Offsets count whatever the layout counts: with 2-byte elements the 128-byte
/// swizzle of TMA and wgmma is Sw<3,3,3>, and Sw<3,4,3> in bytes.
struct Swizzle {
  int64_t bits = 0;
  int64_t base = 0;
  int64_t shift = 0;

  /// Fails unless the fields do not overlap (|shift| >= bits) and lie in 63
  /// bits.
  static llvm::Expected<Swizzle> get(int64_t bits, int64_t base, int64_t shift);
  static llvm::Expected<Swizzle> parse(llvm::StringRef text);

  bool isIdentity() const { return bits == 0; }

  /// The permuted offset. A swizzle is its own inverse.
  int64_t operator()(int64_t offset) const;

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

  bool operator==(const Swizzle &) const = default;
};

/// The function i -> swizzle(offset + layout(i)), written
/// `Sw<3,4,3> o 0 o (8,64):(64,1)`.
struct ComposedLayout {
  Swizzle swizzle;
  int64_t offset = 0;
  Layout layout;

  static llvm::Expected<ComposedLayout> parse(llvm::StringRef text);

  int64_t getSize() const { return layout.getSize(); }

  int64_t operator()(int64_t index) const {
    return swizzle(offset + layout(index));
  }
  int64_t operator()(const IntTuple &coordinate) const {
    return swizzle(offset + layout(coordinate));
  }

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

  bool operator==(const ComposedLayout &) const = default;
};

llvm::hash_code hash_value(const Swizzle &swizzle);
llvm::hash_code hash_value(const ComposedLayout &layout);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Swizzle &swizzle);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const ComposedLayout &layout);

} // namespace tl::layout

#endif // TL_LAYOUT_SWIZZLE_H
