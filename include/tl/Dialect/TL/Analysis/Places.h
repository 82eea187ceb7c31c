//===- Places.h - Addresses as sums -----------------------------*- C++ -*-===//
//
// Where accesses at thread level go, so that those side by side are found.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_PLACES_H
#define TL_DIALECT_TL_ANALYSIS_PLACES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/MapVector.h"

namespace tl {

/// `base` and `offset` bytes and the sum of the terms, each of which is a
/// value, as a signed number, times so many bytes. Sums wrap at 64 bits, as
/// addresses do.
struct Place {
  mlir::Value base;
  llvm::MapVector<mlir::Value, int64_t> terms;
  int64_t offset = 0;
};

/// What `pointer`, an address of the LLVM dialect, is the sum of.
Place getPlace(mlir::Value pointer);

/// A power of two that divides the address but for its `offset`. Holds of
/// arguments of the kernel if their `tl.align` does.
int64_t getAlignment(const Place &place);

/// The bytes of a number in memory; zero if it has no size of its own.
int64_t getMemoryBytes(mlir::Type type);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_PLACES_H
