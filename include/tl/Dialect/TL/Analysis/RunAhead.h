//===- RunAhead.h - Which copies may be started early -----------*- C++ -*-===//
//
// A program must not be able to see that a copy of a pipelined loop was started
// in an earlier iteration than it stands in, nor that it went to a buffer of
// its own. What must hold for that is listed in RunAhead.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_RUNAHEAD_H
#define TL_DIALECT_TL_ANALYSIS_RUNAHEAD_H

#include "tl/Dialect/TL/IR/TL.h"

#include "llvm/ADT/SetVector.h"

namespace tl {

/// The copies of a loop from device memory into shared memory, but those of
/// pipelined loops inside of it.
struct RunAhead {
  /// A copy, and why it must be done in its own iteration.
  struct Refusal {
    CopyOp copy;
    std::string reason;
  };

  llvm::SmallVector<CopyOp> copies; ///< that may be started early, in order
  llvm::SmallVector<Refusal> refusals;
  std::string filledByElements; ///< a buffer that is copied to, but not by one
  /// Loops that copy tiles whose extents only the running kernel knows.
  llvm::SmallVector<ParallelOp> cuts;

  static RunAhead of(PipelinedOp loop);

  /// Why no copy may be started early, to follow "because".
  std::string whyNone() const;

  /// Why no loop of `cuts` may be started early.
  static std::string whyNotCut();
};

/// The ops of the loop's body that compute where the copy reads, in no
/// particular order. Fails if that takes more than arithmetic and elements of
/// tensors that the loop does not write.
llvm::LogicalResult collectOffsetOps(CopyOp copy, PipelinedOp loop,
                                     llvm::SetVector<mlir::Operation *> &ops);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_RUNAHEAD_H
