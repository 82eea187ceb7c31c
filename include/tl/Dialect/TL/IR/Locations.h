//===- Locations.h - Source locations that may be kept ----------*- C++ -*-===//
//
// Besides its place in a file, a location may hold the statement that stands
// there, as the front end read it, in the metadata of a fused location:
// `{tl.statement = "…"}`. It is what generated source shows in comments: unlike
// a line number, it stays the same when the lines above it change.
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

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

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

/// The name that the user gave to what has `location`, or null.
mlir::StringAttr getGivenName(mlir::Location location);

/// `place`, with the name that `named` has, if it has one.
mlir::Location withNameOf(mlir::Location named, mlir::Location place);

/// The statement that `location` is at, or null.
mlir::StringAttr getStatement(mlir::Location location);

/// `location` with the statement that is there.
mlir::Location withStatement(mlir::Location location,
                             mlir::StringAttr statement);

} // namespace tl

#endif // TL_DIALECT_TL_IR_LOCATIONS_H
