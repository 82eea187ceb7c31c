//===- TellTiles.h - Say which tiles ops reach ------------------*- C++ -*-===//
//
// For the simulator: see SharedNames.h.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOTHREADS_TELLTILES_H
#define TL_CONVERSION_TLTOTHREADS_TELLTILES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace tl {

/// Marks the ops that a builder inserts.
class TileTeller : public mlir::OpBuilder::Listener {
public:
  /// Numbers the shared buffers of `kernel`, and says on it what they are.
  explicit TileTeller(mlir::gpu::GPUFuncOp kernel);

  /// What is inserted from now on comes from `op`.
  void enter(mlir::Operation *op);

  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint previous) override;

private:
  llvm::DenseMap<mlir::Value, int64_t> numbers;
  /// Of the buffers that the op being lowered uses, or null for none.
  mlir::DenseI64ArrayAttr uses;
};

} // namespace tl

#endif // TL_CONVERSION_TLTOTHREADS_TELLTILES_H
