//===- DelayedGemm.h - Gemms done an iteration late -------------*- C++ -*-===//
//
// Which gemm of a pipelined loop may run beside what the next iteration
// computes.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_DELAYEDGEMM_H
#define TL_DIALECT_TL_ANALYSIS_DELAYEDGEMM_H

#include "tl/Dialect/TL/IR/Pipes.h"
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

  /// The same of a loop of which nothing is marked yet: `copies` will run ahead
  /// by `engine`, and gemms run on as `isAsync` says.
  static std::optional<DelayedGemm>
  expect(PipelinedOp loop, CopyEngine engine, llvm::ArrayRef<CopyOp> copies,
         llvm::function_ref<bool(GemmOp)> isAsync, std::string &reason);
};

/// True if the gemm's plan lets it run on while the threads do something else.
bool isAsync(GemmOp gemm);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_DELAYEDGEMM_H
