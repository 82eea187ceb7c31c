//===- DirectoryStoreTest.cpp - Artifacts on disk -------------------------===//

#include "TestSupport.h"

#include "llvm/Support/Path.h"

#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;
using namespace std::chrono_literals;

namespace {

class DirectoryStoreTest : public testing::Test {
protected:
  std::unique_ptr<DirectoryStore> open(DirectoryOptions options = {}) {
    return cantFail(DirectoryStore::open(directory.path(), options));
  }

  /// Stores what `makeEntry(name)` makes; returns its directory.
  static std::string put(DirectoryStore &store, StringRef name) {
    cantFail(store.insert(makeKey(name), makeEntryPtr(name)));
    return store.pathOf(makeKey(name).digest());
  }

  static bool has(DirectoryStore &store, StringRef name) {
    EntryPtr entry = cantFail(store.lookup(makeKey(name)));
    EXPECT_TRUE(!entry || isEntry(*entry, name));
    return entry != nullptr;
  }

  /// Looks up what was damaged: an error that holds `reason`, then a miss, then
  /// room for a new entry.
  static void expectDamage(DirectoryStore &store, StringRef name,
                           StringRef reason) {
    uint64_t before = store.stats().quarantined.get();
    std::string message = messageOf(store.lookup(makeKey(name)));
    EXPECT_TRUE(contains(message, reason)) << message;
    EXPECT_EQ(store.stats().quarantined.get(), before + 1);
    EXPECT_FALSE(has(store, name));
  }

  TemporaryDirectory directory;
};

/// Sets when an entry was last used.
void setLastUse(const std::string &path, std::chrono::seconds ago) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= ago.count();
  struct timespec times[2] = {now, now};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

} // namespace

TEST_F(DirectoryStoreTest, RoundTrip) {
  auto store = open();
  EXPECT_FALSE(has(*store, "k"));
  std::string path = put(*store, "k");
  EXPECT_TRUE(has(*store, "k"));
  EXPECT_TRUE(has(*open(), "k"));

  // A person finds the files.
  EXPECT_EQ(readText(path + "/kernel.ptx"), "ptx of k");
  EXPECT_EQ(cantFail(store->lookup(makeKey("k")))->directory, path);
  EXPECT_EQ(path, directory.path("cache/v1/") +
                      makeKey("k").hex().substr(0, 2) + "/" +
                      makeKey("k").hex());
  EXPECT_EQ(store->stats().hits.get(), 2u);
  EXPECT_EQ(store->stats().misses.get(), 1u);
  EXPECT_EQ(store->stats().inserted.get(), 1u);
  EXPECT_EQ(countNames(directory.path("cache/v1/tmp")), 0u);
}

TEST_F(DirectoryStoreTest, EmptyEntriesAndFilesAreKept) {
  auto store = open();
  auto entry = std::make_shared<Entry>();
  cantFail(store->insert(makeKey("none"), entry));
  EXPECT_EQ(cantFail(store->lookup(makeKey("none")))->files().size(), 0u);
  entry = std::make_shared<Entry>();
  entry->addFile("empty", "");
  cantFail(store->insert(makeKey("empty"), entry));
  EXPECT_EQ(cantFail(store->lookup(makeKey("empty")))->file("empty"),
            StringRef());
}

