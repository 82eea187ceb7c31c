//===- PerProcessTest.cpp - Objects that a forked child has anew ----------===//

#include "tl/Support/PerProcess.h"

#include "gtest/gtest.h"

#include <future>
#include <mutex>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace tl;

namespace {
struct Shared {
  std::mutex mutex;
  int value = 1;
};
} // namespace

static PerProcess<Shared> shared;

/// Runs `body` in a child, and returns what it returns; 99 if it hangs.
static int inChild(int (*body)()) {
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

TEST(PerProcessTest, ThreadsShareIt) {
  Shared *first = &shared.get();
  std::thread([&] { EXPECT_EQ(&shared.get(), first); }).join();
}

/// The thread that holds the lock is not there to open it.
TEST(PerProcessTest, AChildDoesNotWaitForThreadsOfItsParent) {
  std::promise<void> isLocked, mayEnd;
  std::thread holder([&] {
    std::lock_guard<std::mutex> lock(shared.get().mutex);
    shared.get().value = 2;
    isLocked.set_value();
    mayEnd.get_future().wait();
  });
  isLocked.get_future().wait();
  EXPECT_EQ(inChild([] {
              std::lock_guard<std::mutex> lock(shared.get().mutex);
              return shared.get().value;
            }),
            1);
  mayEnd.set_value();
  holder.join();
  EXPECT_EQ(shared.get().value, 2);
}

TEST(PerProcessTest, AGrandchildHasItsOwn) {
  shared.get().value = 3;
  EXPECT_EQ(inChild([] {
              shared.get().value = 4;
              return inChild([] { return shared.get().value; });
            }),
            1);
}
