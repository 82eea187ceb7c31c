//===- ClusterDependence.h - What differs between blocks --------*- C++ -*-===//
//
// The blocks of a cluster execute one program, and go the same ways where
// nothing that decides on them is computed from a block's place in the cluster
// or from memory that blocks write. This analysis tells what is.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_CLUSTERDEPENDENCE_H
#define TL_DIALECT_TL_ANALYSIS_CLUSTERDEPENDENCE_H

#include "tl/Dialect/TL/IR/TL.h"

#include "llvm/ADT/DenseSet.h"

namespace tl {

class ClusterDependence {
public:
  /// Analyses a kernel at tile level, a `tl.kernel` or what became of it.
  explicit ClusterDependence(mlir::Operation *kernel);

  /// The blocks of a cluster along x, y and z.
  const std::array<int64_t, 3> &getExtents() const { return cluster; }

  /// The dimension along which `value` is the block's coordinate.
  std::optional<unsigned> getDimension(mlir::Value value) const;

  /// True if `value` may differ between blocks of a cluster.
  bool depends(mlir::Value value) const;

  /// The op around `op` because of which blocks of a cluster may execute `op`
  /// differently often; null if all of them execute it equally often.
  mlir::Operation *findDivergence(mlir::Operation *op) const;

private:
  bool isSource(mlir::Operation *op) const;
  bool isSameInCluster(mlir::Operation *op) const;

  mlir::Operation *kernel;
  std::array<int64_t, 3> cluster = {1, 1, 1};
  /// The buffers that the kernel writes.
  llvm::DenseSet<mlir::Value> written;
};

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_CLUSTERDEPENDENCE_H
