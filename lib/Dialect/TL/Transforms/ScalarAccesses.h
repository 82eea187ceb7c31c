//===- ScalarAccesses.h - Accesses that are joined --------------*- C++ -*-===//
//
// What `tl-join-loads` and `tl-join-stores` ask of scalars side by side.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_SCALARACCESSES_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_SCALARACCESSES_H

#include "mlir/IR/Operation.h"

namespace tl {

/// The most bytes of an access, and the spaces of pointers (PTX ISA).
inline constexpr int64_t kMaxAccessBytes = 16;
inline constexpr unsigned kDeviceSpace = 1, kSharedSpace = 3;

/// The space of an address of the LLVM dialect.
unsigned getAddressSpace(mlir::Value pointer);

/// True if the address, which some access of the thread has, is of other memory
/// than that of `space`.
bool isElsewhere(mlir::Value pointer, unsigned space);

/// What the simulator is told of all `accesses`, in the order of their
/// addresses: the iterations one after the other, and the rest as of each.
/// Fails if it is told different things.
mlir::FailureOr<mlir::NamedAttrList>
joinAttributes(llvm::ArrayRef<mlir::Operation *> accesses);

/// How many accesses of so many `bytes`, from the first one on, are side by
/// side and make one: their `offsets` grow, behind a place that `alignment`
/// divides. 1 if none does.
size_t getJoinedWidth(llvm::ArrayRef<int64_t> offsets, int64_t bytes,
                      int64_t alignment);

} // namespace tl

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_SCALARACCESSES_H
