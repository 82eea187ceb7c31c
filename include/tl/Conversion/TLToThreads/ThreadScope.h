//===- ThreadScope.h - The threads that lower an op together ----*- C++ -*-===//
//
// A tile op is executed by the threads of a scope, and what its lowering needs
// to know of them it asks here: how many they are, the number of this thread
// among them, and how they meet. Nothing else in this library knows the block's
// threads, so that parts of a block, such as a warp that copies and warp groups
// that multiply, can lower their ops each in a scope of its own.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CONVERSION_TLTOTHREADS_THREADSCOPE_H
#define TL_CONVERSION_TLTOTHREADS_THREADSCOPE_H

#include "tl/Conversion/TLToThreads/IndexBuilder.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "tl/Layout/FragmentLayout.h"

namespace tl {

class ThreadScope {
public:
  /// The scope of `range`, whose first thread is the first one of a warp.
  ThreadScope(IndexBuilder &b, const ThreadRange &range);

  const ThreadRange &getRange() const { return range; }
  int64_t getNumThreads() const { return range.count; }

  /// The thread's number in the scope, and its part of a warp.
  mlir::Value getThread();
  mlir::Value getLane();
  /// The warp's number in the scope, the same value for all its lanes.
  mlir::Value getWarp();
  /// True in one thread of the scope.
  mlir::Value isFirstThread();

  /// Where all threads of the scope meet, and see what each has done before.
  void createBarrier();

  /// The sum of `steps` for the thread.
  mlir::Value sumSteps(llvm::ArrayRef<layout::ThreadStep> steps);
  /// Sum of the thread's steps along `dim`: the coordinate of its first value.
  mlir::Value getThreadOffset(const layout::FragmentLayout &layout,
                              int64_t dim);
  /// True if several threads of the scope have the same values.
  bool hasCopies(const layout::FragmentLayout &layout) const;
  /// True if whole warps of the scope have only values that others have, too.
  bool hasWarpsOfCopies(const layout::FragmentLayout &layout) const;
  /// True in one of the threads that have the same values.
  mlir::Value isFirstCopy(const layout::FragmentLayout &layout);

private:
  IndexBuilder &b;
  ThreadRange range;
  mlir::Value thread, lane, warp, first;
};

} // namespace tl

#endif // TL_CONVERSION_TLTOTHREADS_THREADSCOPE_H
