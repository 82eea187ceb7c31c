//===- NumberFormula.h - Tables of numbers as formulas ----------*- C++ -*-===//
//
// Which of a thread's values an access means is a table: a number for each of a
// loop's iterations. Where a loop runs over them, the number is to be computed
// from the iteration. Layouts move by constant steps, so that a sum over the
// digits of the iteration's number most often gives the table.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CONVERSION_TLTOTHREADS_NUMBERFORMULA_H
#define TL_LIB_CONVERSION_TLTOTHREADS_NUMBERFORMULA_H

#include "tl/Conversion/TLToThreads/ThreadLowering.h"

namespace tl {

/// The first number of a table, and a step for each digit of a position.
class NumberFormula {
public:
  /// The formula that gives `numbers`, if there is one over the digits of
  /// positions that `extents` say, the fastest first, or over parts of these.
  /// Numbers below zero may be anything.
  static std::optional<NumberFormula> find(llvm::ArrayRef<int64_t> numbers,
                                           llvm::ArrayRef<int64_t> extents);

  /// The number at `position`, which is in the table.
  mlir::Value emit(ThreadLowering &lowering, mlir::Value position) const;

private:
  int64_t count, first;
  llvm::SmallVector<layout::ThreadStep> steps;
};

/// Steps as few as can be: one that continues the step before it is joined to
/// it, so that equal maps have equal steps.
llvm::SmallVector<layout::ThreadStep>
joinSteps(llvm::ArrayRef<layout::ThreadStep> steps);

} // namespace tl

#endif // TL_LIB_CONVERSION_TLTOTHREADS_NUMBERFORMULA_H
