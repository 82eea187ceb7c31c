//===- SlotPromotion.h - Memory of one value becomes values -----*- C++ -*-===//
//
// Upstream's mem2reg does not carry slots through `scf.for`; fragments and
// variables live exactly there. The slots here are simple: one value, loaded
// and stored as a whole, so that what a slot holds is known at every point of a
// structured program.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_SLOTPROMOTION_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_SLOTPROMOTION_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"

namespace tl {

/// A load of a slot, or a store to one.
struct SlotAccess {
  mlir::Value slot;
  /// What is stored; null for loads.
  mlir::Value stored;

  bool isStore() const { return bool(stored); }

  /// What `op` does to a slot: `memref.load`, `memref.store`, `tl.load` and
  /// `tl.store` are taken to access the only element there is.
  static SlotAccess of(mlir::Operation *op);
};

/// True if all uses of `slot` are loads and stores of it, nested in `scf.for`,
/// `scf.while` and `scf.if` only.
bool isPromotable(mlir::Value slot);

/// Replaces `slots`, which are allocated in `block`, by the values stored,
/// carried through `scf.for`, `scf.while` and `scf.if`. A slot that is read
/// before it is written reads as zero. Requires of all uses what `isPromotable`
/// says, but for loads: these may be in any ops in which the slot is not stored
/// to.
void promoteSlots(llvm::SetVector<mlir::Value> slots, mlir::Block &block);

} // namespace tl

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_SLOTPROMOTION_H
