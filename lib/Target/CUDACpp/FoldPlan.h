//===- FoldPlan.h - Which ops are parts of expressions ----------*- C++ -*-===//
//
// An op becomes a statement with a variable of its own, or a part of the
// expression of whoever uses it. That is decided here, once, before printing.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_TARGET_CUDACPP_FOLDPLAN_H
#define TL_LIB_TARGET_CUDACPP_FOLDPLAN_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace tl::cuda {

/// True if `op` computes element i of its vector from elements i of vectors,
/// and is best written as a loop over i.
bool isLaneByLane(mlir::Operation *op);

class FoldPlan {
public:
  explicit FoldPlan(mlir::Operation *root);

  /// True if `op` is no statement.
  bool isFolded(mlir::Operation *op) const { return folded.contains(op); }

private:
  void decide(mlir::Operation *op);
  bool foldsIntoUser(mlir::Operation *op) const;
  unsigned getWeight(mlir::Value value) const;

  /// Folded ops, and how many ops each is an expression of.
  llvm::DenseMap<mlir::Operation *, unsigned> folded;
};

} // namespace tl::cuda

#endif // TL_LIB_TARGET_CUDACPP_FOLDPLAN_H
