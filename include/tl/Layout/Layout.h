//===- Layout.h - Functions from coordinates to offsets -------------------===//
//
// A layout is a function from the coordinates of a tile to offsets, given by
// two trees of equal profile: `shape : stride`. The domain can be addressed by
// one index too, in colexicographic order (the first mode varies fastest), and
// layouts are equivalent when they agree on all indices.
//
// The algebra on them (composition, complement, inverses, divide and product)
// is that of CuTe, described in CUTLASS, "CuTe Layout Algebra"
// (media/docs/cpp/cute/02_layout_algebra.md). Each operation either fails or
// returns a layout for which its law holds on every index.
//
// Extents are positive and strides are not negative. As in CuTe, an index past
// the end continues along the last mode, which is how a tiler that does not
// divide a layout gives tiles that hang over its end.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LAYOUT_LAYOUT_H
#define TL_LAYOUT_LAYOUT_H

#include "tl/Layout/IntTuple.h"
#include <vector>

namespace tl::layout {

class Layout {
public:
  /// `1:0`: one element at offset 0.
  Layout() : shape(1), stride(0) {}

  /// Trees that are known to be right; see `get` for those that are not.
  Layout(IntTuple shape, IntTuple stride);

  /// Fails unless the trees have one profile, extents are positive, strides are
  /// not negative, and size and cosize fit in 64 bits.
  static llvm::Expected<Layout> get(IntTuple shape, IntTuple stride);

  /// Without gaps: the first (column-major) or last (row-major) leaf has
  /// stride 1.
  static Layout columnMajor(const IntTuple &shape);
  static Layout rowMajor(const IntTuple &shape);

  /// Parses `shape:stride`, for example `((4,8),2):((1,16),4)`.
  static llvm::Expected<Layout> parse(llvm::StringRef text);

  const IntTuple &getShape() const { return shape; }
  const IntTuple &getStride() const { return stride; }
  int64_t getRank() const { return shape.getRank(); }
  int64_t getDepth() const { return shape.getDepth(); }

  /// The layout of one mode.
  Layout operator[](int64_t mode) const { return {shape[mode], stride[mode]}; }
  std::vector<Layout> getModes() const;

  /// The number of indices, and one more than the largest offset they reach.
  int64_t getSize() const { return shape.getProduct(); }
  int64_t getCosize() const;

  /// The offset of an index, or of a coordinate: a tree that has, wherever the
  /// shape has a list, a list of as many coordinates or one index.
  int64_t operator()(int64_t index) const;
  int64_t operator()(const IntTuple &coordinate) const;

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

  /// Equality of the trees; for equality as functions see `isEquivalent`.
  bool operator==(const Layout &) const = default;

private:
  IntTuple shape;
  IntTuple stride;
};

llvm::hash_code hash_value(const Layout &layout);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Layout &layout);

/// The layout whose modes are `modes`.
Layout makeLayout(llvm::ArrayRef<Layout> modes);

/// The same function with all leaves in one list.
Layout flatten(const Layout &layout);

/// The same function with the fewest modes. This form is unique.
Layout coalesce(const Layout &layout);

/// Extents of modes of stride 0 become 1: what is left reaches the same
/// offsets, without repetition.
Layout filterZeros(const Layout &layout);

/// Whether both are the same function on the same indices.
bool isEquivalent(const Layout &a, const Layout &b);

/// R with the profile of `b` (its leaves may become lists) such that
/// R(i) = a(b(i)) for all i < size(b). Fails unless each mode of `b` that
/// leaves a mode of `coalesce(a)` cuts it evenly, and no sum of modes of `b`
/// carries from one mode of `coalesce(a)` into the next.
llvm::Expected<Layout> composition(const Layout &a, const Layout &b);

/// C, ordered by stride, such that (a, C) reaches each offset below
/// size(a, C) once, at least up to `cosizeHi`; modes of `a` with stride 0 are
/// ignored. Fails when copies of `a` cannot tile the offsets like this.
llvm::Expected<Layout> complement(const Layout &a, int64_t cosizeHi);

/// R with a(R(i)) = i for all i < size(R), made of the whole modes of
/// `coalesce(a)` that reach the offsets from 0 on without gaps.
Layout rightInverse(const Layout &a);

/// L with L(a(i)) = i for all i < size(a). Fails when `a` is not injective or
/// has gaps that no complement fills.
llvm::Expected<Layout> leftInverse(const Layout &a);

/// a o (b, complement(b, size(a))): mode 0 walks a tile of `a` picked by `b`,
/// mode 1 walks the tiles.
llvm::Expected<Layout> logicalDivide(const Layout &a, const Layout &b);

/// The same for each mode with its own tiler; further modes stay.
llvm::Expected<Layout> logicalDivide(const Layout &a,
                                     llvm::ArrayRef<Layout> tiler);

/// `logicalDivide` by mode, with the parts gathered: mode 0 holds the tile and
/// mode 1 the tiles, followed there by the modes without a tiler.
llvm::Expected<Layout> zippedDivide(const Layout &a,
                                    llvm::ArrayRef<Layout> tiler);

/// (a, complement(a, size(a) * cosize(b)) o b): copies of `a`, laid out by `b`.
llvm::Expected<Layout> logicalProduct(const Layout &a, const Layout &b);

} // namespace tl::layout

#endif // TL_LAYOUT_LAYOUT_H
