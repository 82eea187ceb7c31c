//===- SharedLives.h - When shared buffers hold something -------*- C++ -*-===//
//
// Where a buffer in shared memory holds something is found op by op, over
// structured control flow: it has been accessed on some way to the op, and on
// some way from there it is read, or partly overwritten, before it is
// overwritten as a whole. A tile op is one op with all that its region touches.
// An asynchronous access holds its buffer until the wait that completes it, or,
// if that is for a phase, until the last one for the same mbarriers. The ring
// of a pipelined loop so ends with the loop, unless another one that it stands
// in comes back to it, or a role fills another ring at the same time.
//
// What is found is true if the events of the ops are (`Events.h`).
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_SHAREDLIVES_H
#define TL_DIALECT_TL_ANALYSIS_SHAREDLIVES_H

#include "tl/Dialect/TL/IR/TL.h"

#include "llvm/ADT/BitVector.h"

namespace tl {

/// What an mbarrier takes (PTX ISA, "Size and alignment of mbarrier object").
inline constexpr int64_t kBarrierBytes = 8;

/// On a kernel: the names, offsets and bytes of the buffers in its shared
/// memory that the program gave names, for readers of source text.
inline constexpr llvm::StringLiteral kSharedTilesAttr = "tl.shared_tiles";

/// When one buffer holds something, in steps of its kernel.
struct SharedLife {
  /// A `tl.alloc` in shared memory, or a `tl.alloc_barriers`.
  mlir::Operation *alloc;
  llvm::BitVector exact = {};
  /// The same, widened to the outermost loops that the buffer is used in.
  llvm::BitVector widened = {};
};

struct SharedLives {
  /// The ops that analyses look at as a whole (`isStep`), in program order.
  llvm::SmallVector<mlir::Operation *> steps;
  /// The lives of all buffers, in program order.
  llvm::SmallVector<SharedLife> buffers;
};

/// Finds when the shared buffers of `kernel` hold something. Layouts are known.
/// What a `tl.pipelined` fills is held as it is in a plain loop.
SharedLives findSharedLives(mlir::gpu::GPUFuncOp kernel);

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_SHAREDLIVES_H
