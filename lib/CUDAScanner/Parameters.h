//===- Parameters.h - One declaration at a time -----------------*- C++ -*-===//

#ifndef TL_LIB_CUDASCANNER_PARAMETERS_H
#define TL_LIB_CUDASCANNER_PARAMETERS_H

#include "Lexer.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tl::cuda {

/// Says what a name that is no keyword means: `T`, `ns::real`.
using TypeLookup = llvm::function_ref<Type(llvm::StringRef)>;

/// Splits at commas outside of any brackets.
llvm::SmallVector<llvm::ArrayRef<Token>>
splitAtCommas(llvm::ArrayRef<Token> tokens);

/// Returns the declaration of a parameter, a variable or an alias; of a type
/// alone, the name is empty.
Parameter parseParameter(llvm::ArrayRef<Token> tokens, TypeLookup lookup);

/// The position after the bracket that closes the one at `i`, or the end.
size_t skipBrackets(llvm::ArrayRef<Token> tokens, size_t i);

/// The position after the `>` that closes the `<` at `i`, or `i` if none does.
size_t skipAngles(llvm::ArrayRef<Token> tokens, size_t i);

} // namespace tl::cuda

#endif // TL_LIB_CUDASCANNER_PARAMETERS_H
