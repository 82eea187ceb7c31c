//===- FragmentLayout.h - Tiles spread over the registers of threads ------===//
//
// A fragment is a tile that lives in the registers of a group of threads. Its
// layout says which element a thread holds in which of its values:
//
//   (thread, value) -> coordinates in the tile
//
// Both arguments are split into modes, digits of a mixed-radix number whose
// first digit varies fastest. Each mode moves along one dimension of the tile
// by a fixed step, and the coordinates of an element are the sum over all
// modes. Because nothing carries from one dimension to another, the coordinates
// of a thread and those of a value can be computed apart and added.
//
// This is the thread-value layout of CuTe restricted to flat modes that do not
// mix dimensions, which is what every mma, wgmma and vector access needs.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LAYOUT_FRAGMENTLAYOUT_H
#define TL_LAYOUT_FRAGMENTLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"
#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace tl::layout {

/// One digit of a thread or value number: `extent` positions, each `stride`
/// elements further in the row-major order of the tile.
struct FragmentMode {
  int64_t extent;
  int64_t stride;

  bool operator==(const FragmentMode &) const = default;
};

/// The part of a coordinate that one thread mode gives:
/// `(thread / divisor) % extent * step`.
struct ThreadStep {
  int64_t divisor;
  int64_t extent;
  int64_t step;

  bool operator==(const ThreadStep &) const = default;
};

/// Splits each step that reaches over a boundary of `lanes` threads into the
/// part inside a group of `lanes` (divisor < lanes) and the part across groups
/// (divisor >= lanes). A step that has no such split is returned as it is.
llvm::SmallVector<ThreadStep> splitSteps(llvm::ArrayRef<ThreadStep> steps,
                                         int64_t lanes);

/// A map from (thread, value) to the elements of a tile. Mode lists are kept in
/// canonical form (no modes of extent one, neighbours that continue each other
/// merged), so two layouts are equal exactly when they are equal as functions
/// on tiles of one shape.
class FragmentLayout {
public:
  /// The single element of a tile without dimensions, held by one thread.
  FragmentLayout() = default;

  /// `shape` is the padded shape of the tile; strides are in its row-major
  /// linear index. A thread mode of stride zero says that those threads hold
  /// copies of the same elements. Nothing is checked: see `verify`.
  FragmentLayout(llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<FragmentMode> threadModes,
                 llvm::ArrayRef<FragmentMode> valueModes);

  /// The default layout of a tile of any `shape` over any number of threads.
  ///
  /// Values run along the last dimension in vectors of `vectorWidth` (at most
  /// the power of two that covers it). Threads follow: the power of two in
  /// `numThreads` is laid along the last dimension until it is covered, then
  /// along the one before, and so on; an odd factor (3 in 96 or 384) goes to
  /// the dimension with most left to cover. Threads without work hold copies.
  /// What is left of each dimension becomes further values, last dimension
  /// first. Dimensions are padded up until all modes are exact, so the shape of
  /// the result may exceed `shape`.
  static FragmentLayout blocked(llvm::ArrayRef<int64_t> shape,
                                int64_t numThreads, int64_t vectorWidth);

  /// The accumulator of an `m` x `n` tile computed by `warpsM` x `warpsN` warps
  /// with mma.sync.m16n8 (PTX ISA, "Matrix Fragments for mma.m16n8k16": C). The
  /// warps are numbered along m first; each owns an m/warpsM x n/warpsN tile.
  /// Values go through the 2 columns and 2 rows of a thread in an m16n8 tile,
  /// then the n8 tiles, then the m16 tiles. Requires m % (16 * warpsM) == 0 and
  /// n % (8 * warpsN) == 0.
  static FragmentLayout mmaAccumulator(int64_t m, int64_t n, int64_t warpsM,
                                       int64_t warpsN);

