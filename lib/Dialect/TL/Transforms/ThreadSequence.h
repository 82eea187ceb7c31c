//===- ThreadSequence.h - Statements of threads in one loop -----*- C++ -*-===//
//
// Part of tl-normalize-statements. What makes it sound stands at the head of
// ThreadSequence.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_TRANSFORMS_THREADSEQUENCE_H
#define TL_DIALECT_TL_TRANSFORMS_THREADSEQUENCE_H

#include "tl/Dialect/TL/Analysis/OwnElements.h"

namespace tl {

/// On an op of a loop of a sequence that one thread executes, for as long as
/// the sequence is rewritten.
inline constexpr llvm::StringLiteral kOnceAttr = "tl.once";

/// Statements of a block that follow each other, and that one parallel loop
/// over threads can stand for.
class ThreadSequence {
public:
  ThreadSequence(mlir::Block &block, llvm::ArrayRef<int32_t> size,
                 const ThreadDependence &dependence)
      : block(block), size(size), dependence(dependence) {}

  /// Takes the next op of the block into the sequence, as a statement or as one
  /// that may stand in front of it. False if the sequence ends here, which then
  /// can only be asked for what it has.
  bool add(mlir::Operation *op);

  /// The ops that the loop executes, in order; a part of them only computes.
  llvm::ArrayRef<mlir::Operation *> getStatements() const { return statements; }

  /// True if threads have variables in it that live from one of its statements
  /// to the next.
  bool pays() const;

  /// Marks what one thread executes.
  void markOnce();

private:
  struct Buffer {
    llvm::SmallVector<ThreadAccess> accesses;
    llvm::SmallPtrSet<mlir::Operation *, 4> units;
    std::unique_ptr<OwnElements> own;
    bool isWritten = false, isRepeated = false;
  };
  /// Where an op of a statement stands.
  struct Place {
    mlir::Operation *statement;
    /// The op that is executed once for each thread, as a whole; null outside.
    mlir::Operation *unit = nullptr;
    bool isRepeated = false;
  };

  bool collect(mlir::Operation *op, Place place);
  bool collectAccess(mlir::Operation *op, mlir::Value view,
                     mlir::ValueRange indices, bool isWrite, Place place);
  bool addAccess(const ThreadAccess &access, Place place);
  bool isWritten(mlir::Value buffer) const;
  bool canStandInFront(mlir::Operation *op) const;

  mlir::Block &block;
  llvm::ArrayRef<int32_t> size;
  const ThreadDependence &dependence;
  llvm::SmallVector<mlir::Operation *> statements;
  llvm::SmallVector<mlir::Operation *> once, newOnce;
  llvm::MapVector<mlir::Value, Buffer> buffers;
  /// Statements that touch memory or variables, and those with variables.
  int64_t numActive = 0, numLoops = 0;
  bool hasVariables = false, newVariables = false;
};

} // namespace tl

#endif // TL_DIALECT_TL_TRANSFORMS_THREADSEQUENCE_H
