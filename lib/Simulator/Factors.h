//===- Factors.h - Registers that wgmma reads -------------------*- C++ -*-===//
//
// A `wgmma` reads its factor A from registers until it is complete. Values do
// not change; but whoever assigns registers gives those of a value to another
// one behind its last use. So the wait that completes the product carries the
// values that A's registers are made of, or a later wait does. Here values are
// put together that may be the same registers, or made of them: what arranges
// elements anew or changes them one by one, what loops and branches hand on,
// and what waits carry.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_FACTORS_H
#define TL_LIB_SIMULATOR_FACTORS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace tl::sim {

/// Gives each value of a kernel that may be registers of a factor A a number,
/// the same to all that may be the same registers. Numbers begin with 1.
llvm::DenseMap<mlir::Value, unsigned> findFactors(mlir::gpu::GPUFuncOp kernel);

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_FACTORS_H
