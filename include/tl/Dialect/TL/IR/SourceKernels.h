//===- SourceKernels.h - What passes say of source kernels ------*- C++ -*-===//
//
// Attributes by which the passes on external CUDA C++ hand on what they found
// out. They are gone when a kernel is compiled.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_SOURCEKERNELS_H
#define TL_DIALECT_TL_IR_SOURCEKERNELS_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// On a `tl.source_kernel`, from `tl-resolve-sources` to `tl-verify-entries`:
/// by the name of each file, and what stands behind `#include` in it, the path
/// of the header in `headers`.
inline constexpr llvm::StringLiteral kIncludesAttr = "tl.includes";

/// What a text that is no file is called there.
inline constexpr llvm::StringLiteral kTextName = "<text>";

/// On a `tl.source_kernel` and then its `tl.cuda_entry`, from
/// `tl-verify-entries` to `tl-compile-cuda`: for each argument what a parameter
/// must be to take it, as C++, and the error if it is not.
inline constexpr llvm::StringLiteral kPassedAttr = "tl.passed";

/// Beside it, where a kernel has several sources: the number of the one whose
/// text has the entry. Not there if no text shows it.
inline constexpr llvm::StringLiteral kSourceAttr = "tl.source";

} // namespace tl

#endif // TL_DIALECT_TL_IR_SOURCEKERNELS_H
