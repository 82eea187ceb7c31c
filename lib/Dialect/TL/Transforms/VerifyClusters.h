//===- VerifyClusters.h - Check what clusters do ----------------*- C++ -*-===//
//
// What the language (docs/language/semantics.md, S11) asks of kernels whose
// blocks meet in clusters, and touch each other's shared memory:
//
// - All blocks of a cluster come to its barriers equally often: loops and
//   branches around these go the same way in all of them (ClusterDependence.h).
// - Arrivals and waits take turns, and barriers order what blocks do to memory
//   of each other (ClusterOrder.h).
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_VERIFYCLUSTERS_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_VERIFYCLUSTERS_H

#include "mlir/Support/LLVM.h"

namespace tl {

/// Fails with an error at the first op of `kernel` that breaks a rule.
llvm::LogicalResult verifyClusters(mlir::Operation *kernel);

} // namespace tl

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_VERIFYCLUSTERS_H
