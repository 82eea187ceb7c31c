//===- ProducerSlice.h - What starts the copies of a kernel -----*- C++ -*-===//
//
// The part of a kernel that a thread must execute to start some of its copies
// and nothing else: the loops and branches around them, and the scalars that
// these and the copies' places are computed from.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_PRODUCERSLICE_H
#define TL_DIALECT_TL_ANALYSIS_PRODUCERSLICE_H

#include "tl/Dialect/TL/IR/TL.h"

#include "llvm/ADT/SetVector.h"

namespace tl {

class ProducerSlice {
public:
  /// The slice of `roots`, ops of `kernel` without results. If a thread of its
  /// own cannot execute it, whenever it likes, `whyNot` says what is in the
  /// way.
  static ProducerSlice of(mlir::gpu::GPUFuncOp kernel,
                          llvm::ArrayRef<mlir::Operation *> roots);

  /// Empty if the slice can be executed by itself; else the reason, to follow
  /// "because", and the op that it is about.
  llvm::StringRef getReason() const { return reason; }
  mlir::Operation *getPlace() const { return place; }

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  /// True for what a loop or branch of the slice must carry, as its argument or
  /// result.
  bool needs(mlir::Value value) const { return values.contains(value); }

private:
  void addOp(mlir::Operation *op);
  void addValue(mlir::Value value);
  void addArgument(mlir::BlockArgument argument);
  void addResult(mlir::OpResult result);
  void checkTensors(mlir::gpu::GPUFuncOp kernel);
  void refuse(mlir::Operation *op, const llvm::Twine &why);

  llvm::SetVector<mlir::Operation *> roots, ops;
  llvm::SetVector<mlir::Value> values;
  llvm::SetVector<mlir::Value> tensors; ///< that the slice reads
  std::string reason;
  mlir::Operation *place = nullptr;
};

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_PRODUCERSLICE_H
