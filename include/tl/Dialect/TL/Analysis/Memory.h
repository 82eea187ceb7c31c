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
llvm::SmallVector<int64_t> getStrideDivisors(mlir::MemRefType type);

/// The alignment in bytes that is known of a kernel argument's address.
int64_t getAlignment(mlir::Value buffer);

/// Bytes that an element takes in memory; one for `i1`.
int64_t getElementBytes(mlir::MemRefType type);

/// The layout of a shared buffer: the widest swizzle that its rows allow.
SharedLayoutAttr chooseSharedLayout(mlir::MemRefType type);

/// Where the elements of a tile of `type` lie.
layout::SharedLayout toLayout(SharedLayoutAttr attr, mlir::MemRefType type);

/// The layout of a shared buffer, or of a slot of one; before
/// `tl-infer-layouts`, the one that it would get.
layout::SharedLayout getSharedLayout(mlir::Value view);

/// The bytes of shared memory that a buffer takes, and what its offset must be
/// a multiple of. A buffer that is seen through `tl.slot` is a ring of tiles,
/// each of which is aligned as a buffer is; nothing else reaches into it.
int64_t getSharedBytes(AllocOp alloc);
int64_t getSharedAlignment(AllocOp alloc);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_MEMORY_H
