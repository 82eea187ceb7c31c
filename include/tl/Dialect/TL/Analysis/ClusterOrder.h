//===- ClusterOrder.h - What barriers of a cluster order --------*- C++ -*-===//
//
// Follows a kernel at tile level whose blocks touch each other's shared memory
// (`tl.map_shared_rank`), over structured control flow, and finds what no
// barrier of the cluster orders.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_CLUSTERORDER_H
#define TL_DIALECT_TL_ANALYSIS_CLUSTERORDER_H

#include "tl/Dialect/TL/Analysis/KernelEvents.h"

namespace tl {

class ClusterDependence;

/// The first thing that is wrong, if anything is.
struct ClusterConflict {
  enum class Kind {
    None,
    Unordered,   ///< `earlier` and `later` may touch one element at a time
    ArrivesOpen, ///< `op` arrives, where the block may have and not waited
    WaitsClosed, ///< `op` waits, where the block need not have arrived
    EndsOpen     ///< `op` arrives, and the kernel may end before it waits
  };
  Kind kind = Kind::None;
  mlir::Operation *op = nullptr;
  /// Of accesses that are unordered: the one of `op`, and the one before it.
  Access access = {}, earlierAccess = {};
  mlir::Operation *earlier = nullptr;
};

/// Between an access of memory of another block and one of the block itself
/// stands a barrier on every way, if one of the two writes and they may be of
/// the same element; and arrivals at the barrier and waits there take turns.
/// Several blocks that write to one are the program's to keep apart. Requires
/// that all blocks of a cluster come to its barriers equally often.
ClusterConflict findClusterConflict(mlir::Operation *kernel,
                                    const ClusterDependence &dependence);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_CLUSTERORDER_H
