//===- Moves.h - Modes seen from the tile -----------------------*- C++ -*-===//
//
// What the construction of layouts rests on: a mode moves along one dimension
// of its tile, by a step.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_LAYOUT_MOVES_H
#define TL_LIB_LAYOUT_MOVES_H

#include "tl/Layout/FragmentLayout.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

namespace tl::layout {

/// A mode seen from the tile: positions are `step` apart along `dim`.
struct Move {
  int64_t dim;
  int64_t step;
};

/// The dimension along which `mode` moves; none when it stands still or would
/// leave the tile.
inline std::optional<Move> findMove(llvm::ArrayRef<int64_t> shape,
                                    FragmentMode mode) {
  if (mode.stride <= 0)
    return std::nullopt;
  int64_t dimStride = 1;
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    int64_t step = mode.stride / dimStride;
    if (step < shape[dim]) {
      bool staysInside = (mode.extent - 1) * step < shape[dim];
      if (step * dimStride != mode.stride || !staysInside)
        return std::nullopt;
      return Move{dim, step};
    }
    dimStride *= shape[dim];
  }
  return std::nullopt;
}

/// The strides of a tile without gaps whose last dimension is contiguous.
inline llvm::SmallVector<int64_t>
rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

/// Covers a tile by modes, each of which continues where the modes before it
/// along its dimension end, and pads the tile to what they cover.
class TileCover {
public:
  TileCover(llvm::ArrayRef<int64_t> shape)
      : shape(shape), covered(shape.size(), 1) {}

  /// A dimension whose `extent` positions all come from modes that are given as
  /// moves.
  void fixDim(int64_t dim, int64_t extent) { covered[dim] = extent; }
  void addThreads(int64_t extent, Move move) {
    threads.push_back({extent, move});
  }
  void addValues(int64_t extent, Move move) {
    values.push_back({extent, move});
  }

  /// How many positions `dim` still needs.
  int64_t remaining(int64_t dim) const {
    return llvm::divideCeil(shape[dim], covered[dim]);
  }

  void addThreads(int64_t dim, int64_t extent) { add(threads, dim, extent); }
  void addValues(int64_t dim, int64_t extent) { add(values, dim, extent); }
  void addCopies(int64_t extent) { threads.push_back({extent, {-1, 0}}); }

  FragmentLayout finish() const {
    return FragmentLayout(covered, toModes(threads), toModes(values));
  }

private:
  using Digit = std::pair<int64_t, Move>;

  void add(llvm::SmallVectorImpl<Digit> &digits, int64_t dim, int64_t extent) {
    digits.push_back({extent, {dim, covered[dim]}});
    covered[dim] *= extent;
  }

  // Strides depend on the padded shape, hence are known at the end only.
  llvm::SmallVector<FragmentMode> toModes(llvm::ArrayRef<Digit> digits) const {
    llvm::SmallVector<int64_t> strides = rowMajorStrides(covered);
    return llvm::map_to_vector(digits, [&](const Digit &digit) {
      auto [extent, move] = digit;
      int64_t stride = move.dim < 0 ? 0 : move.step * strides[move.dim];
      return FragmentMode{extent, stride};
    });
  }

  llvm::ArrayRef<int64_t> shape;
  llvm::SmallVector<int64_t> covered;
  llvm::SmallVector<Digit> threads;
  llvm::SmallVector<Digit> values;
};

} // namespace tl::layout

#endif // TL_LIB_LAYOUT_MOVES_H
