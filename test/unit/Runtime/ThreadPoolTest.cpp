//===- ThreadPoolTest.cpp - Share the blocks of a grid among threads ------===//

#include "tl/Runtime/ThreadPool.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace tl::runtime;

namespace {

/// Runs a loop of `count` iterations and returns how often each one ran.
std::vector<int> countIterations(ThreadPool &pool, int64_t count) {
  std::vector<std::atomic<int>> counts(count);
  pool.parallelFor(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i != end; ++i)
      ++counts[i];
  });
  return {counts.begin(), counts.end()};
}

bool isAllOnes(const std::vector<int> &counts) {
  return std::all_of(counts.begin(), counts.end(),
                     [](int count) { return count == 1; });
}

TEST(ThreadPoolTest, EveryIterationRunsOnce) {
  for (unsigned threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 2, 7, 1000, 4099})
      EXPECT_TRUE(isAllOnes(countIterations(pool, count)))
          << threads << " threads, " << count << " iterations";
  }
}

// Two threads must be in the loop at the same time: each waits for the other.
TEST(ThreadPoolTest, ThreadsRunTogether) {
  ThreadPool pool(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  pool.parallelFor(2, [&](int64_t, int64_t) {
    for (;;) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        threads.insert(std::this_thread::get_id());
        if (threads.size() == 2 || std::chrono::steady_clock::now() > deadline)
          return;
      }
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(threads.size(), 2u);
}

TEST(ThreadPoolTest, LoopsMayBeNested) {
  ThreadPool pool(3);
  std::atomic<int> count = 0;
  pool.parallelFor(10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i != end; ++i)
      pool.parallelFor(10, [&](int64_t begin, int64_t end) {
        count += static_cast<int>(end - begin);
      });
  });
  EXPECT_EQ(count, 100);
}

TEST(ThreadPoolTest, CallersMayCompete) {
  ThreadPool pool(2);
  std::atomic<int> failures = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i != 4; ++i)
    callers.emplace_back([&] {
      for (int j = 0; j != 50; ++j)
        failures += !isAllOnes(countIterations(pool, 100));
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(failures, 0);
}

TEST(ThreadPoolTest, ThreadCountMayChange) {
  ThreadPool pool(1);
  for (unsigned count : {4u, 2u, 1u, 3u}) {
    pool.setThreadCount(count);
    EXPECT_TRUE(isAllOnes(countIterations(pool, 333)));
  }
}

// A child has none of the pool's threads, and may have been forked in the midst
// of a loop, which then looks unfinished for ever.
TEST(ThreadPoolTest, WorksInAForkedChild) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer stops children that start threads";
#endif
  ThreadPool pool(2);
  EXPECT_TRUE(isAllOnes(countIterations(pool, 100)));
  std::atomic<pid_t> child = -1;
  std::once_flag once;
  pool.parallelFor(4, [&](int64_t, int64_t) {
    std::call_once(once, [&] {
      pid_t forked = fork();
      if (forked != 0) {
        child = forked;
        return;
      }
      alarm(30);
      std::set<std::thread::id> threads;
      std::mutex mutex;
      std::atomic<int> count = 0;
      pool.parallelFor(100, [&](int64_t begin, int64_t end) {
        count += static_cast<int>(end - begin);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::lock_guard<std::mutex> lock(mutex);
        threads.insert(std::this_thread::get_id());
      });
      _exit(count == 100 && threads.size() == 2 ? 0 : 1);
    });
  });
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(isAllOnes(countIterations(pool, 100)));
}

} // namespace