TEST_F(DirectoryStoreTest, IsForThisUserAlone) {
  std::string path = put(*open(), "k");
  for (std::string name : {directory.path(), directory.path("cache/v1"), path,
                           path + "/kernel.ptx", path + "/manifest.json"}) {
    struct stat status;
    ASSERT_EQ(::stat(name.c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 077, 0u) << name;
  }
}

/// Nothing in the directory says where it is.
TEST_F(DirectoryStoreTest, CanBeMoved) {
  put(*open(), "k");
  ASSERT_EQ(::rename(directory.path().c_str(), directory.path("b").c_str()), 0);
  EXPECT_TRUE(has(*cantFail(DirectoryStore::open(directory.path("b"))), "k"));
}

//===----------------------------------------------------------------------===//
// Damage
//===----------------------------------------------------------------------===//

TEST_F(DirectoryStoreTest, EveryFlippedByteIsFound) {
  auto store = open();
  std::string path = put(*store, "k");
  Files files = readDirectory(path);
  ASSERT_EQ(files.size(), 3u);
  uint64_t numDamaged = 0;
  for (const auto &[name, bytes] : files)
    for (size_t i = 0; i < bytes.size(); ++i) {
      Files damaged = files;
      damaged[name][i] ^= char(1 << (i % 8));
      writeDirectory(path, damaged);
      EXPECT_FALSE(messageOf(store->lookup(makeKey("k"))).empty());
      EXPECT_EQ(store->stats().quarantined.get(), ++numDamaged);
      EXPECT_FALSE(sys::fs::exists(path));
    }
  writeDirectory(path, files);
  EXPECT_TRUE(has(*store, "k"));
}

TEST_F(DirectoryStoreTest, EveryOtherLengthIsFound) {
  auto store = open();
  std::string path = put(*store, "k");
  Files files = readDirectory(path);
  uint64_t numDamaged = 0;
  for (const auto &[name, bytes] : files) {
    for (size_t length = 0; length <= bytes.size(); ++length) {
      Files damaged = files;
      damaged[name].resize(length);
      if (length == bytes.size())
        damaged[name] += '\n';
      writeDirectory(path, damaged);
      EXPECT_FALSE(messageOf(store->lookup(makeKey("k"))).empty());
      EXPECT_EQ(store->stats().quarantined.get(), ++numDamaged);
    }
    Files damaged = files;
    damaged.erase(name);
    writeDirectory(path, damaged);
    expectDamage(*store, "k", "cannot read `" + name + "`");
    ++numDamaged;
  }
}

TEST_F(DirectoryStoreTest, ADamagedEntryCanBeReplaced) {
  auto store = open();
  std::string path = put(*store, "k");
  writeText(path + "/kernel.ptx", "ptx of x");
  // Without a look-up before: the writer finds the damage itself.
  put(*store, "k");
  EXPECT_TRUE(has(*store, "k"));
  EXPECT_EQ(store->stats().quarantined.get(), 1u);
  EXPECT_EQ(countNames(directory.path("cache/v1/quarantine")), 1u);
}

TEST_F(DirectoryStoreTest, FilesOfAnotherEntryAreFound) {
  auto store = open();
  Files first = readDirectory(put(*store, "1"));
  std::string path = put(*store, "2");
  Files second = readDirectory(path);
  for (const auto &[name, bytes] : first) {
    Files mixed = second;
    mixed[name] = bytes;
    ASSERT_EQ(mixed[name].size(), second[name].size());
    writeDirectory(path, mixed);
    expectDamage(*store, "2", "");
  }
  writeDirectory(path, first);
  expectDamage(*store, "2", "another key");
}

TEST_F(DirectoryStoreTest, FilesOfTheSameEntryAreNotExchanged) {
  auto store = open();
  std::string path = put(*store, "k");
  Files files = readDirectory(path);
  std::swap(files["kernel.ptx"], files["kernel.cubin"]);
  writeDirectory(path, files);
  expectDamage(*store, "k", "kernel.cubin");
}

TEST_F(DirectoryStoreTest, FilesThatNobodyVouchesForAreFound) {
  auto store = open();
  std::string path = put(*store, "k");
  writeText(path + "/kernel_lib.so", "code");
  expectDamage(*store, "k",
               "`kernel_lib.so`, which its manifest does not name");
}

TEST_F(DirectoryStoreTest, SymbolicLinksAreNotFollowed) {
  auto store = open();
  std::string target = directory.path("target");
  for (const char *name : {"kernel.ptx", "manifest.json"}) {
    std::string path = put(*store, "k") + "/" + name;
    // The link leads to the right bytes.
    writeText(target, readText(path));
    ASSERT_EQ(::unlink(path.c_str()), 0);
    ASSERT_EQ(::symlink(target.c_str(), path.c_str()), 0);
    expectDamage(*store, "k", name);
  }
  std::string path = put(*store, "k");
  std::string moved = directory.path("moved");
  ASSERT_EQ(::rename(path.c_str(), moved.c_str()), 0);
  ASSERT_EQ(::symlink(moved.c_str(), path.c_str()), 0);
  expectDamage(*store, "k", "cannot be opened");
}

/// Opening a pipe must not wait for its writer.
TEST_F(DirectoryStoreTest, OnlyPlainFilesAreRead) {
  auto store = open();
  std::string path = put(*store, "k") + "/kernel.ptx";
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  expectDamage(*store, "k", "kernel.ptx");

  path = put(*store, "k") + "/kernel.ptx";
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  expectDamage(*store, "k", "kernel.ptx");

  path = put(*store, "k");
  ASSERT_FALSE(sys::fs::remove_directories(path));
  writeText(path, "not a directory");
  expectDamage(*store, "k", "cannot be opened");
}

TEST_F(DirectoryStoreTest, VerifySaysWhatIsWrong) {
  auto store = open();
  std::string path = put(*store, "k");
  Digest name = makeKey("k").digest();
  EXPECT_FALSE(bool(store->verify(name)));
  writeText(path + "/kernel.ptx", "ptx of x");
  std::string message = messageOf(store->verify(name));
  EXPECT_TRUE(contains(message, "`kernel.ptx` does not match its digest"));
  EXPECT_TRUE(contains(message, path));
  EXPECT_TRUE(contains(messageOf(store->verify(name)), "holds no entry"));
}

//===----------------------------------------------------------------------===//
// Directories that cannot be used
//===----------------------------------------------------------------------===//

TEST_F(DirectoryStoreTest, AFileInItsPlaceIsRefused) {
  writeText(directory.path(), "");
  EXPECT_TRUE(contains(messageOf(DirectoryStore::open(directory.path())),
                       "is not a directory"));
  EXPECT_FALSE(
      messageOf(DirectoryStore::open(directory.path() + "/below")).empty());
}

/// Whoever cannot write still reads. The superuser always can, so a file stands
/// where entries would be written.
TEST_F(DirectoryStoreTest, ReadsWithoutBeingAbleToWrite) {
  put(*open(), "k");
  std::string tmp = directory.path("cache/v1/tmp");
  ASSERT_EQ(::rmdir(tmp.c_str()), 0);
  writeText(tmp, "");
  auto store = open();
  EXPECT_TRUE(has(*store, "k"));
  EXPECT_TRUE(
      contains(messageOf(store->insert(makeKey("new"), makeEntryPtr("new"))),
               "tmp`: is not a directory"));
  EXPECT_FALSE(has(*store, "new"));
}

TEST_F(DirectoryStoreTest, ACacheThatIsRemovedIsMadeAgain) {
  auto store = open();
  put(*store, "k");
  ASSERT_FALSE(sys::fs::remove_directories(directory.path()));
  EXPECT_FALSE(has(*store, "k"));
  EXPECT_NE(cantFail(store->lock(makeKey("k"), 0ms)), nullptr);
  ASSERT_FALSE(sys::fs::remove_directories(directory.path()));
  put(*store, "k");
  EXPECT_TRUE(has(*store, "k"));
}

TEST_F(DirectoryStoreTest, UsesNothingOfOtherVersions) {
  std::string path = put(*open(), "k");
  ASSERT_EQ(::rename(directory.path("cache/v1").c_str(),
                     directory.path("cache/v2").c_str()),
            0);
  EXPECT_FALSE(has(*open(), "k"));
  EXPECT_TRUE(sys::fs::exists(directory.path("cache/v2")));
}

//===----------------------------------------------------------------------===//
// Writers and readers at once
//===----------------------------------------------------------------------===//

TEST_F(DirectoryStoreTest, TheLoserOfARaceUsesTheWinners) {
  auto first = open(), second = open();
  EntryPtr theirs =
      cantFail(first->insert(makeKey("k"), makeEntryPtr("theirs")));
  EntryPtr held = cantFail(second->insert(makeKey("k"), makeEntryPtr("ours")));
  EXPECT_TRUE(isEntry(*held, "theirs"));
  EXPECT_EQ(second->stats().inserted.get(), 0u);
  EXPECT_EQ(countNames(directory.path("cache/v1/tmp")), 0u);
}

TEST_F(DirectoryStoreTest, WritersThatRaceAgree) {
  for (int round = 0; round < 10; ++round) {
    Key key = makeKey(std::to_string(round));
    constexpr int numWriters = 8;
    EntryPtr held[numWriters];
    std::vector<std::thread> writers;
    for (int i = 0; i < numWriters; ++i)
      writers.emplace_back([&, i] {
        auto store = open();
        held[i] = cantFail(store->insert(key, makeEntryPtr(std::to_string(i))));
      });
    for (std::thread &writer : writers)
      writer.join();
    EntryPtr stored = cantFail(open()->lookup(key));
    ASSERT_NE(stored, nullptr);
    for (const EntryPtr &entry : held)
      EXPECT_EQ(entry->metadata(), stored->metadata());
  }
  EXPECT_EQ(countNames(directory.path("cache/v1/tmp")), 0u);
  EXPECT_EQ(countNames(directory.path("cache/v1/quarantine")), 0u);
}

/// The file of a lock comes and goes with its holders, and still there is one
/// holder at a time.
TEST_F(DirectoryStoreTest, ALockHasOneHolder) {
  auto store = open();
  std::atomic<int> numHolders = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        auto lock = cantFail(store->lock(makeKey("k"), 1min));
        EXPECT_EQ(++numHolders, 1);
        std::this_thread::yield();
        --numHolders;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(countNames(directory.path("cache/v1/locks")), 0u);
}

/// Readers, writers and pruning on the same few keys: entries come and go, and
/// none is ever wrong or taken for damaged.
TEST_F(DirectoryStoreTest, ReadersHaveAllOfAnEntryOrMiss) {
  auto store = open();
  std::atomic<bool> stop = false;
  std::atomic<int> numHits = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; !stop; ++i)
        numHits += has(*store, std::to_string(i % 4));
    });
  threads.emplace_back([&] {
    while (!stop)
      cantFail(store->prune({.maxBytes = 0, .maxAge = {}}));
  });
  for (int i = 0; i < 60; ++i)
    put(*store, std::to_string(i % 4));
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(numHits, 0);
  EXPECT_EQ(store->stats().quarantined.get(), 0u);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

