//===- ThreadDependence.h - What differs between threads --------*- C++ -*-===//
//
// A kernel's body is a list of statements, each executed once by the block, but
// for those that speak of the thread they run on: `gpu.thread_id` and all that
// is computed from it (docs/language/semantics.md, S3 and S4). This analysis
// tells the ones from the others, so that what checks programs and what
// rewrites them cannot disagree.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_THREADDEPENDENCE_H
#define TL_DIALECT_TL_ANALYSIS_THREADDEPENDENCE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir {
class Block;
class Operation;
class Region;
} // namespace mlir

namespace tl {

/// True for ops that a scalar program may hold: the body of `tl.parallel`, or a
/// statement that is executed once for each thread. Tile ops and barriers are
/// executed by the whole block and are not, but for fills and copies of arrays
/// in private memory, which are loops over elements.
bool isScalarOp(mlir::Operation *op);

/// True for a fill of, or a copy to or from, private memory that touches no
/// fragment.
bool isScalarTileOp(mlir::Operation *op);

/// The values that decide which way a `scf.if`, `scf.for`, `scf.while` or
/// `tl.pipelined` goes; none for other ops.
llvm::SmallVector<mlir::Value> getDeciders(mlir::Operation *op);

class ThreadDependence {
public:
  /// Analyses the body of a kernel, at tile level.
  explicit ThreadDependence(mlir::Region &kernel);

  /// True if `value` may differ between threads. For a buffer in private memory
  /// this is so if its contents may.
  bool depends(mlir::Value value) const { return dependent.contains(value); }

  /// True if `op`, which stands outside of `tl.parallel`, is executed once for
  /// each thread: its operands, its results or what it assigns differ, or it is
  /// marked so.
  bool isPerThread(mlir::Operation *op) const;

  /// True if which part of `op` is executed, and how often, differs.
  bool isDivergent(mlir::Operation *op) const;

private:
  void visit(mlir::Block &block, bool isDivergent);
  void visitLoop(mlir::Operation *loop);
  void visitResults(mlir::Operation *op, bool isDivergent);
  void mark(mlir::Value value) { changed |= dependent.insert(value).second; }

  llvm::DenseSet<mlir::Value> dependent;
  bool changed = false;
};

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_THREADDEPENDENCE_H
