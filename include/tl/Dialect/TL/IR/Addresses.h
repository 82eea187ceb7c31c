//===- Addresses.h - Tensors at addresses -----------------------*- C++ -*-===//
//
// The ops of Addresses.td, and what may share memory because of them.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_ADDRESSES_H
#define TL_DIALECT_TL_IR_ADDRESSES_H

#include "tl/Dialect/TL/IR/TL.h"

#include "llvm/ADT/STLExtras.h"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Addresses.h.inc"

namespace tl {

/// True if `view` is of a tensor at an address. The same value may then be
/// other memory each time that it is computed.
bool isAtAddress(mlir::Value view);

/// True if memory of a kernel's arguments may be written by another name.
bool hasTensorsAtAddresses(mlir::Operation *kernel);

/// True if two buffers, as `getBuffer` gives them, may be of the same memory: a
/// tensor at an address may be with every tensor, other buffers are only with
/// themselves (docs/language/semantics.md, M5 and M13).
bool mayBeSame(mlir::Value a, mlir::Value b);

/// True if `buffer` may be of the same memory as one of `others`.
template <typename Range>
bool mayBeOneOf(mlir::Value buffer, const Range &others) {
  return llvm::any_of(
      others, [&](mlir::Value other) { return mayBeSame(buffer, other); });
}

} // namespace tl

#endif // TL_DIALECT_TL_IR_ADDRESSES_H
