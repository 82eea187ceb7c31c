//===- Accumulators.h - Registers that wgmma writes -------------*- C++ -*-===//
//
// The result of a `tl.wgmma` is under way: it may go into a further `wgmma`, be
// carried by a loop, or go into a wait, and nothing else may look at it. All of
// these are states of one set of registers, as on a GPU, where registers that
// an instruction is going to write cannot be copied. So they share one place,
// and `wgmma` writes it when the scheduler lets it.
//
// An accumulator that begins as an ordinary value is copied there first.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_ACCUMULATORS_H
#define TL_LIB_SIMULATOR_ACCUMULATORS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace tl::sim {

/// Numbers the accumulators of a kernel from 0 on, and gives each value that is
/// a state of one its number. Fails where two that are carried by one loop, or
/// an accumulator and an ordinary value, would have to change places.
llvm::FailureOr<llvm::DenseMap<mlir::Value, unsigned>>
findAccumulators(mlir::gpu::GPUFuncOp kernel);

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_ACCUMULATORS_H
