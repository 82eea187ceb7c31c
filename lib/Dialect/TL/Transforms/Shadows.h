//===- Shadows.h - Which on-chip elements were written ----------*- C++ -*-===//
//
// For a checked kernel: an on-chip buffer of which it cannot be seen that all
// is written before it is read has a *shadow*, a buffer of bytes of the same
// shape in the same memory, whose elements are 1 where something was written.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_SHADOWS_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_SHADOWS_H

#include "tl/Dialect/TL/IR/TL.h"

#include "llvm/ADT/MapVector.h"

namespace tl {

class Shadows {
public:
  /// Finds out which buffers of `kernel` need one. Changes nothing yet.
  explicit Shadows(KernelOp kernel);

  /// Makes the shadows, with nothing written. Those in shared memory get what
  /// the kernel leaves of `sharedLimit` bytes, the smallest ones first; one
  /// warning names the buffers that get none.
  void create(int64_t sharedLimit);

  /// The shadow of `view`, in the same form; null if there is none.
  mlir::Value get(mlir::OpBuilder &builder, mlir::Value view) const;

  /// True if `op` may read elements of `view` that nothing has written.
  bool isAsked(mlir::Operation *op, mlir::Value view) const;

private:
  mlir::Value createFor(AllocOp alloc);

  KernelOp kernel;
  /// The shadows by what they are of; null until they are made.
  llvm::MapVector<mlir::Value, mlir::Value> shadows;
  /// Reads of which the buffer is known to be written.
  llvm::DenseSet<std::pair<mlir::Operation *, mlir::Value>> proven;
};

/// The buffers whose elements a `tl.load` or a tile op reads.
llvm::SmallVector<mlir::Value, 3> getReadBuffers(mlir::Operation *op);

} // namespace tl

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_SHADOWS_H
