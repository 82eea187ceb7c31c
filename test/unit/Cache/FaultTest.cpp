//===- FaultTest.cpp - Whatever fails, nothing is wrong -------------------===//
//
// Every operation of the directory tier is run with a fault at each of its
// system calls in turn: the process is killed, the call fails, the power goes,
// the whole directory disappears. Whoever asks has the right bytes, and the
// next process repairs what is left.
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "Tracer.h"

#include "Files.h"
#include "LeaseFile.h"
#include "tl/Cache/Bundle.h"

#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/syscall.h>
#include <sys/wait.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;
using namespace std::chrono_literals;

namespace {

/// What a process that is tested found, which its exit status tells.
enum Verdict { Right = 0, Wrong = 1, NoReason = 2 };
struct Outcome {
  Verdict verdict = Right;
  int numWarnings = 0;

  int status() const { return verdict * 16 + std::min(numWarnings, 15); }
};

/// Something that a process does with a directory.
struct Operation {
  const char *name;
  /// What is there before.
  std::function<void(const TemporaryDirectory &)> prepare;
  std::function<Outcome(const TemporaryDirectory &)> run;
  /// Warnings that need no fault.
  int numWarnings = 0;

  friend void PrintTo(const Operation &operation, std::ostream *os) {
    *os << operation.name;
  }
};

/// All errors at all system calls take minutes; without this variable each call
/// fails with one error, another at the next.
bool isThorough() { return std::getenv("TL_TEST_THOROUGH") != nullptr; }

std::unique_ptr<DirectoryStore> openStore(const TemporaryDirectory &directory,
                                          DirectoryOptions options = {}) {
  return cantFail(DirectoryStore::open(directory.path(), options));
}

void put(const TemporaryDirectory &directory, StringRef name) {
  cantFail(openStore(directory)->insert(makeKey(name), makeEntryPtr(name)));
}

/// Asks for an artifact as a compiler does. A fault costs work and a warning,
/// never the artifact.
Outcome fetch(const TemporaryDirectory &directory) {
  CacheOptions options;
  options.directory = directory.path();
  int numWarnings = 0;
  options.warn = [&](StringRef) { ++numWarnings; };
  Cache cache(options);
  Expected<Fetched> fetched = cache.withKey(
      makeKey("k"), [&]() -> Expected<Entry> { return makeEntry("k"); });
  if (!fetched || !isEntry(*fetched->entry, "k"))
    return {Wrong, numWarnings};
  return {Right, numWarnings};
}

/// An error has to say something.
Outcome expectReason(Error error) {
  if (!error)
    return {};
  return {toString(std::move(error)).size() > 10 ? Right : NoReason};
}

Outcome importAll(const TemporaryDirectory &directory) {
  auto store = DirectoryStore::open(directory.path());
  if (!store)
    return expectReason(store.takeError());
  return expectReason(
      importBundle(**store, directory.path("bundle")).takeError());
}

Outcome pruneAll(const TemporaryDirectory &directory) {
  auto store = DirectoryStore::open(directory.path());
  if (!store)
    return expectReason(store.takeError());
  return expectReason(
      (*store)->prune({.maxBytes = 0, .maxAge = {}}).takeError());
}

void damage(const TemporaryDirectory &directory) {
  put(directory, "k");
  writeText(openStore(directory)->pathOf(makeKey("k").digest()) + "/kernel.ptx",
            "ptx of x");
}

void makeBundle(const TemporaryDirectory &directory) {
  put(directory, "k");
  auto store = openStore(directory);
  cantFail(
      exportBundle(*store, {makeKey("k").digest()}, directory.path("bundle")));
  ASSERT_FALSE(sys::fs::remove_directories(directory.path()));
}

const Operation operations[] = {
    {"Save", [](auto &) {}, fetch},
    {"Load", [](auto &directory) { put(directory, "k"); }, fetch},
    {"Quarantine", damage, fetch, /*numWarnings=*/1},
    {"Import", makeBundle, importAll},
    {"Prune", [](auto &directory) { put(directory, "k"); }, pruneAll},
};

/// What any process finds after a fault: the right entry, a damaged one that it
/// sets aside, or none; and then it can be stored. Returns how many temporary
/// files were left.
size_t repair(const TemporaryDirectory &directory, bool mayBeDamaged = false) {
  auto store = openStore(directory);
  size_t numLeft = countNames(directory.path("cache/v1/tmp"));
  Expected<EntryPtr> found = store->lookup(makeKey("k"));
  if (!found) {
    EXPECT_TRUE(mayBeDamaged) << toString(found.takeError());
    consumeError(found.takeError());
  } else {
    EXPECT_TRUE(!*found || isEntry(**found, "k"));
  }
  EntryPtr held = cantFail(store->insert(makeKey("k"), makeEntryPtr("k")));
  EXPECT_TRUE(isEntry(*held, "k"));
  held = cantFail(store->lookup(makeKey("k")));
  EXPECT_TRUE(held && isEntry(*held, "k"));

  // What was left is reaped when it is old.
  DirectoryOptions eager;
  eager.staleAfter = 0s;
  cantFail(openStore(directory, eager)->prune({}));
  EXPECT_EQ(countNames(directory.path("cache/v1/tmp")), 0u);
  EXPECT_EQ(countNames(directory.path("cache/v1/locks")), 0u);
  return numLeft;
}

class FaultTest : public testing::TestWithParam<Operation> {
protected:
  void SetUp() override {
    if (!canTrace())
      GTEST_SKIP() << "processes cannot be traced here";
  }

