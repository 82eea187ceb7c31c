//===- ThreadPool.cpp - Share the blocks of a grid among threads ----------===//
//
// A loop is cut into a few pieces per thread, which threads take one after the
// other, so that uneven blocks even out. The caller works too and does not wait
// for threads that have not woken up by the time the work is gone. Between two
// pieces, and while it waits for the others, it asks whether the call is to
// end.
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/ThreadPool.h"
#include "tl/Runtime/Interruption.h"
#include "llvm/Support/Threading.h"
#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace tl::runtime;

//===----------------------------------------------------------------------===//
// Workers
//===----------------------------------------------------------------------===//

namespace {
/// The iterations of a loop, in pieces.
struct Loop {
  Loop(function_ref<void(int64_t, int64_t)> body, int64_t count,
       unsigned threads, Interruption *interruption)
      : body(body), count(count),
        piece(std::max<int64_t>(1, count / (threads * kPiecesPerThread))),
        interruption(interruption) {}

  bool isInterrupted() { return interruption && interruption->isWanted(); }

  /// Takes pieces until there are none.
  void run() {
    for (bool isFirst = true;; isFirst = false) {
      int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= count || (!isFirst && isInterrupted()))
        return;
      body(begin, std::min(begin + piece, count));
    }
  }

private:
  static constexpr int64_t kPiecesPerThread = 8;

  const function_ref<void(int64_t, int64_t)> body;
  const int64_t count, piece;
  Interruption *const interruption;
  std::atomic<int64_t> next = 0;
};
} // namespace

/// The threads of one process.
class ThreadPool::Workers {
public:
  explicit Workers(unsigned count) : process(getpid()) {
    for (unsigned i = 0; i != count; ++i)
      threads.emplace_back([this] { work(); });
  }

  ~Workers() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isStopping = true;
    }
    wake.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  unsigned size() const { return threads.size(); }
  bool belongToThisProcess() const { return process == getpid(); }

  void run(Loop &loop) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      current = &loop;
    }
    wake.notify_all();
    loop.run();

    std::unique_lock<std::mutex> lock(mutex);
    current = nullptr;
    while (!idle.wait_for(lock, Interruption::kInterval,
                          [&] { return active == 0; })) {
      lock.unlock();
      (void)loop.isInterrupted();
      lock.lock();
    }
  }

private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      wake.wait(lock, [&] { return isStopping || current; });
      if (isStopping)
        return;
      Loop &loop = *current;
      ++active;
      lock.unlock();
      loop.run();
      lock.lock();
      // The work is gone: nobody else need look at this loop. Were it left, a
      // thread would spin here until the caller withdraws it.
      if (current == &loop)
        current = nullptr;
      if (--active == 0)
        idle.notify_one();
    }
  }

  const pid_t process;
  std::mutex mutex;
  std::condition_variable wake, idle;
  /// The loop that threads may join.
  Loop *current = nullptr;
  /// The number of threads in a loop; the caller is not counted.
  unsigned active = 0;
  bool isStopping = false;
  std::vector<std::thread> threads;
};

//===----------------------------------------------------------------------===//
// ThreadPool
//===----------------------------------------------------------------------===//

static unsigned resolveThreadCount(unsigned count) {
  return count ? count : hardware_concurrency().compute_thread_count();
}

ThreadPool::ThreadPool(unsigned threadCount)
    : threadCount(resolveThreadCount(threadCount)) {}

ThreadPool::~ThreadPool() {
  if (workers && !workers->belongToThisProcess())
    workers.release();
}

ThreadPool &ThreadPool::global() {
  // Never destroyed: threads may still run kernels while the process exits.
  static ThreadPool *pool = new ThreadPool();
  return *pool;
}

void ThreadPool::setThreadCount(unsigned count) {
  threadCount = resolveThreadCount(count);
}

bool ThreadPool::acquire() {
  pid_t self = getpid();
  pid_t current = user.load(std::memory_order_relaxed);
  return current != self &&
         user.compare_exchange_strong(current, self, std::memory_order_acquire);
}

void ThreadPool::release() { user.store(0, std::memory_order_release); }

/// Returns as many workers as are wanted now, for the user of the pool.
ThreadPool::Workers &ThreadPool::getWorkers() {
  // The threads of a parent process do not exist here and cannot be joined.
  if (workers && !workers->belongToThisProcess())
    workers.release();
  unsigned wanted = threadCount - 1;
  if (!workers || workers->size() != wanted) {
    workers.reset();
    workers = std::make_unique<Workers>(wanted);
  }
  return *workers;
}

void ThreadPool::parallelFor(int64_t count,
                             function_ref<void(int64_t, int64_t)> body,
                             Interruption *interruption) {
  if (count <= 0)
    return;
  if (count == 1 || threadCount == 1 || !acquire())
    return Loop(body, count, /*threads=*/1, interruption).run();
  Loop loop(body, count, threadCount, interruption);
  getWorkers().run(loop);
  release();
}
