//===- SharedNames.h - What shared memory is called -------------*- C++ -*-===//
//
// The attributes by which a kernel at thread level, where shared memory is one
// arena, still says which of its bytes the program calls what. They are for the
// reports of the simulator, which asks for them; no kernel for a GPU has them.
//
// Two tiles may share bytes at different times. A statement uses both only if
// they do not, so a byte and the tiles of the statement that an op came from
// are at most one tile.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_SHAREDNAMES_H
#define TL_DIALECT_TL_IR_SHAREDNAMES_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// On a kernel: one dictionary for each buffer in its shared memory, with
/// `offset`, `shape`, `element_bytes`, `swizzle`, `chunk` and `slot_dims` as
/// `SharedLayout` has them; `name`, if the program gave one; and `ring`, if the
/// first dimension is the compiler's.
inline constexpr llvm::StringLiteral kTilesAttr = "tl.tiles";

/// On an op that reaches shared memory: the numbers of the buffers that the
/// statement it came from uses.
inline constexpr llvm::StringLiteral kUsesAttr = "tl.uses";

/// On a `tl.alloc`: its first dimension counts the slots that a pipelined loop
/// turns a tile of the program into.
inline constexpr llvm::StringLiteral kRingAttr = "tl.ring";

} // namespace tl

#endif // TL_DIALECT_TL_IR_SHAREDNAMES_H