  bool damages() const { return GetParam().numWarnings != 0; }

  /// Runs the operation in a process of its own, in a new directory, with
  /// `decide` at each system call.
  int run(const TemporaryDirectory &directory,
          function_ref<int(const SystemCall &)> decide) {
    GetParam().prepare(directory);
    return trace([&] { return GetParam().run(directory).status(); }, decide,
                 [](const SystemCall &, uint64_t) {});
  }

  /// The process ended by itself, with what is right and few warnings.
  void expectRight(int status, int maxWarnings) {
    ASSERT_TRUE(WIFEXITED(status)) << "status " << status;
    EXPECT_EQ(WEXITSTATUS(status) / 16, Right);
    EXPECT_LE(WEXITSTATUS(status) % 16, GetParam().numWarnings + maxWarnings);
  }
};

std::string nameOf(const testing::TestParamInfo<Operation> &info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Operations, FaultTest, testing::ValuesIn(operations),
                         nameOf);

} // namespace

//===----------------------------------------------------------------------===//
// Kill
//===----------------------------------------------------------------------===//

TEST_P(FaultTest, KilledAtEverySystemCall) {
  bool wasKilled = true;
  int point = 0;
  for (; wasKilled; ++point) {
    TemporaryDirectory directory;
    int number = 0;
    wasKilled = false;
    int status = run(directory, [&](const SystemCall &) {
      wasKilled = number++ == point;
      return wasKilled ? Kill : Proceed;
    });
    EXPECT_EQ(WIFSIGNALED(status), wasKilled);
    EXPECT_LE(repair(directory, damages()), 1u) << "killed at " << point;
    if (HasFailure())
      return;
  }
  // The operation does make system calls.
  EXPECT_GT(point, 30);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// One system call fails, each in turn.
TEST_P(FaultTest, EverySystemCallFails) {
  const int errors[] = {ENOSPC, EDQUOT, EIO,   EROFS,  EXDEV, EMFILE,
                        ENOLCK, ESTALE, EBUSY, EACCES, ENOENT};
  bool hasFailed = true;
  for (size_t point = 0; hasFailed; ++point)
    for (size_t i = 0; i < std::size(errors); ++i) {
      if (!isThorough() && i != point % std::size(errors))
        continue;
      TemporaryDirectory directory;
      size_t number = 0;
      std::string which;
      hasFailed = false;
      int status = run(directory, [&](const SystemCall &call) -> int {
        if (hasFailed)
          return Release;
        if (!call.fileCall() || number++ != point)
          return Proceed;
        hasFailed = true;
        which = call.fileCall();
        return errors[i];
      });
      expectRight(status, /*maxWarnings=*/1);
      EXPECT_LE(repair(directory, damages()), 2u);
      if (HasFailure()) {
        ADD_FAILURE() << "`" << which << "`, call " << point << ", failed with "
                      << strerror(errors[i]);
        return;
      }
      EXPECT_TRUE(hasFailed || point > 20);
    }
}

/// One kind of system call fails each time: a disk that stays full, a mount
/// that is read-only, a file system without locks.
TEST_P(FaultTest, AKindOfSystemCallAlwaysFails) {
  struct {
    const char *call;
    int error;
  } faults[] = {{"write", ENOSPC},    {"write", EDQUOT},   {"write", EIO},
                {"fsync", EIO},       {"fsync", ENOSPC},   {"mkdirat", EROFS},
                {"mkdirat", ENOSPC},  {"renameat", EROFS}, {"renameat", EXDEV},
                {"renameat", EBUSY},  {"flock", ENOLCK},   {"flock", EINVAL},
                {"openat", EMFILE},   {"openat", ESTALE},  {"read", EIO},
                {"read", ESTALE},     {"unlinkat", EROFS}, {"unlinkat", EBUSY},
                {"utimensat", EROFS}, {"fstat", ESTALE},   {"close", EIO},
                {"mkdir", EROFS},     {"lstat", EACCES},   {"newfstatat", EIO},
                {"getdents64", EIO}};
  for (auto [name, error] : faults) {
    TemporaryDirectory directory;
    int status = run(directory, [&](const SystemCall &call) -> int {
      return call.fileCall() && call.fileCall() == StringRef(name) ? error
                                                                   : Proceed;
    });
    // One of looking, and one of storing.
    expectRight(status, /*maxWarnings=*/2);
    // A disk that cannot be read damages what is on it.
    (void)repair(directory, damages());
    if (HasFailure()) {
      ADD_FAILURE() << "each `" << name << "` failed with " << strerror(error);
      return;
    }
  }
}

/// Somebody removes the whole cache, before each system call in turn.
TEST_P(FaultTest, TheDirectoryIsDeletedAtEverySystemCall) {
  bool wasDeleted = true;
  for (int point = 0; wasDeleted; point += isThorough() ? 1 : 3) {
    TemporaryDirectory directory;
    int number = 0;
    wasDeleted = false;
    int status = run(directory, [&](const SystemCall &) {
      if (number++ == point) {
        wasDeleted = true;
        // The child is stopped and cannot put anything in the way.
        (void)sys::fs::remove_directories(directory.path());
      }
      return Proceed;
    });
    expectRight(status, /*maxWarnings=*/2);
    (void)repair(directory, damages());
    if (HasFailure()) {
      ADD_FAILURE() << "deleted at " << point;
      return;
    }
  }
}

/// A server of files tells one machine for a while that something is not there
/// which another machine has just made. Work is done again, once, and what was
/// there first is what stays.
TEST(StaleViewTest, AnEntryThatIsSeenLate) {
  if (!canTrace())
    GTEST_SKIP() << "processes cannot be traced here";
  std::string name = makeKey("k").hex();
  // Seen after some looks, and never.
  for (int numBlind : {1, 2, 3, 4, 5, 1000}) {
    TemporaryDirectory directory;
    put(directory, "k");
    int numLooks = 0;
    int status =
        trace([&] { return fetch(directory).status(); },
              [&](const SystemCall &call) -> int {
                bool isLook =
                    call.number == SYS_openat && call.textOf(1) == name;
                return isLook && numLooks++ < numBlind ? ENOENT : Proceed;
              },
              [](const SystemCall &, uint64_t) {});
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status) / 16, Right) << numBlind;
    // Who never sees it cannot use the name, and says so.
    EXPECT_EQ(WEXITSTATUS(status) % 16, numBlind == 1000) << numBlind;
    EXPECT_GT(numLooks, 1);
    EXPECT_EQ(countNames(directory.path("cache/v1/quarantine")), 0u);
    repair(directory);
  }
}

