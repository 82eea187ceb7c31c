//===- PlaceFormulas.h - Formulas in place of their calls -------*- C++ -*-===//

#ifndef TL_LIB_TARGET_PTX_PLACEFORMULAS_H
#define TL_LIB_TARGET_PTX_PLACEFORMULAS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace tl {

/// Keeps LLVM from expanding the formulas of `module`, and tells it that they
/// only compute.
void keepFormulasApart(llvm::Module &module);

/// The instructions of `module` with those of its formulas at every call.
size_t countPlacedInstructions(llvm::Module &module);

/// Makes assembly of the calls of formulas, a statement that begins with the
/// name, and functions without parameters of the formulas. Returns the names.
llvm::SmallVector<std::string> nameFormulas(llvm::Module &module);

/// Puts the bodies of the functions `names` in `ptx` in place of the statements
/// that `nameFormulas` made. None if a function has another form than one way
/// out at its end.
std::optional<std::string> placeFormulas(llvm::StringRef ptx,
                                         llvm::ArrayRef<std::string> names);

} // namespace tl

#endif // TL_LIB_TARGET_PTX_PLACEFORMULAS_H
