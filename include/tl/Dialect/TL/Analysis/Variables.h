//===- Variables.h - Variables that parallel loops assign -------*- C++ -*-===//
//
// A variable or array in private memory that is declared before a `tl.parallel`
// and assigned in it is each iteration's own (docs/language/semantics.md, P3).
// These are the questions that follow: which variables are those, and does an
// iteration read what they held before the loop?
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_VARIABLES_H
#define TL_DIALECT_TL_ANALYSIS_VARIABLES_H

#include "tl/Dialect/TL/IR/TL.h"
#include "llvm/ADT/SetVector.h"

namespace tl {

/// The buffer in private memory whose elements `op` reads, or null.
mlir::Value getReadVariable(mlir::Operation *op);

/// The buffer in private memory whose elements `op` writes, or null.
mlir::Value getAssignedVariable(mlir::Operation *op);

/// The variables from outside of `loop` that its body assigns, in the order of
/// the first assignments.
llvm::SetVector<mlir::Value> getAssignedVariables(ParallelOp loop);

/// What a store to one element of an array assigns.
enum class ElementStore {
  /// The array, as a user who fills one element after the other means it.
  AssignsAll,
  /// An element, so that others may still hold what they did.
  AssignsOne,
};

/// The first op in `block` that may read `variable` before the block has
/// assigned it, or null. Loops are taken to run at least once if `store` is
/// `AssignsAll`, where doubt is to the user's advantage.
mlir::Operation *findReadBeforeAssignment(mlir::Block &block,
                                          mlir::Value variable,
                                          ElementStore store);

/// The number, in row-major order, of the element that constant `indices` name;
/// nothing if one is not constant or out of bounds.
std::optional<int64_t> getElementNumber(mlir::MemRefType type,
                                        mlir::ValueRange indices);

/// The indices of a `tl.load` or `tl.store`.
mlir::ValueRange getElementIndices(mlir::Operation *access);

/// Lets a `tl.load` or `tl.store` access another buffer, at other indices.
void replaceAccess(mlir::Operation *access, mlir::Value buffer,
                   mlir::ValueRange indices);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_VARIABLES_H