TEST_F(DirectoryStoreTest, PruneDropsTheLeastRecentlyUsed) {
  auto store = open();
  for (int i = 0; i < 6; ++i)
    setLastUse(put(*store, std::to_string(i)), 1h * (i + 1));
  uint64_t total = cantFail(store->totalSize());
  ASSERT_EQ(total % 6, 0u);

  // A hit makes the oldest the newest.
  EXPECT_TRUE(has(*store, "5"));
  PruneResult result =
      cantFail(store->prune({.maxBytes = total / 2, .maxAge = {}}));
  EXPECT_EQ(result.removedEntries, 3u);
  EXPECT_EQ(result.removedBytes, total / 2);
  EXPECT_EQ(result.remainingEntries, 3u);
  EXPECT_EQ(result.remainingBytes, total / 2);
  EXPECT_EQ(cantFail(store->totalSize()), total / 2);
  for (const char *name : {"0", "1", "5"})
    EXPECT_TRUE(has(*store, name)) << name;
  for (const char *name : {"2", "3", "4"})
    EXPECT_FALSE(has(*store, name)) << name;
}

TEST_F(DirectoryStoreTest, PruneDropsWhatIsOld) {
  auto store = open();
  setLastUse(put(*store, "old"), 3h);
  setLastUse(put(*store, "new"), 1h);
  cantFail(store->prune({.maxBytes = {}, .maxAge = 2h}));
  EXPECT_FALSE(has(*store, "old"));
  EXPECT_TRUE(has(*store, "new"));
}