  /// The accumulator of an `m` x `n` tile computed by `groupsM` x `groupsN`
  /// warpgroups with wgmma.m64nN (PTX ISA, "Register Fragments for
  /// wgmma.mma_async.m64nNk16": D). Numbered like `mmaAccumulator`, with m64
  /// blocks in place of m16 tiles. Requires m % (64 * groupsM) == 0 and
  /// n % (8 * groupsN) == 0.
  static FragmentLayout wgmmaAccumulator(int64_t m, int64_t n, int64_t groupsM,
                                         int64_t groupsN);

  /// The `m` x `k` tile A of a product, of elements of `bytes` bytes, as
  /// mma.sync.m16n8 (`rows` = 16) or wgmma.m64nN (64) takes it from registers
  /// (PTX ISA, "Matrix Fragments for mma.m16n8k16" and "Register Fragments for
  /// wgmma.mma_async.m64nNk16": A). Workers along n hold copies. Each 32 bytes
  /// of a row are four registers of neighbouring elements in each block of
  /// `rows`; for elements of two bytes that is how an accumulator lies.
  /// Requires m % (rows * workersM) == 0 and k * bytes % 32 == 0.
  static FragmentLayout matrixOperand(int64_t m, int64_t k, int64_t bytes,
                                      int64_t rows, int64_t workersM,
                                      int64_t workersN);

  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  llvm::ArrayRef<FragmentMode> getThreadModes() const { return threadModes; }
  llvm::ArrayRef<FragmentMode> getValueModes() const { return valueModes; }
  int64_t getRank() const { return shape.size(); }

  /// The number of threads, and of values that each of them holds.
  int64_t numThreads() const;
  int64_t numValues() const;

  /// How many threads hold a copy of each element.
  int64_t numCopies() const;

  /// Succeeds when each mode moves inside the tile along exactly one dimension
  /// and each element of the tile is held by exactly one (thread, value),
  /// copies aside. Otherwise `why` names the first mode or dimension at fault.
  /// All functions below require a layout that verifies.
  llvm::LogicalResult verify(std::string &why) const;

  /// The coordinates of `value` in thread 0. Those of (thread, value) are the
  /// sum of `threadOffset(thread)` and `valueOffset(value)`.
  llvm::SmallVector<int64_t> valueOffset(int64_t value) const;
  llvm::SmallVector<int64_t> threadOffset(int64_t thread) const;
  llvm::SmallVector<int64_t> coordinates(int64_t thread, int64_t value) const;

  /// The steps whose sum is coordinate `dim` of `threadOffset`, fastest thread
  /// digit first; empty when all threads start at 0.
  llvm::SmallVector<ThreadStep> threadSteps(int64_t dim) const;

  /// The longest vector along `dim`: the largest power of two `width` such that
  /// in every thread each group of values `width * i ... width * (i + 1) - 1`
  /// is a run of neighbours in `dim` that starts at a multiple of `width`.
  int64_t contiguousValues(int64_t dim) const;

  /// The layout of the result of a reduction over `dim`: the tile loses the
  /// dimension, values along it are dropped and threads along it hold copies.
  FragmentLayout project(int64_t dim) const;

  struct Owner {
    int64_t thread;
    int64_t value;
  };
  /// The first thread that holds the element, and in which value; none when the
  /// coordinates are outside of the padded tile.
  std::optional<Owner> findOwner(llvm::ArrayRef<int64_t> coordinates) const;

  /// Prints `shape=[16, 8] thread=[4:2, 8:8] value=[2:1, 2:64]`.
  void print(llvm::raw_ostream &os) const;
  std::string str() const;

  bool operator==(const FragmentLayout &) const = default;

private:
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<FragmentMode> threadModes;
  llvm::SmallVector<FragmentMode> valueModes;
};

llvm::hash_code hash_value(const FragmentMode &mode);
llvm::hash_code hash_value(const FragmentLayout &layout);
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const FragmentLayout &layout);

} // namespace tl::layout

#endif // TL_LAYOUT_FRAGMENTLAYOUT_H
