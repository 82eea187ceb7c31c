//===- SyncConditions.h - What a state knows of conditions ------*- C++ -*-===//
//
// How far apart two values are, as a range: the upper bound and the index of a
// loop, or any two that conditions compare. A branch cuts the range in two.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCCONDITIONS_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCCONDITIONS_H

#include "SyncStates.h"

#include "llvm/ADT/DenseMap.h"

namespace tl::sync {

/// Of ops that are executed together, the one that the numbers of a state name.
using Leaders = llvm::DenseMap<mlir::Operation *, mlir::Operation *>;

/// `a` - `b`, as far as it is known.
Interval getDifference(const State &state, mlir::Value a, mlir::Value b);

/// Takes for granted that `condition` is or is not true, as far as that says
/// something. False if it cannot be.
bool assume(State &state, const Leaders &leaders, mlir::Value condition,
            bool holds);

} // namespace tl::sync

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCCONDITIONS_H