/// So that a directory which does not fill does not keep everything for ever.
TEST_F(DirectoryStoreTest, TheFirstInsertionDropsWhatIsOld) {
  setLastUse(put(*open(), "old"), 3h);
  setLastUse(put(*open(), "new"), 1h);
  DirectoryOptions options;
  options.limits.maxAge = 2h;
  put(*open(options), "k");
  EXPECT_FALSE(has(*open(), "old"));
  EXPECT_TRUE(has(*open(), "new"));
  EXPECT_TRUE(has(*open(), "k"));
}

TEST_F(DirectoryStoreTest, AHitIsNotedAtMostOnceAMinute) {
  auto store = open();
  std::string path = put(*store, "k");
  setLastUse(path, 30s);
  auto lastUse = cantFail(store->info(makeKey("k").digest())).lastUse;
  EXPECT_TRUE(has(*store, "k"));
  EXPECT_EQ(cantFail(store->info(makeKey("k").digest())).lastUse, lastUse);
  setLastUse(path, 90s);
  EXPECT_TRUE(has(*store, "k"));
  EXPECT_GT(cantFail(store->info(makeKey("k").digest())).lastUse, lastUse);
}

TEST_F(DirectoryStoreTest, InsertionsKeepTheBound) {
  setLastUse(put(*open(), "000"), 2h);
  uint64_t size = cantFail(open()->totalSize());
  DirectoryOptions options;
  options.limits.maxBytes = 20 * size;
  auto store = open(options);
  for (int i = 100; i < 200; ++i) {
    std::string path = put(*store, std::to_string(i));
    // The clock of a file system may be coarser than our pace.
    setLastUse(path, 1h - 1s * i);
    EXPECT_LE(cantFail(store->totalSize()), 20 * size);
  }
  // Room is used, and what is left are the last ones.
  EXPECT_GE(cantFail(store->totalSize()), 18 * size);
  EXPECT_FALSE(has(*store, "000"));
  for (int i = 182; i < 200; ++i)
    EXPECT_TRUE(has(*store, std::to_string(i)));
}

