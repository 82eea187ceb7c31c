//===- ThreadRange.h - Which threads execute an op --------------*- C++ -*-===//
//
// The threads of a block may go different ways through a kernel, part by part.
// Whoever wants to know how many threads share a tile, or which ones meet at a
// barrier, asks for those that execute the op, and not for the block.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_THREADRANGE_H
#define TL_DIALECT_TL_IR_THREADRANGE_H

#include <cstdint>

namespace mlir {
class Operation;
} // namespace mlir

namespace tl {

/// Neighbouring threads of a block.
struct ThreadRange {
  int64_t first = 0; ///< its number in the block
  int64_t count = 0;
  /// Where they meet: one of the 16 barriers that the hardware has for a block.
  /// Barrier 0 is that of the whole block.
  int64_t barrier = 0;

  bool operator==(const ThreadRange &) const = default;
};

/// The threads that execute `op`, which is a kernel or in one: those of the
/// `tl.role` around it, or all of its block.
ThreadRange getThreads(mlir::Operation *op);

} // namespace tl

#endif // TL_DIALECT_TL_IR_THREADRANGE_H
