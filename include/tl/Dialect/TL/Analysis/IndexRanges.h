//===- IndexRanges.h - What integers of a program can be --------*- C++ -*-===//
//
// Ranges of integers, by MLIR's analysis, of programs in which loops are
// `tl.parallel` too; and what they show of places in buffers.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_INDEXRANGES_H
#define TL_DIALECT_TL_ANALYSIS_INDEXRANGES_H

#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include <optional>

namespace tl {

/// Ranges of all integers in an operation, as long as nothing in it changes:
/// values are known by their addresses.
class IndexRanges {
public:
  /// Analyses `root`. Fails, after an error, if the analysis does.
  static mlir::FailureOr<std::unique_ptr<IndexRanges>>
  of(mlir::Operation *root);

  /// What `value` can be; nothing if that is not known.
  std::optional<mlir::ConstantIntRanges> get(mlir::Value value) const;

  /// The dimensions in which a box of extents `tile` at `offsets` may leave a
  /// buffer of extents `shape`; `tile` is of the last dimensions.
  mlir::SmallVector<unsigned> getUnproven(mlir::ValueRange offsets,
                                          mlir::ArrayRef<int64_t> shape,
                                          mlir::ArrayRef<int64_t> tile) const;

private:
  IndexRanges() = default;

  mlir::DataFlowSolver solver;
};

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_INDEXRANGES_H