/// A total that was cut short, or holds something else, is measured again.
TEST_F(DirectoryStoreTest, TheBoundHoldsWithoutTheRunningTotal) {
  put(*open(), "0");
  uint64_t size = cantFail(open()->totalSize());
  DirectoryOptions options;
  options.limits.maxBytes = 3 * size;
  auto store = open(options);
  for (StringRef text : {"", "0\n", "garbage\n", "measured ", "measured 1"}) {
    cantFail(store->clear());
    for (int i = 0; i < 5; ++i) {
      writeText(directory.path("cache/v1/usage"), text);
      put(*store, std::to_string(i));
      EXPECT_LE(cantFail(store->totalSize()), 3 * size) << text.str();
    }
  }
}

TEST_F(DirectoryStoreTest, WhatTheDeadLeftIsRemoved) {
  put(*open(), "k");
  std::string oldStage = directory.path("cache/v1/tmp/1-dead");
  std::string newStage = directory.path("cache/v1/tmp/2-alive");
  for (const std::string &stage : {oldStage, newStage})
    writeDirectory(stage, {{"kernel.ptx", "half"}});
  std::string oldLock = directory.path("cache/v1/locks/dead");
  writeText(oldLock, "");
  setLastUse(oldStage, 2h);
  setLastUse(oldLock, 2h);
  put(*open(), "other");
  EXPECT_FALSE(sys::fs::exists(oldStage));
  EXPECT_FALSE(sys::fs::exists(oldLock));
  EXPECT_TRUE(sys::fs::exists(newStage));
}

