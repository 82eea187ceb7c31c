//===- FleetTest.cpp - Many processes on one directory --------------------===//
//
// 64 processes, as a launcher of distributed programs starts them at once.
// Artifacts take a while to make and cost no processor time, so that what is
// measured is the cache.
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "Tracer.h"

#include "llvm/ADT/StringExtras.h"

#include <random>

#include <csignal>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int numProcesses = 64;

/// Has a system call fail in this process from now on. False if that cannot be
/// had here.
bool deny(int number, int error) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | uint32_t(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {std::size(code), code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// Whether the file system has locks.
enum class Locks { Work, Fail };

class FleetTest : public testing::TestWithParam<Locks> {
protected:
  void SetUp() override {
    pid_t child = startProcess([] { return deny(SYS_flock, ENOLCK) ? 0 : 1; });
    if (waitForProcess(child) != 0 && GetParam() == Locks::Fail)
      GTEST_SKIP() << "system calls cannot be denied here";
  }

  /// Starts processes that wait for each other, runs `body(i)` in each, and
  /// returns the seconds from their start to the end of the last.
  double runAll(int number, function_ref<int(int)> body) {
    Tally ready(directory.path("ready"));
    std::string go = directory.path("go");
    std::vector<pid_t> children;
    for (int i = 0; i < number; ++i)
      children.push_back(startProcess([&] {
        if (GetParam() == Locks::Fail && !deny(SYS_flock, ENOLCK))
          return 96;
        ready.add();
        while (::access(go.c_str(), F_OK) != 0)
          std::this_thread::sleep_for(1ms);
        return body(i);
      }));
    ready.waitFor(number);
    auto start = Clock::now();
    writeText(go, "");
    for (pid_t child : children)
      EXPECT_EQ(waitForProcess(child), 0);
    return secondsSince(start);
  }

  CacheOptions options() {
    CacheOptions result;
    result.directory = directory.path();
    result.warn = [](StringRef message) { errs() << message << '\n'; };
    return result;
  }

  /// Asks for an artifact; 0 if it is right.
  int fetch(Cache &cache, const std::string &name,
            std::chrono::milliseconds work = 0ms) {
    Fetched fetched =
        cantFail(cache.withKey(makeKey(name), [&]() -> Expected<Entry> {
          made.add();
          std::this_thread::sleep_for(work);
          return makeEntry(name);
        }));
    return isEntry(*fetched.entry, name) ? 0 : 1;
  }

  TemporaryDirectory directory;
  Tally made{directory.path("made")};
};

INSTANTIATE_TEST_SUITE_P(Locks, FleetTest,
                         testing::Values(Locks::Work, Locks::Fail),
                         [](const auto &info) {
                           return info.param == Locks::Work ? "Work" : "Fail";
                         });

} // namespace

TEST_P(FleetTest, ProcessesThatStartColdMakeAKeyOnce) {
  constexpr auto work = 1500ms;
  double seconds = runAll(numProcesses, [&](int) {
    Cache cache(options());
    return fetch(cache, "k", work);
  });
  if (GetParam() == Locks::Work)
    EXPECT_EQ(made.count(), 1u);
  else
    EXPECT_LE(made.count(), 2u);
  if (!isInstrumented)
    EXPECT_LE(seconds, 1.2 * std::chrono::duration<double>(work).count());
}

TEST_P(FleetTest, ProcessesShareManyKeys) {
  constexpr int numKeys = 200;
  runAll(numProcesses, [&](int process) {
    Cache cache(options());
    // Each in its own order, so that they meet everywhere.
    std::vector<int> keys(numKeys);
    std::iota(keys.begin(), keys.end(), 0);
    std::shuffle(keys.begin(), keys.end(), std::mt19937(process));
    int numWrong = 0;
    for (int key : keys)
      numWrong += fetch(cache, std::to_string(key));
    return numWrong;
  });
  if (GetParam() == Locks::Work)
    EXPECT_EQ(made.count(), uint64_t(numKeys));
  else
    EXPECT_LE(made.count(), 2u * numKeys);
  auto store = cantFail(DirectoryStore::open(directory.path()));
  EXPECT_EQ(cantFail(store->list()).size(), size_t(numKeys));
  for (const char *part : {"tmp", "quarantine"})
    EXPECT_EQ(countNames(directory.path("cache/v1/") + part), 0u) << part;
}

/// Entries are removed all the time while processes make, find and hold them.
TEST_P(FleetTest, PruningDisturbsNobody) {
  constexpr int numKeys = 64, numRounds = 3;
  Tally finished(directory.path("finished"));
  runAll(numProcesses + 1, [&](int process) {
    if (process == numProcesses) {
      auto store = cantFail(DirectoryStore::open(directory.path()));
      while (finished.count() < numProcesses) {
        uint64_t size = cantFail(store->totalSize());
        cantFail(store->prune({.maxBytes = size / 2, .maxAge = {}}));
      }
      return 0;
    }
    auto store = cantFail(DirectoryStore::open(directory.path()));
    // What is held stays as it is, whatever becomes of the directory.
    EntryPtr held =
        cantFail(store->insert(makeKey("held"), makeEntryPtr("held")));
    int numWrong = 0;
    for (int round = 0; round < numRounds; ++round) {
      // A new cache has nothing in memory.
      Cache cache(options());
      for (int i = 0; i < numKeys; ++i)
        numWrong += fetch(cache, std::to_string((i + process) % numKeys));
      numWrong += isEntry(*held, "held") ? 0 : 1;
    }
    finished.add();
    return numWrong;
  });
  EXPECT_EQ(countNames(directory.path("cache/v1/quarantine")), 0u);
}

/// Somebody removes the whole directory, again and again, under all of them.
TEST_P(FleetTest, RemovingTheDirectoryDisturbsNobody) {
  constexpr int numKeys = 16, numRounds = 3;
  Tally finished(directory.path("finished"));
  runAll(numProcesses + 1, [&](int process) {
    if (process == numProcesses) {
      while (finished.count() < numProcesses) {
        (void)sys::fs::remove_directories(directory.path());
        std::this_thread::sleep_for(5ms);
      }
      return 0;
    }
    CacheOptions quiet = options();
    quiet.warn = [](StringRef) {};
    int numWrong = 0;
    for (int round = 0; round < numRounds; ++round) {
      Cache cache(quiet);
      for (int i = 0; i < numKeys; ++i)
        numWrong += fetch(cache, std::to_string((i + process) % numKeys));
    }
    finished.add();
    return numWrong;
  });
  // The next process finds a directory that works.
  for (uint64_t expected : {1, 0}) {
    uint64_t before = made.count();
    Cache cache(options());
    EXPECT_EQ(fetch(cache, "new"), 0);
    EXPECT_EQ(made.count() - before, expected);
  }
}

TEST_P(FleetTest, OthersGoOnWhenTheLeaderDies) {
  pid_t leader = startProcess([&] {
    if (GetParam() == Locks::Fail && !deny(SYS_flock, ENOLCK))
      return 96;
    Cache cache(options());
    return fetch(cache, "k", 60s);
  });
  made.waitFor(1);
  // No thread, because ThreadSanitizer lets no child of a process with threads
  // start others.
  pid_t killer = startProcess([&] {
    // The others wait for the leader by then.
    std::this_thread::sleep_for(1s);
    return ::kill(leader, SIGKILL);
  });
  double seconds = runAll(8, [&](int) {
    Cache cache(options());
    return fetch(cache, "k");
  });
  EXPECT_EQ(waitForProcess(killer), 0);
  EXPECT_NE(waitForProcess(leader), 0);
  EXPECT_LE(made.count(), GetParam() == Locks::Work ? 2u : 3u);
  // They waited while it lived, and no longer than a second after.
  EXPECT_GE(seconds, 0.9);
  if (!isInstrumented)
    EXPECT_LE(seconds, 2.0);
}

/// A claim that is renewed is not taken over, however long the work takes.
TEST_P(FleetTest, ALeaderThatWorksLongIsWaitedFor) {
  runAll(4, [&](int) {
    Cache cache(options());
    return fetch(cache, "k", 2500ms);
  });
  EXPECT_EQ(made.count(), 1u);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {

/// Moves the times of last use of all entries into the past: time passes.
void passTime(DirectoryStore &store, std::chrono::seconds time) {
  for (const Digest &name : cantFail(store.names())) {
    std::string path = store.pathOf(name);
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    struct timespec past = status.st_mtim;
    past.tv_sec -= time.count();
    struct timespec times[2] = {past, past};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
}

/// The hits that a store of `capacity` entries which always drops the least
/// recently used one would have.
int countIdealHits(ArrayRef<int> trace, size_t capacity) {
  std::vector<int> recent;
  int numHits = 0;
  for (int key : trace) {
    auto found = llvm::find(recent, key);
    if (found != recent.end()) {
      ++numHits;
      recent.erase(found);
    } else if (recent.size() == capacity) {
      recent.erase(recent.begin());
    }
    recent.push_back(key);
  }
  return numHits;
}

/// Keys as they are used in practice: the n-th most frequent is used in
/// proportion to 1/n.
std::vector<int> makeZipfTrace(int numKeys, int length) {
  std::vector<double> weights;
  for (int i = 1; i <= numKeys; ++i)
    weights.push_back(1.0 / i);
  std::discrete_distribution<int> zipf(weights.begin(), weights.end());
  std::mt19937 random(1);
  std::vector<int> trace;
  for (int i = 0; i < length; ++i)
    trace.push_back(zipf(random));
  return trace;
}

std::string nameOfKey(int key) { return std::to_string(1000 + key); }

} // namespace

/// A directory that is given ten times what it may hold, by a trace of uses
/// minutes apart, stays in bounds and serves nearly as much as one that knew
/// exactly which entry was used last.
TEST(BoundTest, ServesNearlyWhatAnIdealOneWould) {
  TemporaryDirectory directory;
  constexpr int capacity = 32, numKeys = 10 * capacity;
  uint64_t size;
  {
    auto probe = cantFail(DirectoryStore::open(directory.path("probe")));
    cantFail(probe->insert(makeKey(nameOfKey(0)), makeEntryPtr(nameOfKey(0))));
    size = cantFail(probe->totalSize());
  }
  DirectoryOptions options;
  options.limits.maxBytes = capacity * size;
  auto store = cantFail(DirectoryStore::open(directory.path(), options));
  std::vector<int> trace = makeZipfTrace(numKeys, 1000);
  int numHits = 0;
  for (int key : trace) {
    std::string name = nameOfKey(key);
    if (EntryPtr entry = cantFail(store->lookup(makeKey(name)))) {
      ++numHits;
      EXPECT_TRUE(isEntry(*entry, name));
    } else {
      cantFail(store->insert(makeKey(name), makeEntryPtr(name)));
    }
    passTime(*store, 2min);
    EXPECT_LE(cantFail(store->names()).size(), size_t(capacity + 1));
  }
  double rate = double(numHits) / trace.size();
  double ideal = double(countIdealHits(trace, capacity)) / trace.size();
  RecordProperty("hit_rate", std::to_string(rate));
  RecordProperty("ideal_hit_rate", std::to_string(ideal));
  // The trace does overflow the directory, and does hit.
  EXPECT_GT(store->stats().evicted.get(), 100u);
  EXPECT_GT(rate, 0.3);
  EXPECT_GE(rate, ideal - 0.02);
}
