//===- CacheTest.cpp - Every artifact is made once ------------------------===//

#include "TestSupport.h"

#include <thread>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;
using namespace std::chrono_literals;

namespace {

class CacheTest : public testing::Test {
protected:
  CacheOptions options() {
    CacheOptions result;
    result.directory = directory.path();
    result.warn = [this](StringRef message) {
      std::lock_guard<std::mutex> guard(mutex);
      warnings.push_back(message.str());
    };
    return result;
  }

  /// Makes the artifact, and counts.
  Expected<Entry> make(StringRef name) {
    ++numMade;
    std::this_thread::sleep_for(20ms);
    return makeEntry(name);
  }

  Fetched fetch(Cache &cache, StringRef name) {
    return cantFail(cache.withKey(makeKey(name), [&] { return make(name); }));
  }

  TemporaryDirectory directory;
  std::mutex mutex;
  std::vector<std::string> warnings;
  std::atomic<int> numMade = 0;
};

} // namespace

TEST_F(CacheTest, MakesThenFinds) {
  Cache cache(options());
  Fetched fetched = fetch(cache, "k");
  EXPECT_EQ(fetched.origin, Origin::Made);
  EXPECT_EQ(fetched.entry->directory,
            cantFail(cache.directory())->pathOf(makeKey("k").digest()));
  EXPECT_EQ(fetch(cache, "k").origin, Origin::Stored);
  Cache other(options());
  EXPECT_EQ(fetch(other, "k").origin, Origin::Stored);
  EXPECT_EQ(numMade, 1);
  EXPECT_EQ(cache.stats().made.get(), 1u);
  EXPECT_EQ(cache.stats().stored.get(), 1u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(CacheTest, ClearForgets) {
  Cache cache(options());
  fetch(cache, "k");
  cantFail(cache.clear());
  EXPECT_EQ(cache.lookup(makeKey("k")), nullptr);
  EXPECT_EQ(fetch(cache, "k").origin, Origin::Made);
}

TEST_F(CacheTest, ADamagedEntryIsMadeAgain) {
  {
    Cache cache(options());
    fetch(cache, "k");
    writeText(cantFail(cache.directory())->pathOf(makeKey("k").digest()) +
                  "/kernel.ptx",
              "ptx of x");
  }
  Cache cache(options());
  Fetched fetched = fetch(cache, "k");
  EXPECT_TRUE(isEntry(*fetched.entry, "k"));
  EXPECT_EQ(fetched.origin, Origin::Made);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "`kernel.ptx` does not match its digest"));
}

TEST_F(CacheTest, ThreadsMakeAKeyOnce) {
  Cache cache(options());
  std::atomic<int> numShared = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      Fetched fetched = fetch(cache, "k");
      EXPECT_TRUE(isEntry(*fetched.entry, "k"));
      numShared += fetched.origin != Origin::Made;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numMade, 1);
  EXPECT_EQ(numShared, 15);
}

/// What a thread took from a stranger for a GPU is nothing for another that
/// compiles it further.
TEST_F(CacheTest, WhoFollowsGetsNothingThatItMayNotUse) {
  Cache cache(options());
  std::atomic<bool> isMaking = false;
  std::thread leader([&] {
    cantFail(cache.withKey(makeKey("k"), [&]() -> Expected<Entry> {
      isMaking = true;
      std::this_thread::sleep_for(200ms);
      Entry entry = makeEntry("stranger");
      entry.trust = Trust::Allowed;
      entry.mayBeKept = false;
      return entry;
    }));
  });
  while (!isMaking)
    std::this_thread::yield();
  Fetched fetched = cantFail(cache.withKey(
      makeKey("k"), [&] { return make("own"); }, {}, Use::Compile));
  leader.join();
  EXPECT_TRUE(isEntry(*fetched.entry, "own"));
  EXPECT_EQ(numMade, 1);
}

