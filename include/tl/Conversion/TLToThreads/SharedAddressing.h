//===- SharedAddressing.h - Where shared buffers lie ------------*- C++ -*-===//
//
// Buffers in shared memory are parts of one arena, at the offsets that
// `tl-plan-shared-memory` chose, and laid out as `SharedLayout` says.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOTHREADS_SHAREDADDRESSING_H
#define TL_CONVERSION_TLTOTHREADS_SHAREDADDRESSING_H

#include "tl/Conversion/TLToThreads/IndexBuilder.h"
#include "tl/Layout/SharedLayout.h"

namespace tl {

class SharedAddressing {
public:
  explicit SharedAddressing(IndexBuilder &b) : b(b) {}

  /// Where the arena starts.
  mlir::Value getBase();
  /// Byte offset of a buffer (or slot of one) in the arena.
  mlir::Value getOffset(mlir::Value view);
  /// Address of byte `offset` of the arena.
  mlir::Value getAddress(mlir::Value offset);
  /// Address of an element of a buffer (or slot of one).
  mlir::Value getAddress(mlir::Value view, mlir::ValueRange indices);
  mlir::Value getBarrierAddress(mlir::Value barriers, mlir::Value index);

private:
  mlir::Value mapToRank(mlir::Value address, mlir::Value rank);
  std::pair<mlir::Value, int64_t> splitSum(mlir::Value sum);
  std::pair<mlir::Value, int64_t> splitIndex(mlir::Value index);
  std::pair<mlir::Value, int64_t>
  getSplitOffset(const layout::SharedLayout &layout,
                 llvm::ArrayRef<mlir::Value> position);
  IndexBuilder &b;
  mlir::Value base;
};

} // namespace tl

#endif // TL_CONVERSION_TLTOTHREADS_SHAREDADDRESSING_H
