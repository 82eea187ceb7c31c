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
// What a loop carries is of an earlier round than what it yields. A value that
// was made in a later round than a product's A holds nothing for it, though the
// same op made both: each has an age, in rounds, where all ways by which values
// become each other say the same one. What comes out of a loop is what its last
// round yielded, if it is known to have one; else it may be what went in.
//
// Rounds of one loop are not told apart: what a loop carries counts as the same
// registers in all of them, so that a product that outlives its round is held
// by a later wait for what the next round carries.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_SIMULATOR_FACTORS_H
#define TL_LIB_SIMULATOR_FACTORS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace tl::sim {

/// Gives each value of a kernel that may be registers of a factor A a number.
/// Above its lowest byte, which is the age, it is the same for all that may be
/// the same registers. 0 is no number.
llvm::DenseMap<mlir::Value, unsigned> findFactors(mlir::gpu::GPUFuncOp kernel);

/// Whether what a wait carries may be the registers that a product read.
inline bool holdsFactor(uint32_t carried, uint32_t read) {
  return carried >> 8 == read >> 8 && (carried & 0xff) >= (read & 0xff);
}

} // namespace tl::sim

#endif // TL_LIB_SIMULATOR_FACTORS_H