//===----------------------------------------------------------------------===//
// Power
//===----------------------------------------------------------------------===//

namespace {

/// A disk that keeps what was synchronised and nothing else.
class Disk {
public:
  /// All that is below `path` is on the disk.
  void keepAll(const std::string &path) {
    keep(path);
    for (const auto &[name, inode] : kept[inodeOf(path)].names)
      keepAll(path + "/" + name);
  }

  /// What `path` leads to is on the disk as it is now.
  void keep(const std::string &path) {
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0) << path;
    Node &node = kept[status.st_ino];
    node = {};
    if (S_ISDIR(status.st_mode))
      node.names = namesIn(path);
    else
      node.bytes = readText(path);
  }

  /// The file at `path` is new, whatever had its number before.
  void forget(const std::string &path) { kept.erase(inodeOf(path)); }

  /// Writes to `target` what is found after the power came back, where `path`
  /// was. Names may have reached the disk before they were synchronised: then
  /// the files that they name have their length, and zeros for data.
  void restore(const std::string &path, const std::string &target,
               bool hasNames) {
    ASSERT_EQ(::mkdir(target.c_str(), 0700), 0) << target;
    if (hasNames)
      restoreNamed(path, target);
    else
      restoreKept(inodeOf(path), target);
  }

private:
  struct Node {
    std::string bytes;
    std::map<std::string, ino_t> names;
  };

