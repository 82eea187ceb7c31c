//===- RegionFlow.h - How control passes between regions --------*- C++ -*-===//
//
// Structured control flow as edges, for analyses that walk it to a fixed point.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_REGIONFLOW_H
#define TL_DIALECT_TL_ANALYSIS_REGIONFLOW_H

#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir {
class Operation;
class Region;
} // namespace mlir

namespace tl {

/// One way for control to pass: from the op's start (`from` is null) or the end
/// of a region, to the start of a region or the op's end (`to` is null).
/// `values` become `arguments`, which are block arguments or the op's results.
struct FlowEdge {
  mlir::Region *from, *to;
  mlir::ValueRange values, arguments;
};

/// All edges of `op`, which has regions. Where the op does not say, any region
/// may follow any other, and none need be executed.
llvm::SmallVector<FlowEdge> getFlow(mlir::Operation *op);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_REGIONFLOW_H
