//===- Locations.h - Source locations that may be kept ----------*- C++ -*-===//
//
// Locations that end up in an artifact, as line information, must not say where
// a project lies: the artifact would differ from user to user. What the root of
// a project is, nothing in the IR says, and asking the file system would make
// the result depend on the machine. The folder that all files of a kernel share
// does as well: it moves with the project.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_LOCATIONS_H
#define TL_DIALECT_TL_IR_LOCATIONS_H

#include "mlir/Support/LLVM.h"

#include <string>

namespace mlir {
class Operation;
} // namespace mlir

namespace tl {

/// The innermost folder that holds all files in locations at and below `root`;
/// empty if there is none. Names such as `<stdin>` are not files.
std::string findCommonFolder(mlir::Operation *root);

/// Makes the paths that begin with `folder` relative to it, in all locations at
/// and below `root`.
void makePathsRelative(mlir::Operation *root, llvm::StringRef folder);

} // namespace tl

#endif // TL_DIALECT_TL_IR_LOCATIONS_H
