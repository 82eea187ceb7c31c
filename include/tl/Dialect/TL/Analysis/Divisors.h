//===- Divisors.h - What divides an index -----------------------*- C++ -*-===//
//
// Alignment decides how wide an access is, and whether the bulk copy engine
// takes a box.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_DIVISORS_H
#define TL_DIALECT_TL_ANALYSIS_DIVISORS_H

#include "mlir/IR/Value.h"

namespace tl {

/// A power of two that divides `index`, as large as its arithmetic shows; zero
/// if the index is zero, which everything divides.
int64_t getDivisor(mlir::Value index);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_DIVISORS_H