/// The same through caches that share only the directory, as processes do.
TEST_F(CacheTest, CachesOfOneDirectoryMakeAKeyOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&] {
      Cache cache(options());
      EXPECT_TRUE(isEntry(*fetch(cache, "k").entry, "k"));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(numMade, 1);
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(countNames(directory.path("cache/v1/locks")), 0u);
}

TEST_F(CacheTest, DifferentKeysAreMadeAtOnce) {
  Cache cache(options());
  std::mutex mutex;
  std::condition_variable arrived;
  int numThere = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      // No one returns before all are in here.
      auto meet = [&]() -> Expected<Entry> {
        std::unique_lock<std::mutex> guard(mutex);
        ++numThere;
        arrived.notify_all();
        EXPECT_TRUE(
            arrived.wait_for(guard, 10s, [&] { return numThere == 4; }));
        return makeEntry("x");
      };
      cantFail(cache.withKey(makeKey(std::to_string(i)), meet));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(CacheTest, AFailureIsSharedAndNotKept) {
  Cache cache(options());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      std::string message =
          messageOf(cache.withKey(makeKey("k"), [&]() -> Expected<Entry> {
            ++numMade;
            std::this_thread::sleep_for(200ms);
            return createStringError("`ptxas` failed");
          }));
      EXPECT_EQ(message, "`ptxas` failed");
    });
  for (std::thread &thread : threads)
    thread.join();
  // A thread may come too late to wait for the others.
  EXPECT_LT(numMade, 4);
  EXPECT_EQ(cache.stats().failed.get(), 4u);
  EXPECT_EQ(fetch(cache, "k").origin, Origin::Made);
}

/// To wait for oneself would be to wait for ever.
TEST_F(CacheTest, AKeyMayAskForItself) {
  Cache cache(options());
  Fetched fetched =
      cantFail(cache.withKey(makeKey("k"), [&]() -> Expected<Entry> {
        return *fetch(cache, "k").entry;
      }));
  EXPECT_TRUE(isEntry(*fetched.entry, "k"));
  EXPECT_EQ(numMade, 1);
}

TEST_F(CacheTest, WaitingEnds) {
  CacheOptions impatient = options();
  impatient.waitAtMost = 50ms;
  Cache cache(impatient);
  // Somebody holds the lock and does not let go.
  auto other = cantFail(DirectoryStore::open(directory.path()));
  auto lock = cantFail(other->lock(makeKey("k"), 0ms));
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(fetch(cache, "k").origin, Origin::Made);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "another process has held this lock"));
}

TEST_F(CacheTest, AFollowerDoesNotWaitForEver) {
  CacheOptions impatient = options();
  impatient.waitAtMost = 50ms;
  Cache cache(impatient);
  std::mutex mutex;
  mutex.lock();
  std::atomic<bool> isMaking = false;
  std::thread leader([&] {
    cantFail(cache.withKey(makeKey("k"), [&]() -> Expected<Entry> {
      isMaking = true;
      std::lock_guard<std::mutex> stuck(mutex);
      return makeEntry("k");
    }));
  });
  while (!isMaking)
    std::this_thread::yield();
  EXPECT_EQ(fetch(cache, "k").origin, Origin::Made);
  mutex.unlock();
  leader.join();
}

TEST_F(CacheTest, LocksThatDoNotWorkCostWorkAlone) {
  ASSERT_FALSE(sys::fs::create_directories(directory.path("cache/v1")));
  writeText(directory.path("cache/v1/locks"), "");
  Cache cache(options());
  EXPECT_EQ(fetch(cache, "1").origin, Origin::Made);
  EXPECT_EQ(fetch(cache, "2").origin, Origin::Made);
  EXPECT_EQ(fetch(cache, "1").origin, Origin::Stored);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "locks`: is not a directory"));
}

TEST_F(CacheTest, WorksWithoutItsDirectory) {
  writeText(directory.path(), "a file");
  Cache cache(options());
  EXPECT_EQ(fetch(cache, "k").origin, Origin::Made);
  EXPECT_EQ(fetch(cache, "k").origin, Origin::Stored);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "is not a directory"));
  EXPECT_EQ(messageOf(cache.directory()), warnings[0]);
}