//===----------------------------------------------------------------------===//
// Looking
//===----------------------------------------------------------------------===//

TEST_F(DirectoryStoreTest, ListsItsEntries) {
  auto store = open();
  EXPECT_TRUE(cantFail(store->list()).empty());
  put(*store, "1");
  put(*store, "2");
  writeText(put(*store, "damaged") + "/manifest.json", "{}");
  std::vector<EntryInfo> entries = cantFail(store->list());
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_LT(entries[0].manifest.key.digest(), entries[1].manifest.key.digest());
  EXPECT_EQ(cantFail(store->names()).size(), 3u);

  EntryInfo info = cantFail(store->info(makeKey("2").digest()));
  EXPECT_EQ(info.manifest.metadata.getString("made_for"), StringRef("2"));
  EXPECT_EQ(info.manifest.key.components()[0].value, "2");
  uint64_t size = 0;
  for (const auto &[name, bytes] :
       readDirectory(store->pathOf(makeKey("2").digest())))
    size += bytes.size();
  EXPECT_EQ(info.size, size);
}

TEST_F(DirectoryStoreTest, FindsByTheBeginningOfAName) {
  auto store = open();
  EXPECT_TRUE(contains(messageOf(store->find("")), "holds no entry"));
  put(*store, "1");
  EXPECT_EQ(cantFail(store->find("")), makeKey("1").digest());
  put(*store, "2");
  EXPECT_TRUE(contains(messageOf(store->find("")), "holds 2 entries"));
  EXPECT_EQ(cantFail(store->find(makeKey("2").hex())), makeKey("2").digest());
  EXPECT_TRUE(contains(messageOf(store->find("xyz")), "holds no entry `xyz`"));
}

TEST_F(DirectoryStoreTest, NearestDiffersLeast) {
  auto store = open();
  auto put = [&](StringRef kernel, StringRef target, StringRef tool) {
    Key key = KeyBuilder()
                  .add("kernel", kernel)
                  .add("target", target)
                  .add("tool", tool)
                  .build();
    cantFail(store->insert(key, makeEntryPtr("x")));
    return key;
  };
  Key key = put("a", "sm_90a", "13.0");
  EXPECT_TRUE(contains(messageOf(store->nearest(key)), "no entry to compare"));
  put("b", "sm_80", "13.0");
  Key near = put("a", "sm_90a", "13.1");
  put("c", "sm_80", "13.1");
  EXPECT_EQ(cantFail(store->nearest(key)).manifest.key.digest(), near.digest());
  Key nearAndRecent = put("a", "sm_90a", "13.2");
  setLastUse(store->pathOf(near.digest()), 1h);
  EXPECT_EQ(cantFail(store->nearest(key)).manifest.key.digest(),
            nearAndRecent.digest());
}

TEST_F(DirectoryStoreTest, RemoveAndClear) {
  auto store = open();
  for (const char *name : {"1", "2", "3"})
    put(*store, name);
  cantFail(store->remove(makeKey("1").digest()));
  cantFail(store->remove(makeKey("1").digest()));
  EXPECT_FALSE(has(*store, "1"));
  EXPECT_TRUE(has(*store, "2"));
  EXPECT_EQ(cantFail(store->clear()), 2u);
  EXPECT_EQ(cantFail(store->totalSize()), 0u);
  EXPECT_EQ(countNames(directory.path("cache/v1/tmp")), 0u);
}

TEST(DefaultDirectoryTest, IsWhereTheEnvironmentSays) {
  ::setenv("HOME", "/home/someone", 1);
  ::setenv("TL_CACHE_DIR", "/somewhere", 1);
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(cantFail(defaultDirectory()), "/somewhere");
  ::setenv("TL_CACHE_DIR", "", 1);
  EXPECT_EQ(cantFail(defaultDirectory()), "/xdg/tilec");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(cantFail(defaultDirectory()), "/home/someone/.cache/tilec");
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cantFail(defaultDirectory()), "/home/someone/.cache/tilec");
}
