//===- ThreadPool.h - Share the blocks of a grid among threads --*- C++ -*-===//
//
// Runs the CPU's kernels. Threads start with the first loop that can use them;
// a child process starts its own, because fork copies no threads.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_THREADPOOL_H
#define TL_RUNTIME_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <sys/types.h>

namespace tl::runtime {

class Interruption;

class ThreadPool {
public:
  /// A pool of `threadCount` threads, the caller's included; 0 stands for as
  /// many as this process may run on.
  explicit ThreadPool(unsigned threadCount = 0);
  ~ThreadPool();

  /// The pool of the process.
  static ThreadPool &global();

  /// Changes the number of threads, from the next loop on.
  void setThreadCount(unsigned threadCount);

  /// Calls `body` with disjoint ranges that cover 0 ... count-1, from several
  /// threads, and returns when all calls have returned. If the pool is busy,
  /// with a caller of another thread or one further up this thread's stack, the
  /// calling thread does all of the work. What has not begun when the call is
  /// interrupted is left out.
  void parallelFor(int64_t count,
                   llvm::function_ref<void(int64_t, int64_t)> body,
                   Interruption *interruption = nullptr);

private:
  class Workers;

  bool acquire();
  void release();
  Workers &getWorkers();

  std::atomic<unsigned> threadCount;
  /// The process whose thread uses the pool now, or 0. A number other than this
  /// process's own was copied by fork and means nothing.
  std::atomic<pid_t> user{0};
  /// Touched by the user only.
  std::unique_ptr<Workers> workers;
};

} // namespace tl::runtime

#endif // TL_RUNTIME_THREADPOOL_H