  static ino_t inodeOf(const std::string &path) {
    struct stat status = {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_ino;
  }

  static std::map<std::string, ino_t> namesIn(const std::string &path) {
    std::map<std::string, ino_t> names;
    DIR *stream = ::opendir(path.c_str());
    while (const dirent *item = ::readdir(stream))
      if (item->d_name[0] != '.')
        names[item->d_name] = item->d_ino;
    ::closedir(stream);
    return names;
  }

  void restoreNamed(const std::string &path, const std::string &target) {
    for (const auto &[name, inode] : namesIn(path)) {
      std::string from = path + "/" + name, to = target + "/" + name;
      if (sys::fs::is_directory(from)) {
        ASSERT_EQ(::mkdir(to.c_str(), 0700), 0);
        restoreNamed(from, to);
        continue;
      }
      auto node = kept.find(inode);
      writeText(to, node != kept.end()
                        ? node->second.bytes
                        : std::string(readText(from).size(), '\0'));
    }
  }

  void restoreKept(ino_t directory, const std::string &target) {
    for (const auto &[name, inode] : kept[directory].names) {
      std::string to = target + "/" + name;
      auto node = kept.find(inode);
      if (node == kept.end()) {
        // The name is there and what it named is not.
        continue;
      }
      if (!node->second.names.empty() || node->second.bytes.empty()) {
        ASSERT_EQ(::mkdir(to.c_str(), 0700), 0);
        restoreKept(inode, to);
      } else {
        writeText(to, node->second.bytes);
      }
    }
  }

  std::map<ino_t, Node> kept;
};

} // namespace

