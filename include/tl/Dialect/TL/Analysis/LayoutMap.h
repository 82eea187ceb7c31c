//===- LayoutMap.h - Layouts known so far -----------------------*- C++ -*-===//
//
// What layout inference knows while it runs: the layout of each fragment and of
// each parallel loop, and which op demanded it.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_LAYOUTMAP_H
#define TL_DIALECT_TL_ANALYSIS_LAYOUTMAP_H

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Dialect/TL/IR/Target.h"
#include "tl/Layout/FragmentLayout.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tl {

class LayoutMap {
public:
  LayoutMap(const Target &target, int64_t numThreads)
      : target(target), numThreads(numThreads) {}

  const Target &getTarget() const { return target; }
  int64_t getNumThreads() const { return numThreads; }

  /// The layout of a fragment or of a parallel loop, or null.
  const layout::FragmentLayout *get(mlir::Value fragment) const;
  const layout::FragmentLayout *get(ParallelOp loop) const;

  /// Records a layout that `cause` demands. Fails, after an error that shows
  /// both causes, if another one is known already.
  mlir::LogicalResult set(mlir::Value fragment,
                          const layout::FragmentLayout &layout,
                          mlir::Operation *cause);
  mlir::LogicalResult set(ParallelOp loop, const layout::FragmentLayout &layout,
                          mlir::Operation *cause);

  /// True if something was recorded since the last call.
  bool takeChanged() { return std::exchange(changed, false); }

private:
  struct Known {
    layout::FragmentLayout layout;
    mlir::Operation *cause;
  };
  mlir::LogicalResult record(Known &known, bool isNew, mlir::Operation *subject,
                             const layout::FragmentLayout &layout,
                             mlir::Operation *cause);

  Target target;
  int64_t numThreads;
  bool changed = false;
  llvm::DenseMap<mlir::Value, Known> fragments;
  llvm::DenseMap<mlir::Operation *, Known> loops;
};

/// `layout` seen through some of its dimensions: dimension i of the result is
/// dimension `dims[i]`; threads that differ only along the others hold copies.
layout::FragmentLayout selectDims(const layout::FragmentLayout &layout,
                                  llvm::ArrayRef<unsigned> dims);

/// Chooses the instruction of a gemm and how warps share it. `reason` says why
/// a faster instruction was not chosen, or is empty.
GemmPlanAttr planGemm(GemmOp gemm, const Target &target, int64_t numThreads,
                      std::string &reason);

/// The layout of a gemm's accumulator under its plan.
layout::FragmentLayout getAccumulatorLayout(GemmOp gemm, GemmPlanAttr plan,
                                            int64_t numThreads);

/// The layout of a shared buffer: the widest swizzle that its rows allow.
SharedLayoutAttr chooseSharedLayout(mlir::MemRefType type);

/// Elements of `type` in one access of 16 bytes.
int64_t getVectorWidth(mlir::Type type);

/// Attaches `LayoutOpInterface` to the ops that relate layouts.
void registerLayoutModels(mlir::DialectRegistry &registry);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_LAYOUTMAP_H
