//===- RoleTwins.h - Where roles go the same ways ---------------*- C++ -*-===//
//
// Roles that run at the same time go through their common pipes in loops and
// branches of their own. Two of these are *twins* if, whenever the roles have
// come to them equally often, both are left in the same way: as many
// iterations, the same branch.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_ROLETWINS_H
#define TL_DIALECT_TL_ANALYSIS_ROLETWINS_H

#include "tl/Dialect/TL/IR/TL.h"

#include "llvm/ADT/DenseSet.h"

namespace tl {

class RoleTwins {
public:
  explicit RoleTwins(mlir::gpu::GPUFuncOp kernel);

  /// True if `ops`, of one role each, are known to be twins.
  bool areTwins(llvm::ArrayRef<mlir::Operation *> ops);

private:
  bool areTwins(mlir::Operation *a, mlir::Operation *b);
  bool goSameWays(mlir::Operation *a, mlir::Operation *b);
  bool isSame(mlir::Value a, mlir::Value b);
  bool isSameArgument(mlir::BlockArgument a, mlir::BlockArgument b);
  bool isSameResult(mlir::OpResult a, mlir::OpResult b);
  bool readsConstantTensor(mlir::Operation *op) const;

  llvm::DenseSet<mlir::Value> written; ///< tensors
  /// What is taken to be the same until something differs.
  llvm::DenseSet<std::pair<mlir::Value, mlir::Value>> assumed;
};

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_ROLETWINS_H
