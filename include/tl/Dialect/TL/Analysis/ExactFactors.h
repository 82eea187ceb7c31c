//===- ExactFactors.h - Tiles of f32 that tf32 holds ------------*- C++ -*-===//
//
// Which tiles of f32 hold nothing but numbers of tf32, so that a gemm need not
// round them.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_EXACTFACTORS_H
#define TL_DIALECT_TL_ANALYSIS_EXACTFACTORS_H

#include "mlir/IR/Value.h"

namespace tl {

/// True if all that is ever written to `buffer`, an allocation of f32, is
/// numbers of narrower floats, or constants, whose lower 13 bits are zero.
bool holdsNarrowNumbers(mlir::Value buffer);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_EXACTFACTORS_H