/// The power goes at every system call of a save. Data that was not
/// synchronised is lost, and names that were not may be lost or kept. Nothing
/// is ever damaged, and once a save has returned the entry is there to stay.
TEST(PowerTest, FailsAtEverySystemCall) {
  if (!canTrace())
    GTEST_SKIP() << "processes cannot be traced here";
  TemporaryDirectory directory, later;
  (void)openStore(directory);
  Disk disk;
  disk.keepAll(directory.path());

  int numFound = 0, numMissing = 0;
  auto cutPower = [&] {
    for (bool hasNames : {false, true}) {
      disk.restore(directory.path(), later.path(), hasNames);
      auto store = openStore(later);
      Expected<EntryPtr> entry = store->lookup(makeKey("k"));
      if (!entry)
        ADD_FAILURE() << toString(entry.takeError());
      else
        EXPECT_TRUE(!*entry || isEntry(**entry, "k"));
      (entry && *entry ? numFound : numMissing) += 1;
      EntryPtr held = cantFail(store->insert(makeKey("k"), makeEntryPtr("k")));
      EXPECT_TRUE(isEntry(*held, "k"));
      ASSERT_FALSE(sys::fs::remove_directories(later.path()));
    }
  };
  int status = trace(
      [&] {
        auto store = openStore(directory);
        cantFail(store->insert(makeKey("k"), makeEntryPtr("k")));
        return 0;
      },
      [&](const SystemCall &) {
        cutPower();
        return Proceed;
      },
      [&](const SystemCall &call, uint64_t result) {
        if (call.number == SYS_fsync)
          disk.keep(call.pathOf(0));
        else if (call.number == SYS_openat && (call.arguments[2] & O_EXCL))
          disk.forget("/proc/" + std::to_string(call.process) + "/fd/" +
                      std::to_string(result));
      });
  EXPECT_EQ(status, 0);
  EXPECT_GT(numMissing, 50);
  EXPECT_GT(numFound, 10);
  // After the save, in both cases.
  numMissing = 0;
  cutPower();
  EXPECT_EQ(numMissing, 0);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {

/// Runs `body` as a user for whom modes hold: they do not for the superuser.
int runAsUser(const std::string &path, function_ref<int()> body) {
  constexpr uid_t user = 54321;
  bool isRoot = ::geteuid() == 0;
  if (isRoot)
    EXPECT_EQ(::system(("chown -R 54321:54321 " + path).c_str()), 0);
  int status = waitForProcess(startProcess([&] {
    if (isRoot && (::setgroups(0, nullptr) != 0 || ::setgid(user) != 0 ||
                   ::setuid(user) != 0))
      return 97;
    return body();
  }));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

} // namespace

TEST(PlaceTest, AReadOnlyDirectoryIsRead) {
  TemporaryDirectory directory;
  put(directory, "k");
  ASSERT_EQ(::system(("chmod -R a-w " + directory.path()).c_str()), 0);
  EXPECT_EQ(runAsUser(directory.path("."),
                      [&] {
                        auto store = openStore(directory);
                        EntryPtr entry = cantFail(store->lookup(makeKey("k")));
                        if (!entry || !isEntry(*entry, "k"))
                          return 1;
                        // What it does not have is made, with one warning.
                        int numWarnings = 0;
                        CacheOptions options;
                        options.directory = directory.path();
                        options.warn = [&](StringRef) { ++numWarnings; };
                        Cache cache(options);
                        for (const char *name : {"1", "2", "3"}) {
                          Fetched fetched = cantFail(cache.withKey(
                              makeKey(name), [&]() -> Expected<Entry> {
                                return makeEntry(name);
                              }));
                          if (!isEntry(*fetched.entry, name))
                            return 2;
                        }
                        // The lock and the entry cannot be written.
                        return numWarnings <= 2 ? 0 : 3;
                      }),
            0);
  ASSERT_EQ(::system(("chmod -R u+w " + directory.path()).c_str()), 0);
}

TEST(PlaceTest, ADirectoryThatMayNotBeReadIsSaid) {
  TemporaryDirectory directory;
  put(directory, "k");
  ASSERT_EQ(::chmod(directory.path().c_str(), 0), 0);
  EXPECT_EQ(runAsUser(directory.path("."),
                      [&] {
                        std::string message =
                            messageOf(DirectoryStore::open(directory.path()));
                        if (!contains(message, "Permission denied"))
                          return 1;
                        return fetch(directory).verdict == Right ? 0 : 2;
                      }),
            0);
}

/// Without a home the cache needs to be told where to be; compilation goes on.
TEST(PlaceTest, AMissingHomeIsSaid) {
  EXPECT_EQ(runAsUser("/dev/null",
                      [&] {
                        for (const char *name :
                             {"HOME", "TL_CACHE_DIR", "XDG_CACHE_HOME"})
                          ::unsetenv(name);
                        Expected<std::string> path = defaultDirectory();
                        if (path)
                          return 1;
                        return contains(toString(path.takeError()),
                                        "set `TL_CACHE_DIR`")
                                   ? 0
                                   : 2;
                      }),
            ::geteuid() == 0 ? 0 : 1);
}

/// A cache may be copied, moved, given to another user and mounted elsewhere.
TEST(PlaceTest, IsFoundWhereverItIs) {
  TemporaryDirectory directory;
  for (int i = 0; i < 20; ++i)
    put(directory, std::to_string(i));
  auto isComplete = [](const std::string &path) {
    auto store = cantFail(DirectoryStore::open(path));
    for (int i = 0; i < 20; ++i) {
      EntryPtr entry = cantFail(store->lookup(makeKey(std::to_string(i))));
      if (!entry || !isEntry(*entry, std::to_string(i)))
        return false;
    }
    return true;
  };
  std::string path = directory.path(), copy = directory.path("copy");
  ASSERT_EQ(::system(("cp -r " + path + " " + copy).c_str()), 0);
  EXPECT_TRUE(isComplete(copy));
  ASSERT_EQ(::rename(path.c_str(), directory.path("moved").c_str()), 0);
  EXPECT_TRUE(isComplete(directory.path("moved")));

  EXPECT_EQ(runAsUser(copy, [&] { return isComplete(copy) ? 0 : 1; }), 0);
  // Read-only, and at another path; where mounting is not allowed this is the
  // one part that is not tested.
  std::string mount = directory.path("mount");
  ASSERT_EQ(::mkdir(mount.c_str(), 0700), 0);
  std::string command = "unshare -m sh -c 'mount --bind -o ro " +
                        directory.path("moved") + " " + mount + " && ls " +
                        mount + "/v1' >/dev/null 2>&1";
  if (::system(command.c_str()) != 0)
    return;
  EXPECT_EQ(waitForProcess(startProcess([&] {
              if (::unshare(CLONE_NEWNS) != 0 ||
                  ::system(("mount --bind -o ro " + directory.path("moved") +
                            " " + mount)
                               .c_str()) != 0)
                return 1;
              return isComplete(mount) ? 0 : 2;
            })),
            0);
}

//===----------------------------------------------------------------------===//
// Clocks
//===----------------------------------------------------------------------===//

namespace {

constexpr auto tenYears = std::chrono::seconds(10 * 365 * 24h);

/// Moves the time of last use of all entries, as if the clock had been changed.
void shiftTimes(DirectoryStore &store, std::chrono::seconds by) {
  for (const Digest &name : cantFail(store.names())) {
    std::string path = store.pathOf(name);
    struct stat status;
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    struct timespec time = status.st_mtim;
    time.tv_sec += by.count();
    struct timespec times[2] = {time, time};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
}

/// Sets the times of what is at `path` to another than now.
void setTimes(const std::string &path, std::chrono::seconds fromNow,
              bool modified = true) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += fromNow.count();
  struct timespec times[2] = {time, time};
  if (!modified)
    times[1].tv_nsec = UTIME_OMIT;
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

class ClockTest : public testing::TestWithParam<std::chrono::seconds> {};

INSTANTIATE_TEST_SUITE_P(Jumps, ClockTest, testing::Values(tenYears, -tenYears),
                         [](const auto &info) {
                           return info.param > 0s ? "Back" : "Forth";
                         });

} // namespace

/// Whatever the clock did, what is used after is not evicted before what is
/// not, nothing is lost at once, and the bound holds.
TEST_P(ClockTest, WhatIsUsedAfterAJumpIsKept) {
  TemporaryDirectory directory;
  auto store = openStore(directory);
  for (int i = 0; i < 8; ++i) {
    put(directory, std::to_string(i));
    shiftTimes(*store, -120s);
  }
  shiftTimes(*store, GetParam());
  uint64_t size = cantFail(store->totalSize());
  auto has = [&](int i) {
    return cantFail(store->lookup(makeKey(std::to_string(i)))) != nullptr;
  };
  // The oldest two are used, and something is made.
  EXPECT_TRUE(has(0) && has(1));
  put(directory, "8");
  cantFail(store->prune({.maxBytes = size / 8 * 4, .maxAge = {}}));
  // Of the others the one that was used last is left.
  for (int i : {0, 1, 8, 7})
    EXPECT_TRUE(has(i)) << i;
  for (int i : {2, 3, 4, 5, 6})
    EXPECT_FALSE(has(i)) << i;
}

TEST_P(ClockTest, AgeDropsNothingThatWasJustUsed) {
  TemporaryDirectory directory;
  put(directory, "k");
  auto store = openStore(directory);
  shiftTimes(*store, GetParam());
  EXPECT_NE(cantFail(store->lookup(makeKey("k"))), nullptr);
  cantFail(store->prune({.maxBytes = {}, .maxAge = 1h}));
  EXPECT_NE(cantFail(store->lookup(makeKey("k"))), nullptr);
}

/// A lock whose file has another time is still held.
TEST_P(ClockTest, ALockIsHeldWhateverItsTime) {
  TemporaryDirectory directory;
  auto store = openStore(directory);
  auto lock = cantFail(store->lock(makeKey("k"), 0ms));
  setTimes(directory.path("cache/v1/locks/") + makeKey("k").hex(), GetParam());
  cantFail(openStore(directory)->prune({}));
  EXPECT_TRUE(contains(messageOf(openStore(directory)->lock(makeKey("k"), 0ms)),
                       "has held this lock"));
}

/// The same where there are no locks: no two clocks are compared.
TEST_P(ClockTest, AClaimIsHeldWhateverItsTime) {
  TemporaryDirectory directory;
  auto acquire = [&](std::chrono::milliseconds timeout) {
    return LeaseFile::acquire(
        cantFail(errorOrToExpected(openDirectory(directory.path(".")))),
        "claim", 0600, timeout, [] { return false; });
  };
  ErrorOr<std::unique_ptr<KeyLock>> held = acquire(0ms);
  ASSERT_TRUE(bool(held));
  setTimes(directory.path("claim"), GetParam());
  // Longer than a claim lives that nobody renews.
  EXPECT_EQ(acquire(1500ms).getError(), std::errc::timed_out);
}

/// Many mounts do not note reading (`noatime`), or note it once a day.
TEST_P(ClockTest, TimesOfAccessDoNotMatter) {
  TemporaryDirectory directory;
  auto store = openStore(directory);
  for (int i = 0; i < 4; ++i) {
    put(directory, std::to_string(i));
    shiftTimes(*store, -120s);
  }
  auto pathOf = [&](int i) {
    return store->pathOf(makeKey(std::to_string(i)).digest());
  };
  // The oldest two and the newest two seem to be used the other way round.
  for (int i = 0; i < 4; ++i)
    for (const char *part : {"", "/kernel.ptx", "/manifest.json"})
      setTimes(pathOf(i) + part, i < 2 ? GetParam() : -GetParam(),
               /*modified=*/false);
  uint64_t size = cantFail(store->totalSize());
  cantFail(store->prune({.maxBytes = size / 2, .maxAge = {}}));
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(sys::fs::exists(pathOf(i)), i >= 2) << i;
}
