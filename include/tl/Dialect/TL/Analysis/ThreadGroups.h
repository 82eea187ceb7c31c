//===- ThreadGroups.h - Which threads have the same value -------*- C++ -*-===//
//
// For kernels at thread level, where each value is one of each thread.
//
// Memory is taken to hold the same for all threads that read it at one address,
// as it does where accesses are in order.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_THREADGROUPS_H
#define TL_DIALECT_TL_ANALYSIS_THREADGROUPS_H

#include "tl/Dialect/TL/IR/TL.h"

namespace tl {

/// In which groups of threads the values of a kernel are the same.
///
/// Groups are of equal size, and start at multiples of it, in the order in
/// which the hardware numbers threads: those of 32 are warps.
class ThreadGroups {
public:
  explicit ThreadGroups(mlir::gpu::GPUFuncOp kernel);

  /// A size of groups in which `value` is the same, and so it is for each
  /// divisor of the size; 0 if `value` is the same for all threads.
  int64_t getSize(mlir::Value value) const { return sizes.lookup(value); }

private:
  void visit(mlir::Operation *op);
  void set(mlir::Value value, int64_t size);
  int64_t getCommonSize(mlir::ValueRange values) const;
  int64_t getResultSize(mlir::Operation *op) const;
  int64_t getDivisor(mlir::Value value) const;
  int64_t getComparedSize(mlir::Operation *op) const;

  bool isLine, changed = true;
  llvm::DenseMap<mlir::Value, int64_t> sizes;
};

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_THREADGROUPS_H
