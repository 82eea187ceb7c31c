//===- LeaveLoops.h - Loops that LLVM is not to vectorise -------*- C++ -*-===//
//
// LLVM 22.1 asks of an instruction in a loop whether all iterations compute the
// same (`vputils::isUniformAcrossVFsAndUFs`), and for that of its operands, of
// each as often as there are ways to it. With numbers that each step uses
// twice, as in conversions to short floats, this does not end.
//
// It also has loops read neighbours whose index comes back to where it was
// (`comesBack`).
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_TARGET_CPU_LEAVELOOPS_H
#define TL_LIB_TARGET_CPU_LEAVELOOPS_H

#include "llvm/IR/PassManager.h"

namespace tl {

/// Marks loops for which that takes too many steps, or that would read
/// something else, so that they are not vectorised. To run in front of the
/// vectoriser. It changes no number.
struct LeaveLoopsPass : llvm::PassInfoMixin<LeaveLoopsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace tl

#endif // TL_LIB_TARGET_CPU_LEAVELOOPS_H
