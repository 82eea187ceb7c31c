//===- IndexFacts.h - What is known of an index -----------------*- C++ -*-===//
//
// What the arithmetic that makes an index tells of its value. Alignment decides
// how wide an access is; alignment and sign, whether the bulk copy engine takes
// a box.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_INDEXFACTS_H
#define TL_DIALECT_TL_ANALYSIS_INDEXFACTS_H

#include "mlir/IR/Value.h"

namespace tl {

/// A power of two that divides `index`, as large as its arithmetic shows; zero
/// if the index is zero, which everything divides.
int64_t getDivisor(mlir::Value index);

/// True if `index` is seen not to be negative as long as no sum or product that
/// it is made of exceeds 2^31.
bool isNonNegative(mlir::Value index);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_INDEXFACTS_H
