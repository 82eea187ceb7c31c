//===- ClusterAccesses.h - Accesses by several blocks of a cluster -*- C++ -*-//
//
// The blocks of a cluster execute one program, so that an access by another
// block is one that this block's program has too, with the other block's place
// in the cluster instead of its own.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_CLUSTERACCESSES_H
#define TL_DIALECT_TL_ANALYSIS_CLUSTERACCESSES_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

class ClusterDependence;

/// True if the two, of one buffer and by different blocks of a cluster, touch
/// no element in common, whenever each happens.
bool areApartInCluster(const Access &a, const Access &b,
                       const ClusterDependence &dependence);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_CLUSTERACCESSES_H
