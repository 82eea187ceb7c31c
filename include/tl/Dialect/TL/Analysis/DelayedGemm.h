//===- DelayedGemm.h - Gemms done an iteration late -------------*- C++ -*-===//
//
// Which gemm of a pipelined loop may run beside what the next iteration
// computes.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_DELAYEDGEMM_H
#define TL_DIALECT_TL_ANALYSIS_DELAYEDGEMM_H

#include "tl/Dialect/TL/IR/TL.h"
#include <optional>
#include <string>

namespace tl {

/// On a `tl.gemm` directly in a `tl.pipelined` of engine "bulk": it is done in
/// the next iteration, and after the loop for the last one.
inline constexpr llvm::StringLiteral kDelayedAttr = "tl.delayed";

/// A gemm whose product no statement misses before the next iteration has
/// started one of its own.
struct DelayedGemm {
  GemmOp gemm;
  /// The statement of the loop before which it is done, in the next iteration.
  mlir::Operation *next;
  /// The first statement from `next` on that must come after it; null if none
  /// does.
  mlir::Operation *end;

  /// Requires plans, and copies that are marked. None if there is no such gemm;
  /// `reason` says why if there is one that would gain from it, else it is
  /// empty.
  static std::optional<DelayedGemm> of(PipelinedOp loop, std::string &reason);
};

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_DELAYEDGEMM_H
