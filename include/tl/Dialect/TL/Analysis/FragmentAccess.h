//===- FragmentAccess.h - Fragments as parallel loops touch them -*- C++ -*-==//
//
// A thread runs the iterations that the loop's layout gives to it, all of them
// at once: P(t, l) in thread t and lane l. It holds the elements that the
// fragment's layout gives to it: L(t, v) in thread t and value v. The loop
// touches element f(i) in iteration i. It can do so in registers if
//
//   (R1) for each lane l there is one value v with L(t, v) = f(P(t, l)) in
//        every thread t: no element has to travel, and registers have numbers;
//        or, where the loop reads beside its indices, f(P(t, l)) is outside of
//        the fragment in every thread, and what is read undefined (M2);
//
// and where the loop writes, moreover if
//
//   (R2) different iterations write different elements;
//   (R3) no value that holds an element is written by a lane that stands for no
//        iteration (a layout may be larger than its loop);
//   (R4) copies of one iteration compute the same: a loop in which several
//        threads run an iteration reads no memory that it writes.
//
// It can do so in memory of the thread's own, if
//
//   (R5) iteration t runs in thread t, one in each; thread t holds row t of the
//        fragment, which is what its last dimension counts, and holds it in
//        order; and f(t) is in row t: the indices but for the last one are the
//        loop's, which may be anything. That is inside of the row, as whoever
//        makes such an access says (`tl-guard-arrays` does for local arrays).
//
// Then all copies of an element are written, and alike: threads that hold
// copies hold them in the same value, so that by R1 each runs the iteration
// that writes it, and by R2 there is one.
//
// Coordinates are sums of a thread's part and a value's part, and f picks loop
// indices, constants, and in reads sums of the two. So R1 holds exactly when
// f(P(t, 0)) - L(t, 0) is the same for all t, which is a matter of threads
// alone, and each lane then finds its value without threads
// (`layout::findRegisters`). That is how all of it is proven here, for
// tl-stage-fragments as for tl-verify-layouts, without visiting elements.
//
// An index may also count several loop indices in one number, as digits:
// `j * 64 + k` with `k` below 64, or what is left of a longer sum by division,
// which is how a tile of another shape is named (`T.reshape`). The fragment is
// then seen as a tile with a dimension for each digit. That changes the names
// of its elements alone; threads and values keep theirs. All of the above is
// said of that tile.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_FRAGMENTACCESS_H
#define TL_DIALECT_TL_ANALYSIS_FRAGMENTACCESS_H

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Layout/FragmentRelations.h"

namespace tl {

/// A `tl.load` or `tl.store` of a fragment in a parallel loop.
struct FragmentAccess {
  mlir::Operation *op;
  mlir::Value fragment;
  bool isWrite;
  /// The digits in which the loop counts each dimension.
  layout::DimDigits digits;
  /// One for each digit; absent if an index is anything else.
  std::optional<llvm::SmallVector<layout::FragmentIndex>> indices;

  /// The shape of the fragment as the loop sees it: an extent for each digit.
  llvm::SmallVector<int64_t> getShape() const;

  /// The fragment's layout as the loop sees it; none if it is spread in no such
  /// digits.
  std::optional<layout::FragmentLayout>
  see(const layout::FragmentLayout &layout) const;

  /// The loop index that each dimension is indexed by, negative where the
  /// dimension has one element. None if an index is repeated, a constant or
  /// computed: then no layout of the fragment follows from the loop's.
  std::optional<llvm::SmallVector<int64_t>> getDims() const;

  /// The same where constants may be added to loop indices: the loop may lie as
  /// the fragment does, and find what it touches in other values.
  std::optional<llvm::SmallVector<int64_t>> getDimsBeside() const;

  /// The same, negative for a constant too, in a fragment with `layout`: where
  /// no threads lie along the dimension, each has the element that it names.
  std::optional<llvm::SmallVector<int64_t>>
  getDimsWithin(const layout::FragmentLayout &layout) const;

  /// True if a constant is added to a loop index.
  bool isBeside() const;

  /// True if all indices but for the last one are those of `loop`, in order,
  /// over the whole extents (R5).
  bool isOfRow(ParallelOp loop) const;
};

/// What a `tl.load` or `tl.store` touches of a fragment: each index is an index
/// of `loop`, a constant, in reads the sum of the two, or a number with indices
/// of the loop as its digits.
FragmentAccess getFragmentAccess(mlir::Operation *op, mlir::Value fragment,
                                 mlir::ValueRange indices, ParallelOp loop);

/// The accesses of fragments in a loop, in order.
llvm::SmallVector<FragmentAccess> getFragmentAccesses(ParallelOp loop);

/// True if `op` reads or writes, at an index that is no constant, an element of
/// the row of a fragment that is the iteration's in the loop around: registers
/// have numbers, so that the fragment is memory.
bool picksFromRow(mlir::Operation *op, mlir::Value fragment);

/// True if R5 holds.
bool isInOwnRow(const FragmentAccess &access, ParallelOp loop,
                const layout::FragmentLayout &loopLayout,
                const layout::FragmentLayout &fragmentLayout);

/// Why a loop with layout `loop` cannot do `access` in the registers of a
/// fragment with layout `fragment`: the rule that does not hold, or null.
const char *refuseRegisters(const FragmentAccess &access, ParallelOp loop,
                            const layout::FragmentLayout &loopLayout,
                            const layout::FragmentLayout &fragmentLayout);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_FRAGMENTACCESS_H
