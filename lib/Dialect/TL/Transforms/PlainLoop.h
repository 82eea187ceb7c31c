//===- PlainLoop.h - A pipelined loop as a plain one ------------*- C++ -*-===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_PLAINLOOP_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_PLAINLOOP_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// Turns the loop into a `scf.for`, which means the same.
void makePlain(PipelinedOp loop);

} // namespace tl

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_PLAINLOOP_H
