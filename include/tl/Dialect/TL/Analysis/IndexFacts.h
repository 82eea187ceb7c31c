//===- IndexFacts.h - What is known of an index -----------------*- C++ -*-===//
//
// What the arithmetic that makes an index tells of its value. Alignment decides
// how wide an access is; alignment and range, whether the bulk copy engine
// takes a box.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_INDEXFACTS_H
#define TL_DIALECT_TL_ANALYSIS_INDEXFACTS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace tl {

/// A power of two that divides `index`, as large as its arithmetic shows; zero
/// if the index is zero, which everything divides.
int64_t getDivisor(mlir::Value index);

/// The greatest value that `index` can have in any launch, if it is seen never
/// to be negative: no sum or product that it is made of wraps at 32 bits.
std::optional<int64_t> getGreatest(mlir::Value index);

/// Has a one for each of the low 32 bits of `index` that may be one.
uint32_t getPossibleBits(mlir::Value index);

/// On a kernel: three integers that the extents of its grid are never above.
inline constexpr llvm::StringLiteral kGridLimitAttr = "tl.grid_limit";

/// What an extent of the grid of `kernel` is at most: as `tl.grid_limit` says,
/// or as CUDA does. The kernel may be null.
int64_t getGridLimit(mlir::gpu::GPUFuncOp kernel,
                     mlir::gpu::Dimension dimension);

/// How many blocks of the grid of `kernel` a multiprocessor has to execute at
/// most, about: of a GPU with 108 of them, as many as the smaller ones of data
/// centres have.
int64_t countBlocksOfGrid(mlir::gpu::GPUFuncOp kernel);

/// The extent of the blocks of `kernel`, or what none is above if it is not
/// known. The kernel may be null.
int64_t getBlockExtent(mlir::gpu::GPUFuncOp kernel,
                       mlir::gpu::Dimension dimension);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_INDEXFACTS_H
