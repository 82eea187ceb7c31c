//===- MulticastCopies.h - Fetch tiles once for a cluster -------*- C++ -*-===//
//
// A part of tl-assign-stages.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_MULTICASTCOPIES_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_MULTICASTCOPIES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tl {

/// Marks copies of pipelined loops, whose engine is known, that the blocks of a
/// cluster do together; and then the kernel `tl.specialize`.
void multicastCopies(mlir::gpu::GPUFuncOp kernel);

} // namespace tl

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_MULTICASTCOPIES_H
