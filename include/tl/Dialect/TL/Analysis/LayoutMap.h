//===- LayoutMap.h - Layouts known so far -----------------------*- C++ -*-===//
//
// What layout inference knows while it runs: the layout of each fragment and of
// each parallel loop. What is known stays: an op that would need another layout
// gets a conversion later.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_LAYOUTMAP_H
#define TL_DIALECT_TL_ANALYSIS_LAYOUTMAP_H

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Layout/FragmentLayout.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tl {
class LayoutMap;
class ScanOp;
} // namespace tl

#include "tl/Dialect/TL/Analysis/LayoutInterface.h.inc"

namespace tl {

class LayoutMap {
public:
  /// The layout of a fragment or of a parallel loop, or null.
  const layout::FragmentLayout *get(mlir::Value fragment) const;
  const layout::FragmentLayout *get(ParallelOp loop) const;

  /// Records a layout, unless one is known already.
  void set(mlir::Value fragment, layout::FragmentLayout layout);
  void set(ParallelOp loop, layout::FragmentLayout layout);

  /// True if something was recorded since the last call.
  bool takeChanged() { return std::exchange(changed, false); }

private:
  bool changed = false;
  llvm::DenseMap<mlir::Value, layout::FragmentLayout> fragments;
  llvm::DenseMap<mlir::Operation *, layout::FragmentLayout> loops;
};

/// The default layouts: vectors of 16 bytes along the rows, if rows are whole
/// vectors; shorter ones where threads would be left without an element.
layout::FragmentLayout getDefaultLayout(llvm::ArrayRef<int64_t> shape,
                                        mlir::Type element, int64_t numThreads);
layout::FragmentLayout getDefaultLayout(ParallelOp loop);
layout::FragmentLayout getDefaultLayout(AllocOp fragment);

/// What `groups` groups of threads need to combine a fragment, laid out as
/// `source`, along `dim` by way of shared memory: each result of each of them,
/// as it is combined into `target`.
mlir::MemRefType getWorkspaceType(mlir::Value target,
                                  const layout::FragmentLayout &source,
                                  int64_t dim, int64_t groups);

/// The layout in which a scan is quick.
layout::FragmentLayout getScanLayout(ScanOp scan);

/// The layout that a reduction's target has if its source has `source`.
layout::FragmentLayout getReducedLayout(ReduceOp reduce,
                                        const layout::FragmentLayout &source);

/// How fragments lie of which each thread holds its own element, so that
/// `tl.shuffle` is an instruction: element t in thread t.
layout::FragmentLayout getThreadLayout(int64_t numThreads);

/// Elements of `type` in one access of 16 bytes.
int64_t getVectorWidth(mlir::Type type);

/// The widest vector of `element`s that cuts rows of `shape` evenly.
int64_t getVectorWidth(llvm::ArrayRef<int64_t> shape, mlir::Type element);

/// The widest vector up to `width` that leaves no thread without an element of
/// a tile, if it has enough: others would do what some do already.
int64_t spreadVectors(llvm::ArrayRef<int64_t> shape, int64_t width,
                      int64_t numThreads);

/// Gives `op` a layout that follows from only some of the dimensions of what it
/// touches, the others being spread anew: to a parallel loop that of a fragment
/// indexed by some of its indices, to a reduction's source that of its target.
/// Does nothing if neither is known, or both.
void extendLayouts(mlir::Operation *op, LayoutMap &layouts);

/// Attaches `LayoutOpInterface` to the ops that relate layouts.
void registerLayoutModels(mlir::DialectRegistry &registry);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_LAYOUTMAP_H
