//===- FragmentRelations.h - Layouts that follow from others ----*- C++ -*-===//
//
// How the layouts of loops, of the fragments that they touch and of reductions
// follow from each other, and which register a thread touches where they agree.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LAYOUT_FRAGMENTRELATIONS_H
#define TL_LAYOUT_FRAGMENTRELATIONS_H

#include "tl/Layout/FragmentLayout.h"

namespace tl::layout {

/// `layout` seen through some of its dimensions: dimension i of the result is
/// dimension `dims[i]`, each at most once, or has extent one where that is
/// negative. Values that differ only along the others are dropped, threads that
/// do hold copies.
FragmentLayout selectDims(const FragmentLayout &layout,
                          llvm::ArrayRef<int64_t> dims);

/// The part of `layout` at the front of each dimension that holds `extents`, as
/// small as dropping values makes it: threads stay, and so may positions
/// beyond.
FragmentLayout cropDims(const FragmentLayout &layout,
                        llvm::ArrayRef<int64_t> extents);

/// The converse of `selectDims`: a layout of a tile of `extents` or more whose
/// dimension `dims[i]` lies as dimension i of `layout`. The other dimensions
/// are spread over threads that hold copies, as far as these go, and then over
/// values; if the last one is among them it is cut in vectors of `vectorWidth`.
/// Requires each extent of `dims` to be no more than that of the dimension that
/// it lies as.
FragmentLayout extendDims(const FragmentLayout &layout,
                          llvm::ArrayRef<int64_t> dims,
                          llvm::ArrayRef<int64_t> extents, int64_t vectorWidth);

/// A tile of which each thread holds a row in order, that is what the last
/// dimension counts: the others number the threads, the last of them fastest.
FragmentLayout getRows(llvm::ArrayRef<int64_t> shape);

/// For each dimension of a tile the digits that it is counted by, slowest
/// first: {2, 64} for one of extent 128 whose elements are named by two
/// indices.
using DimDigits = llvm::SmallVector<llvm::SmallVector<int64_t, 2>>;

/// `layout` with each dimension in the digits that it is counted by: one
/// dimension for each of them. Threads and values keep their numbers. None if a
/// mode does not move by whole digits, or a dimension of several digits is
/// padded: then there are no such digits.
std::optional<FragmentLayout> splitDims(const FragmentLayout &layout,
                                        const DimDigits &digits);

/// The converse. None if one of several digits is padded.
std::optional<FragmentLayout> joinDims(const FragmentLayout &layout,
                                       const DimDigits &digits);

/// One index of a fragment that is touched in a loop: `position` behind loop
/// index `dim`, or with a negative `dim` the constant `position`.
struct FragmentIndex {
  int64_t dim;
  int64_t position;
};

/// The value of `fragment` that each value of `loop` touches at `indices`, if
/// it is the same one in every thread: element `indices` of iteration
/// `loop(thread, i)` is `fragment(thread, result[i])`. Where a position is
/// behind a loop index, or in front of it, -1 stands for a value that touches
/// nothing of the fragment in any thread. None if there is a thread that does
/// not hold an element that it touches.
std::optional<llvm::SmallVector<int64_t>>
findRegisters(const FragmentLayout &loop, const FragmentLayout &fragment,
              llvm::ArrayRef<FragmentIndex> indices);

/// True if an element is outside of `fragment` in every thread: what a value
/// touches there is at `element` and the thread's part of the coordinates.
bool isOutside(const FragmentLayout &fragment, llvm::ArrayRef<int64_t> element);

/// How the threads that hold parts of one result of a reduction combine them.
struct ReductionSteps {
  /// By butterflies: between lanes of one warp, powers of two apart.
  llvm::SmallVector<ThreadStep> lanes;
  /// Through memory: all others.
  llvm::SmallVector<ThreadStep> groups;

  /// Threads, or groups of lanes, that meet in memory.
  int64_t countGroups() const;
};

/// The steps of a reduction over `dim`. Lanes are only combined where all of a
/// warp's 32 are there, because a shuffle that names a lane that does not exist
/// is undefined (PTX ISA, "shfl.sync").
ReductionSteps getReductionSteps(const FragmentLayout &layout, int64_t dim);

/// One digit of the places along a dimension: what moves it by `step` places.
struct ScanDigit {
  enum class Kind {
    Value, ///< a thread's values
    Lane,  ///< lanes of one warp, powers of two apart
    Group, ///< threads that shuffles do not reach
  };
  Kind kind;
  int64_t extent, step;
  int64_t divisor; ///< of the thread's number, for lanes and groups

  bool operator==(const ScanDigit &) const = default;
};

/// The digits of the places along `dim`, fastest first: each step is the
/// product of the extents before it.
llvm::SmallVector<ScanDigit> getScanDigits(const FragmentLayout &layout,
                                           int64_t dim);

/// How many groups meet in memory in a scan over these digits.
int64_t countGroups(llvm::ArrayRef<ScanDigit> digits);

/// True if a scan over these digits needs threads to meet once at most: each
/// group has neighbouring places.
bool meetsOnce(llvm::ArrayRef<ScanDigit> digits);

/// The layout of a tile of `shape` in which a scan over `dim` is quick, and
/// meets once at most. Along rows, vectors of `vectorWidth` lie over the lanes
/// of a warp, and over several only where there are fewer rows than warps;
/// along other dimensions each thread has neighbours, and lanes lie along rows.
FragmentLayout getScanLayout(llvm::ArrayRef<int64_t> shape, int64_t dim,
                             int64_t numThreads, int64_t vectorWidth);

} // namespace tl::layout

#endif // TL_LAYOUT_FRAGMENTRELATIONS_H
