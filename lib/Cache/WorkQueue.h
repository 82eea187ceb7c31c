//===- WorkQueue.h - Work that nobody waits for ----------------*- C++ -*-===//
//
// One thread that does pieces of work in order, started when there is some. The
// queue is bounded: who adds to a full one is told, and never waits.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CACHE_WORKQUEUE_H
#define TL_LIB_CACHE_WORKQUEUE_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include <pthread.h>

namespace tl::cache {

class WorkQueue {
public:
  using Work = std::function<void()>;

  /// `maxBytes` bounds what the work that waits keeps in memory.
  explicit WorkQueue(uint64_t maxBytes) : maxBytes(maxBytes) {}

  /// Nothing is left to do: `finish` was called.
  ~WorkQueue();

  /// Has `work`, which keeps so many bytes in memory, done. False if there is
  /// no room for it, or no thread can be had.
  bool push(uint64_t bytes, Work work);

  /// What `finish` found.
  struct Rest {
    /// Pieces that were never begun, and are forgotten.
    size_t forgotten = 0;
    /// A piece was still being worked on and was told to hurry.
    bool wasHurried = false;
  };

  /// Waits, at most so long, until all work is done; then forgets the rest and
  /// ends the thread, after `hurry` was called if it was still busy. More work
  /// starts another thread.
  Rest finish(std::chrono::milliseconds atMost,
              llvm::function_ref<void()> hurry);

private:
  struct Item {
    uint64_t bytes;
    Work work;
  };

  bool start();
  void run();

  const uint64_t maxBytes;
  std::mutex mutex;
  std::condition_variable hasWork;
  std::condition_variable isIdle;
  std::deque<Item> items;
  uint64_t bytesWaiting = 0;
  bool isBusy = false;
  bool isStopping = false;
  bool hasThread = false;
  pthread_t thread = {};
};

} // namespace tl::cache

#endif // TL_LIB_CACHE_WORKQUEUE_H
