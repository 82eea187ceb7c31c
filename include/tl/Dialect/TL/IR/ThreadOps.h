//===- ThreadOps.h - What thread level is -----------------------*- C++ -*-===//
//
// Thread level is a closed list of ops, types and attributes, because every
// code generator for NVIDIA GPUs must know each one. The ops are a table,
// ThreadOps.def, with what a generator, a check or a reader wants to know of
// each. Generators for the host start from the tile level and take none.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_THREADOPS_H
#define TL_DIALECT_TL_IR_THREADOPS_H

#include "tl/Dialect/TL/IR/Events.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tl {

/// Makes code of thread level.
enum class Generator { PTX, CUDA, CuTeDSL };

/// The threads that must execute an op together: it stands where the way there
/// is the same for all of them.
enum class Together {
  Thread,    ///< each one by itself
  Warp,      ///< all lanes of each warp that comes by
  WarpGroup, ///< the four warps of a warp group
  Block      ///< all threads of the block
};

/// One line of the table.
struct ThreadOp {
  enum class Category {
    Kernel,
    ControlFlow,
    Iterations, ///< tells who watches, and does nothing
    Arithmetic,
    Vector,
    Memory,
    Threads,
    Order,
    Copy,
    Matrix
  };

  llvm::StringLiteral name;
  Category category;
  Together together;
  /// How it reaches memory, or none if it does not.
  std::optional<Proxy> proxy;
  /// A bit for each `Generator`; none for what the simulator alone takes.
  unsigned generators;

  bool isTakenBy(Generator generator) const {
    return generators & 1u << static_cast<unsigned>(generator);
  }
};

/// The whole table, in the order of its file.
llvm::ArrayRef<ThreadOp> getThreadOps();

/// The line of the op `name`, or null if it is no thread-level op.
const ThreadOp *getThreadOp(llvm::StringRef name);

} // namespace tl

#endif // TL_DIALECT_TL_IR_THREADOPS_H
