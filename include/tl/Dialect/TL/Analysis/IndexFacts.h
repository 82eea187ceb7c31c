//===- IndexFacts.h - What is known of an index -----------------*- C++ -*-===//
//
// What the arithmetic that makes an index tells of its value. Alignment decides
// how wide an access is; alignment and range, whether the bulk copy engine
// takes a box.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_INDEXFACTS_H
#define TL_DIALECT_TL_ANALYSIS_INDEXFACTS_H

#include "mlir/IR/Value.h"
#include <optional>

namespace tl {

/// A power of two that divides `index`, as large as its arithmetic shows; zero
/// if the index is zero, which everything divides.
int64_t getDivisor(mlir::Value index);

/// The greatest value that `index` can have in any launch, if it is seen never
/// to be negative: no sum or product that it is made of wraps at 32 bits.
std::optional<int64_t> getGreatest(mlir::Value index);

/// On a kernel: the first extent of its grid is never above this integer. The
/// other two extents are below 2^16 in every launch.
inline constexpr llvm::StringLiteral kGridLimitAttr = "tl.grid_limit";

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_INDEXFACTS_H
