//===- ScalarLoops.h - Loops over the elements of a tile --------*- C++ -*-===//
//
// What the scalar meaning of tile ops and the checks of them are written with.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_SCALARLOOPS_H
#define TL_DIALECT_TL_IR_SCALARLOOPS_H

#include "mlir/IR/Builders.h"

namespace tl {

/// Emits a nest of loops over the box `extents`; `body` gets the indices.
void emitNest(
    mlir::OpBuilder &builder, mlir::Location loc,
    llvm::ArrayRef<int64_t> extents,
    llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange)> body);

/// The position in a buffer of rank `rank` that lies `indices` from `offsets`,
/// which are none, or one for each dimension. The indices are those of the last
/// dimensions.
llvm::SmallVector<mlir::Value> shift(mlir::OpBuilder &builder,
                                     mlir::Location loc, int64_t rank,
                                     mlir::ValueRange offsets,
                                     mlir::ValueRange indices);

/// The same for the indices of dimensions `dims`.
llvm::SmallVector<mlir::Value> shift(mlir::OpBuilder &builder,
                                     mlir::Location loc, int64_t rank,
                                     mlir::ValueRange offsets,
                                     mlir::ValueRange indices,
                                     llvm::ArrayRef<int64_t> dims);

} // namespace tl

#endif // TL_DIALECT_TL_IR_SCALARLOOPS_H
