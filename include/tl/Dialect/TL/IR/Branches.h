//===- Branches.h - Branches that stay branches -----------------*- C++ -*-===//

#ifndef TL_DIALECT_TL_IR_BRANCHES_H
#define TL_DIALECT_TL_IR_BRANCHES_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// On an `scf.if`: code generators are not to make selections of it.
inline constexpr llvm::StringLiteral kBranchAttr = "tl.branch";

} // namespace tl

#endif // TL_DIALECT_TL_IR_BRANCHES_H
