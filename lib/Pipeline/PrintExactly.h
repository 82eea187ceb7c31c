//===- PrintExactly.h - Text that reads back as the same --------*- C++ -*-===//
//
// A tool's options may leave out parts of what is printed, for people. Text
// that is keyed or stored is complete whatever they say.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_PIPELINE_PRINTEXACTLY_H
#define TL_LIB_PIPELINE_PRINTEXACTLY_H

#include <string>

namespace mlir {
class Attribute;
class Operation;
} // namespace mlir

namespace tl {

/// The op, with all locations or none.
std::string printExactly(mlir::Operation *op, bool locations = true);

std::string printExactly(mlir::Attribute attribute);

} // namespace tl

#endif // TL_LIB_PIPELINE_PRINTEXACTLY_H
