//===- OwnElements.h - Threads that keep to elements of their own -*- C++ -*-=//
//
// Statements of threads follow each other without a barrier if no thread sees
// what another one does: each element that some thread writes is touched by
// that one alone. This is found by looking: a block has at most 1024 threads,
// and loops with constant bounds have iterations that can be counted.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_ANALYSIS_OWNELEMENTS_H
#define TL_DIALECT_TL_ANALYSIS_OWNELEMENTS_H

#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace tl {

/// An access of shared or device memory in a sequence of statements.
struct ThreadAccess {
  mlir::Value view;
  mlir::ValueRange indices;
  bool isWrite;
  /// Whether thread 0 alone makes it.
  bool isOfFirst;
};

/// The accesses of one buffer by statements that follow each other.
class OwnElements {
public:
  /// `block` holds the statements; `size` is that of the block of threads.
  OwnElements(mlir::Block &block, llvm::ArrayRef<int32_t> size,
              const ThreadDependence &dependence)
      : block(block), size(size), dependence(dependence) {}

  /// Takes one more access. False if a thread may then touch what another one
  /// writes; nothing more can be added.
  bool add(const ThreadAccess &access);

private:
  /// A sum of values that stay as they are, each with a factor, and for each
  /// point of an access's domain a number.
  struct Place {
    llvm::MapVector<mlir::Value, int64_t> fixed;
    std::vector<int64_t> numbers;
  };
  /// The places of an access, one for each dimension, none where it is not
  /// known, and how many points there are for each thread.
  struct Touch {
    llvm::SmallVector<std::optional<Place>> places;
    int64_t points = 1;
    bool isWrite;
    bool isOfFirst;
  };
  struct Toucher {
    int64_t writer = -1, reader = -1;
  };
  class Reader;

  bool touch(const Touch &touch);
  bool dropDims(const Touch &touch);

  mlir::Block &block;
  llvm::ArrayRef<int32_t> size;
  const ThreadDependence &dependence;
  mlir::Value view;
  llvm::SmallVector<Touch> touches;
  llvm::SmallVector<bool> isDropped;
  llvm::DenseMap<std::pair<uint64_t, uint64_t>, Toucher> touchers;
  int64_t work = 0;
};

} // namespace tl

#endif // TL_DIALECT_TL_ANALYSIS_OWNELEMENTS_H
