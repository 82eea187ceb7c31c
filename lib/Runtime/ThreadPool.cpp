//===- ThreadPool.cpp - Share the blocks of a grid among threads ----------===//
//
// A loop is cut into a few pieces per thread, which threads take one after the
// other, so that uneven blocks even out. The caller works too and does not wait
// for threads that have not woken up by the time the work is gone.
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/ThreadPool.h"
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

  void run(int64_t count, function_ref<void(int64_t, int64_t)> body) {
    constexpr int64_t piecesPerThread = 8;
    int64_t pieces = (threads.size() + 1) * piecesPerThread;
    Loop loop{body, count, std::max<int64_t>(1, count / pieces)};
    {
      std::lock_guard<std::mutex> lock(mutex);
      current = &loop;
    }
    wake.notify_all();
    loop.run();

    std::unique_lock<std::mutex> lock(mutex);
    current = nullptr;
    idle.wait(lock, [&] { return active == 0; });
  }

private:
  struct Loop {
    function_ref<void(int64_t, int64_t)> body;
    int64_t count;
    int64_t piece;
    std::atomic<int64_t> next = 0;

    void run() {
      for (;;) {
        int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
        if (begin >= count)
          return;
        body(begin, std::min(begin + piece, count));
      }
    }
  };

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
                             function_ref<void(int64_t, int64_t)> body) {
  if (count <= 0)
    return;
  if (count == 1 || threadCount == 1 || !acquire())
    return body(0, count);
  getWorkers().run(count, body);
  release();
}
