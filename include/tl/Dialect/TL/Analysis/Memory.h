//===- Memory.h - What is known of buffers in memory ------------*- C++ -*-===//
//
// Strides and alignment of buffers in device memory, and where the elements and
// slots of buffers in shared memory lie.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_MEMORY_H
#define TL_DIALECT_TL_ANALYSIS_MEMORY_H

#include "tl/Dialect/TL/IR/TL.h"
#include "tl/Layout/SharedLayout.h"

namespace tl {

/// The stride of each dimension of a buffer in elements, dynamic where it is
/// not known.
llvm::SmallVector<int64_t> getStrides(mlir::MemRefType type);

/// A number that each stride is a multiple of in every launch: that of rows
/// that lie one behind the other has all extents behind its own as factors.
llvm::SmallVector<int64_t> getStrideDivisors(mlir::Value buffer);

/// A number that the extent of the last dimension of a buffer is a multiple of
/// in every launch.
int64_t getRowDivisor(mlir::Value buffer);

/// The alignment in bytes that is known of where a tensor begins.
int64_t getAlignment(mlir::Value buffer);

/// Bytes that an element takes in memory; one for `i1`.
int64_t getElementBytes(mlir::MemRefType type);

/// The layout of a shared tile: the widest swizzle that its rows allow.
SharedLayoutAttr chooseSharedLayout(mlir::MemRefType type);

/// The layout of a shared buffer: that of a tile, if there are slots of it.
SharedLayoutAttr chooseSharedLayout(AllocOp alloc);

/// The layout of a shared buffer, or of a slot of one; before
/// `tl-infer-layouts`, the one that it would get. A buffer that is seen through
/// `tl.slot` is tiles one after another, each of which lies as a buffer of its
/// own would, and so it is for whoever reaches into the whole buffer.
layout::SharedLayout getSharedLayout(mlir::Value view);

/// What a slot that is only rows of a tile is a slot of; any other view itself.
/// Where an element lies is known of whole tiles.
mlir::Value getTileView(mlir::Value view);

/// The bytes of shared memory that a buffer takes, and what its offset must be
/// a multiple of.
int64_t getSharedBytes(AllocOp alloc);
int64_t getSharedAlignment(AllocOp alloc);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_MEMORY_H
