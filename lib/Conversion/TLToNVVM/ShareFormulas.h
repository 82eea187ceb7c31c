//===- ShareFormulas.h - One function for many equal formulas ---*- C++ -*-===//

#ifndef TL_LIB_CONVERSION_TLTONVVM_SHAREFORMULAS_H
#define TL_LIB_CONVERSION_TLTONVVM_SHAREFORMULAS_H

#include "mlir/IR/Operation.h"

namespace tl {

/// Calls of a function that does `ops`, element-wise ones on vectors of
/// `length` elements, on a piece of `size` of them.
class SharedFormula {
public:
  /// Builds the function beside the kernel that the ops are in. None if it
  /// would not compute what the ops do in place, or more than they.
  static std::optional<SharedFormula>
  create(llvm::ArrayRef<mlir::Operation *> ops, int64_t length, int64_t size);

  /// The values of `ops` that are used behind them.
  llvm::ArrayRef<mlir::Value> getResults() const { return results; }

  /// Calls it for the piece from `first` on. Returns pieces of the results.
  llvm::SmallVector<mlir::Value> call(mlir::OpBuilder &builder,
                                      int64_t first) const;

private:
  /// An operand that the ops do not compute.
  struct Input {
    mlir::Value vector;
    /// All lanes of each piece are the same value, which is passed once.
    bool isUniform;
  };

  mlir::Operation *function = nullptr;
  int64_t size = 0;
  llvm::SmallVector<Input> inputs;
  llvm::SmallVector<mlir::Value> results;
  /// By result, whether the function returns two factors of it.
  llvm::SmallVector<bool> products;
};

} // namespace tl

#endif // TL_LIB_CONVERSION_TLTONVVM_SHAREFORMULAS_H
