//===- Branches.h - Branches that stay branches -----------------*- C++ -*-===//

#ifndef TL_DIALECT_TL_IR_BRANCHES_H
#define TL_DIALECT_TL_IR_BRANCHES_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// On an `scf.if`: LLVM is not to make selections of it. The compilers of CUDA
/// C++ decide for themselves.
inline constexpr llvm::StringLiteral kBranchAttr = "tl.branch";

} // namespace tl

#endif // TL_DIALECT_TL_IR_BRANCHES_H
