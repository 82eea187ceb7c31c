//===- ProcessTest.cpp - Processes that share a directory, and die --------===//

#include "TestSupport.h"
#include "Tracer.h"

#include <random>
#include <thread>

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;
using namespace std::chrono_literals;

namespace {

class ProcessTest : public testing::Test {
protected:
  CacheOptions options() {
    CacheOptions result;
    result.directory = directory.path();
    return result;
  }

  TemporaryDirectory directory;
  Tally made{directory.path("made")};
};

} // namespace

TEST_F(ProcessTest, ProcessesMakeAKeyOnce) {
  for (int round = 0; round < 3; ++round) {
    std::string name = std::to_string(round);
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i)
      children.push_back(startProcess([&] {
        Cache cache(options());
        Fetched fetched =
            cantFail(cache.withKey(makeKey(name), [&]() -> Expected<Entry> {
              made.add();
              std::this_thread::sleep_for(50ms);
              return makeEntry(name);
            }));
        return isEntry(*fetched.entry, name) ? 0 : 1;
      }));
    for (pid_t child : children)
      EXPECT_EQ(waitForProcess(child), 0);
    EXPECT_EQ(made.count(), uint64_t(round + 1));
  }
}

TEST_F(ProcessTest, OthersProceedWhenTheLeaderIsKilled) {
  pid_t leader = startProcess([&] {
    Cache cache(options());
    cantFail(cache.withKey(makeKey("k"), [&]() -> Expected<Entry> {
      made.add();
      std::this_thread::sleep_for(60s);
      return makeEntry("never");
    }));
    return 0;
  });
  made.waitFor(1);
  std::vector<pid_t> others;
  for (int i = 0; i < 4; ++i)
    others.push_back(startProcess([&] {
      Cache cache(options());
      Fetched fetched =
          cantFail(cache.withKey(makeKey("k"), [&]() -> Expected<Entry> {
            made.add();
            return makeEntry("k");
          }));
      return isEntry(*fetched.entry, "k") ? 0 : 1;
    }));
  // They wait while the leader lives.
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(made.count(), 1u);

  auto killed = std::chrono::steady_clock::now();
  ::kill(leader, SIGKILL);
  EXPECT_NE(waitForProcess(leader), 0);
  for (pid_t other : others)
    EXPECT_EQ(waitForProcess(other), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - killed, 10s);
  EXPECT_EQ(made.count(), 2u);
}

/// A child has the table of its parent's threads but not the threads.
TEST_F(ProcessTest, AForkedChildDoesNotWaitForItsParentsThreads) {
  CacheOptions given = options();
  given.directory.reset();
  Cache cache(given);
  Tally children(directory.path("children"));
  std::thread leader([&] {
    cantFail(cache.withKey(makeKey("k"), [&]() -> Expected<Entry> {
      made.add();
      children.waitFor(1);
      return makeEntry("k");
    }));
  });
  made.waitFor(1);
  pid_t child = startProcess([&] {
    Fetched fetched = cantFail(cache.withKey(
        makeKey("k"), [&]() -> Expected<Entry> { return makeEntry("k"); }));
    children.add();
    return fetched.origin == Origin::Made ? 0 : 1;
  });
  EXPECT_EQ(waitForProcess(child), 0);
  leader.join();
}

/// Writers are killed wherever they happen to be. What is there afterwards is
/// whole, and none of it had to be set aside.
TEST_F(ProcessTest, AKilledWriterLeavesNothingWrong) {
  std::mt19937 random(1);
  constexpr int numKeys = 5;
  int numFound = 0;
  for (int round = 0; round < 40; ++round) {
    pid_t writer = startProcess([&]() -> int {
      auto store = cantFail(DirectoryStore::open(directory.path()));
      for (int i = 0;; ++i) {
        std::string name = std::to_string(i % numKeys);
        cantFail(store->insert(makeKey(name), makeEntryPtr(name)));
        cantFail(
            store->remove(makeKey(std::to_string((i + 2) % numKeys)).digest()));
      }
    });
    std::this_thread::sleep_for(1us * (random() % 30'000));
    ::kill(writer, SIGKILL);
    waitForProcess(writer);

    auto store = cantFail(DirectoryStore::open(directory.path()));
    for (int i = 0; i < numKeys; ++i) {
      std::string name = std::to_string(i);
      EntryPtr entry = cantFail(store->lookup(makeKey(name)));
      EXPECT_TRUE(!entry || isEntry(*entry, name));
      numFound += entry != nullptr;
      // What is missing can be stored.
      entry = cantFail(store->insert(makeKey(name), makeEntryPtr(name)));
      EXPECT_TRUE(isEntry(*entry, name));
    }
    EXPECT_EQ(store->stats().quarantined.get(), 0u);
  }
  EXPECT_GT(numFound, 0);
  // One entry at a time is being written, and one removed.
  EXPECT_LE(countNames(directory.path("cache/v1/tmp")), 2u * 40);

  // What the dead left goes when it is old.
  DirectoryOptions options;
  options.staleAfter = 0s;
  auto store = cantFail(DirectoryStore::open(directory.path(), options));
  cantFail(store->prune({}));
  EXPECT_EQ(countNames(directory.path("cache/v1/tmp")), 0u);
}

/// A limit on the size of files stands for a full disk: a write fails half way.
TEST_F(ProcessTest, AWriteThatFailsLeavesNothing) {
  pid_t child = startProcess([&] {
    struct rlimit limit = {2000, 2000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    CacheOptions given = options();
    int numWarnings = 0;
    given.warn = [&](StringRef message) {
      numWarnings += message.contains("cannot be written: File too large");
    };
    Cache cache(given);
    for (const char *name : {"1", "2"}) {
      Entry large;
      large.addFile("kernel.ptx", std::string(5000, 'x'));
      EntryPtr entry = cache.insert(makeKey(name), large);
      if (entry->file("kernel.ptx")->size() != 5000)
        return 1;
    }
    cache.insert(makeKey("small"), makeEntry("small"));
    return numWarnings == 1 ? 0 : 2;
  });
  EXPECT_EQ(waitForProcess(child), 0);
  auto store = cantFail(DirectoryStore::open(directory.path()));
  EXPECT_EQ(cantFail(store->names()),
            std::vector<Digest>{makeKey("small").digest()});
  EXPECT_EQ(countNames(directory.path("cache/v1/tmp")), 0u);
}
