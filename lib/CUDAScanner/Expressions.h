//===- Expressions.h - Integer constants in the text ------------*- C++ -*-===//

#ifndef TL_LIB_CUDASCANNER_EXPRESSIONS_H
#define TL_LIB_CUDASCANNER_EXPRESSIONS_H

#include "Lexer.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tl::cuda {

/// Returns the value of an integer constant expression, as `#if` and
/// `__launch_bounds__` take them, or none if it cannot be known. `valueOf` says
/// what a name means.
std::optional<int64_t>
evaluate(llvm::ArrayRef<Token> tokens,
         llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> valueOf);

} // namespace tl::cuda

#endif // TL_LIB_CUDASCANNER_EXPRESSIONS_H
