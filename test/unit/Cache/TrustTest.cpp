//===- TrustTest.cpp - Who can change what a path names -------------------===//
//
// Directories of other users are made by giving ours away, which the superuser
// alone can do; the tests that need it are skipped for others.
//
//===----------------------------------------------------------------------===//

#include "Ownership.h"
#include "TestSupport.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;

namespace {

/// Users and a group that this process does not act for.
constexpr uid_t otherUser = 54321;
constexpr uid_t thirdUser = 54322;
constexpr gid_t otherGroup = 54323;

class TrustTest : public testing::Test {
protected:
  TrustTest() { mode(directory.path("."), 0755); }

  std::unique_ptr<DirectoryStore> open(DirectoryOptions options = {}) {
    return cantFail(DirectoryStore::open(directory.path(), options));
  }
  std::string whyNot(DirectoryOptions options = {}) {
    return messageOf(DirectoryStore::open(directory.path(), options));
  }
  static void put(DirectoryStore &store, StringRef name) {
    cantFail(store.insert(makeKey(name), makeEntryPtr(name)));
  }
  static bool has(DirectoryStore &store, StringRef name) {
    EntryPtr entry = cantFail(store.lookup(makeKey(name)));
    return entry && isEntry(*entry, name);
  }
  static void mode(const std::string &path, mode_t mode) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0) << path;
  }

  /// Gives a file, a directory or a link away; false if that is not allowed.
  static bool give(const std::string &path, uid_t user, gid_t group = -1) {
    return ::lchown(path.c_str(), user, group) == 0;
  }

  TemporaryDirectory directory;
};

/// Runs `body` as another user, who is in `group` alone.
int runAs(uid_t user, gid_t group, function_ref<int()> body) {
  pid_t child = ::fork();
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(group) != 0 ||
        ::setuid(user) != 0)
      ::_exit(98);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

} // namespace

#define REQUIRE(allowed)                                                       \
  if (!(allowed))                                                              \
  GTEST_SKIP() << "only the superuser can give files away"

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

TEST_F(TrustTest, WhatAnyoneMayWriteIsRefused) {
  ASSERT_EQ(::mkdir(directory.path().c_str(), 0700), 0);
  mode(directory.path(), 0777);
  EXPECT_TRUE(contains(whyNot(), "can be written by anyone; run `chmod o-w`"));
  // Sticky is not enough: anyone could add entries.
  mode(directory.path(), 01777);
  EXPECT_TRUE(contains(whyNot(), "can be written by anyone"));
  mode(directory.path(), 0755);
  put(*open(), "k");
  mode(directory.path("cache/v1"), 0777);
  EXPECT_TRUE(contains(whyNot(), "v1`: can be written by anyone"));
}

TEST_F(TrustTest, WhatAnotherUserOwnsIsRefused) {
  ASSERT_EQ(::mkdir(directory.path().c_str(), 0755), 0);
  REQUIRE(give(directory.path(), otherUser));
  EXPECT_TRUE(contains(whyNot(), "belongs to user 54321; choose a directory"));
  ASSERT_TRUE(give(directory.path(), ::geteuid()));
  put(*open(), "k");
  ASSERT_TRUE(give(directory.path("cache/v1"), otherUser));
  EXPECT_TRUE(contains(whyNot(), "v1`: belongs to user 54321"));
}

/// It is not enough to look once.
TEST_F(TrustTest, ADirectoryThatIsOpenedToOthersIsRefusedFromThenOn) {
  auto store = open();
  put(*store, "k");
  mode(directory.path(), 0777);
  EXPECT_TRUE(contains(messageOf(store->lookup(makeKey("k"))),
                       "can be written by anyone"));
  EXPECT_TRUE(
      contains(messageOf(store->insert(makeKey("x"), makeEntryPtr("x"))),
               "can be written by anyone"));
  EXPECT_TRUE(contains(messageOf(store->prune({})), "written by anyone"));
  mode(directory.path(), 0700);
  EXPECT_TRUE(has(*store, "k"));
}

TEST_F(TrustTest, AnEntryThatOthersMayWriteIsSetAside) {
  auto store = open();
  for (StringRef part : {"", "/kernel.ptx", "/manifest.json"}) {
    put(*store, "k");
    mode(store->pathOf(makeKey("k").digest()) + part.str(), 0777);
    EXPECT_TRUE(contains(messageOf(store->lookup(makeKey("k"))),
                         "can be written by anyone"));
    EXPECT_FALSE(has(*store, "k"));
  }
  put(*store, "k");
  std::string path = store->pathOf(makeKey("k").digest());
  REQUIRE(give(path + "/kernel.cubin", otherUser));
  EXPECT_TRUE(contains(messageOf(store->lookup(makeKey("k"))),
                       "`kernel.cubin` belongs to user"));
}

//===----------------------------------------------------------------------===//
// Symbolic links
//===----------------------------------------------------------------------===//

/// People keep their cache on another disk.
TEST_F(TrustTest, TheUsersOwnLinkToTheCacheIsFollowed) {
  std::string real = directory.path("real");
  ASSERT_EQ(::mkdir(real.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(real.c_str(), directory.path().c_str()), 0);
  put(*open(), "k");
  EXPECT_TRUE(sys::fs::exists(real + "/v1"));
  EXPECT_TRUE(has(*open(), "k"));
  EXPECT_EQ(open()->root(), directory.path());
}

/// In a directory like `/tmp` anyone can put a link where a cache will be, that
/// leads to a directory that is ours and no cache.
TEST_F(TrustTest, AnothersLinkToTheCacheIsRefused) {
  std::string victim = directory.path("victim");
  ASSERT_EQ(::mkdir(victim.c_str(), 0700), 0);
  ASSERT_EQ(::symlink(victim.c_str(), directory.path().c_str()), 0);
  REQUIRE(give(directory.path(), otherUser));
  EXPECT_TRUE(contains(whyNot(), "is a symbolic link of user 54321"));
  EXPECT_EQ(countNames(victim), 0u);
}

/// No directory of the cache may be a link, whoever made it: what it leads to
/// is neither read, nor written, nor removed.
TEST_F(TrustTest, LinksInsideAreRefused) {
  std::string victim = directory.path("victim");
  DirectoryOptions eager;
  eager.staleAfter = eager.quarantineFor = std::chrono::seconds(0);
  std::string fanOut = "cache/v1/" + makeKey("k").hex().substr(0, 2);
  for (std::string part :
       {std::string("cache/v1"), fanOut, std::string("cache/v1/tmp"),
        std::string("cache/v1/quarantine"), std::string("cache/v1/locks")}) {
    put(*open(eager), "k");
    std::string path = directory.path(part);
    ASSERT_EQ(::rename(path.c_str(), victim.c_str()), 0) << path;
    ASSERT_EQ(::symlink(victim.c_str(), path.c_str()), 0);
    writeText(victim + "/precious", "");
    size_t before = countNames(victim);

    Expected<std::unique_ptr<DirectoryStore>> store =
        DirectoryStore::open(directory.path(), eager);
    if (part == "cache/v1") {
      EXPECT_TRUE(contains(messageOf(std::move(store)), "v1`: is not a dir"));
    } else {
      ASSERT_TRUE(bool(store));
      if (part == fanOut)
        EXPECT_TRUE(contains(messageOf((*store)->lookup(makeKey("k"))),
                             "is not a directory"));
      // Each may fail; none may touch what the link leads to.
      consumeError(
          (*store)->insert(makeKey("x"), makeEntryPtr("x")).takeError());
      consumeError((*store)->lock(makeKey("k"), {}).takeError());
      consumeError((*store)->prune({.maxBytes = 0, .maxAge = {}}).takeError());
      consumeError((*store)->clear().takeError());
    }
    EXPECT_EQ(countNames(victim), before) << part;
    EXPECT_TRUE(sys::fs::exists(victim + "/precious")) << part;
    ASSERT_FALSE(sys::fs::remove_directories(directory.path()));
    ASSERT_FALSE(sys::fs::remove_directories(victim));
  }
}

/// What an entry holds is removed, and never what it leads to.
TEST_F(TrustTest, RemovingFollowsNoLink) {
  auto store = open();
  put(*store, "k");
  std::string victim = directory.path("victim");
  ASSERT_EQ(::mkdir(victim.c_str(), 0700), 0);
  writeText(victim + "/precious", "");
  std::string path = store->pathOf(makeKey("k").digest());
  ASSERT_EQ(::symlink(victim.c_str(), (path + "/link").c_str()), 0);
  ASSERT_EQ(::mkdir((path + "/deep").c_str(), 0700), 0);
  ASSERT_EQ(::symlink(victim.c_str(), (path + "/deep/link").c_str()), 0);
  cantFail(store->clear());
  EXPECT_TRUE(sys::fs::exists(victim + "/precious"));
  EXPECT_FALSE(sys::fs::exists(path));
  EXPECT_EQ(countNames(directory.path("cache/v1/tmp")), 0u);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

TEST_F(TrustTest, WhatAGroupMayWriteNeedsTheOption) {
  ASSERT_EQ(::mkdir(directory.path().c_str(), 0700), 0);
  mode(directory.path(), 0770);
  EXPECT_TRUE(contains(whyNot(), "can be written by group"));
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  put(*open(shared), "k");
  EXPECT_TRUE(has(*open(shared), "k"));
  // What anyone may write is refused all the same.
  mode(directory.path(), 0777);
  EXPECT_TRUE(contains(whyNot(shared), "can be written by anyone"));
}

TEST_F(TrustTest, AGroupThatIsNotOursIsNotTrusted) {
  ASSERT_EQ(::mkdir(directory.path().c_str(), 0700), 0);
  REQUIRE(give(directory.path(), ::geteuid(), otherGroup));
  mode(directory.path(), 0770);
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  EXPECT_TRUE(contains(whyNot(shared), "can be written by group 54323"));
}

/// Two members of a group write, read, lock and remove each other's entries; a
/// third user who is no member is refused.
TEST_F(TrustTest, MembersOfAGroupShareADirectory) {
  ASSERT_EQ(::mkdir(directory.path().c_str(), 0700), 0);
  REQUIRE(give(directory.path(), otherUser, otherGroup));
  mode(directory.path(), 02770);
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  auto as = [&](uid_t user, gid_t group, StringRef own, StringRef theirs) {
    return runAs(user, group, [&] {
      auto store = DirectoryStore::open(directory.path(), shared);
      if (!store)
        return 1;
      put(**store, own);
      if (!theirs.empty() && !has(**store, theirs))
        return 2;
      // The lock of a key whose file another member left.
      writeText(directory.path("cache/v1/locks/") + makeKey(own).hex(), "");
      if (!cantFail((*store)->lock(makeKey(theirs), {})))
        return 3;
      return 0;
    });
  };
  EXPECT_EQ(as(otherUser, otherGroup, "1", ""), 0);
  EXPECT_EQ(as(thirdUser, otherGroup, "2", "1"), 0);
  EXPECT_EQ(as(otherUser, otherGroup, "3", "2"), 0);
  EXPECT_EQ(as(thirdUser, otherGroup + 1, "4", ""), 1);
  EXPECT_EQ(runAs(thirdUser, otherGroup,
                  [&] {
                    auto store = cantFail(
                        DirectoryStore::open(directory.path(), shared));
                    cantFail(store->clear());
                    return cantFail(store->names()).empty() ? 0 : 1;
                  }),
            0);
}

//===----------------------------------------------------------------------===//
// Private directories
//===----------------------------------------------------------------------===//

TEST_F(TrustTest, ADirectoryThatOthersCannotChangeIsPrivate) {
  EXPECT_TRUE(open()->isPrivate());
  // Others may read it.
  mode(directory.path(), 0755);
  mode(directory.path("cache/v1"), 0755);
  EXPECT_TRUE(open()->isPrivate());
}

TEST_F(TrustTest, ADirectoryThatOthersCanReplaceIsNotPrivate) {
  auto store = open();
  mode(directory.path("."), 0777);
  EXPECT_FALSE(store->isPrivate());
  // As in `/tmp`: others may add, but not rename what is ours.
  mode(directory.path("."), 01777);
  EXPECT_TRUE(store->isPrivate());
  mode(directory.path("."), 0775);
  EXPECT_FALSE(store->isPrivate());
  mode(directory.path("."), 0755);
  REQUIRE(give(directory.path("."), otherUser));
  EXPECT_FALSE(store->isPrivate());
}

TEST_F(TrustTest, ADirectoryOfAGroupIsNotPrivate) {
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  auto store = open(shared);
  put(*store, "k");
  EXPECT_FALSE(store->isPrivate());
}

/// Others could have put it there; what runs on a GPU is not meant.
TEST_F(TrustTest, HostCodeIsNeitherLoadedFromAGroupsDirectoryNorStored) {
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  auto store = open(shared);
  Key key = KeyBuilder().add("kernel", "k").addUse(Use::RunOnHost).build();
  EntryPtr entry = makeEntryPtr("k");
  EXPECT_EQ(cantFail(store->insert(key, entry)), entry);
  EXPECT_EQ(cantFail(store->names()).size(), 0u);
  EXPECT_TRUE(contains(messageOf(store->lookup(key)),
                       "holds machine code of the host, which is used only "
                       "with a valid signature or from a directory that is "
                       "private to you"));
  cantFail(store->insert(makeKey("k"), entry));
  EXPECT_NE(cantFail(store->lookup(makeKey("k"))), nullptr);
}

TEST_F(TrustTest, HostCodeIsKeptInAPrivateDirectory) {
  auto store = open();
  Key key = KeyBuilder().add("kernel", "k").addUse(Use::RunOnHost).build();
  cantFail(store->insert(key, makeEntryPtr("k")));
  EXPECT_NE(cantFail(store->lookup(key)), nullptr);
}

/// Of all uses the place decides together: what is parsed, compiled or executed
/// on the host comes from a private directory, device code from any that the
/// user chose.
TEST_F(TrustTest, AGroupsDirectoryIsForDeviceCodeAndData) {
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  auto store = open(shared);
  for (auto [use, isUsed] :
       {std::pair(Use::Read, true), std::pair(Use::LoadOnDevice, true),
        std::pair(Use::ParseAsIR, false), std::pair(Use::Compile, false),
        std::pair(Use::RunOnHost, false)}) {
    Key key = KeyBuilder().add("kernel", "k").addUse(use).build();
    cantFail(store->insert(key, makeEntryPtr("k")));
    Expected<EntryPtr> found = store->lookup(key);
    EXPECT_EQ(found && *found, isUsed) << nameOf(use).str();
    if (found && *found)
      EXPECT_EQ((*found)->trust, Trust::Allowed);
    consumeError(found.takeError());
  }
}

/// It came from where nobody signs, and does not become the user's own by lying
/// in the user's directory.
TEST_F(TrustTest, AStrangersEntryStaysOne) {
  Key key = KeyBuilder().add("kernel", "k").addUse(Use::LoadOnDevice).build();
  DirectoryOptions allowing;
  allowing.allowUnsigned = true;
  auto stranger = std::make_shared<Entry>(makeEntry("k"));
  stranger->trust = Trust::Allowed;
  cantFail(open(allowing)->insert(key, stranger));
  EXPECT_EQ(cantFail(open(allowing)->lookup(key))->trust, Trust::Allowed);
  EXPECT_TRUE(contains(messageOf(open()->lookup(key)),
                       "holds device code without a signature"));
  // What is made instead takes its place.
  cantFail(open()->insert(key, makeEntryPtr("k")));
  EXPECT_EQ(cantFail(open()->lookup(key))->trust, Trust::Private);
  EXPECT_NE(cantFail(open(allowing)->lookup(key)), nullptr);
}

/// A use that is not known needs the most trust; what a key shows of it counts
/// for nothing.
TEST_F(TrustTest, AnUnknownUseIsTheWorst) {
  EXPECT_EQ(KeyBuilder().add("kernel", "k").build().use(), Use::Read);
  EXPECT_EQ(KeyBuilder().add("use", "nonsense").build().use(), Use::RunOnHost);
  std::vector<KeyComponent> parts(
      KeyBuilder().addUse(Use::RunOnHost).build().components());
  parts[0].value = "read";
  EXPECT_EQ(Key(parts).use(), Use::RunOnHost);
}

/// Who may write a directory can hold its locks, but nobody up.
TEST_F(TrustTest, AGroupsLocksAreNotWaitedForLong) {
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  auto holder = open(shared), store = open(shared);
  std::unique_ptr<KeyLock> held =
      cantFail(holder->lock(makeKey("k"), std::chrono::seconds(1)));
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(
      contains(messageOf(store->lock(makeKey("k"), std::chrono::minutes(10))),
               "has held this lock for 2500 ms"));
  // Nor is the next one waited for, and nobody is told again.
  std::unique_ptr<KeyLock> other =
      cantFail(holder->lock(makeKey("l"), std::chrono::seconds(1)));
  EXPECT_EQ(cantFail(store->lock(makeKey("l"), std::chrono::minutes(10))),
            nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(6));
  // What is free is had all the same.
  EXPECT_NE(cantFail(store->lock(makeKey("m"), std::chrono::minutes(10))),
            nullptr);
}

/// Members can leave an entry for each kernel of a program that takes long to
/// read, and is then refused.
TEST_F(TrustTest, AGroupsEntriesAreNotWaitedForLong) {
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  auto writer = open(shared);
  shared.readsAtMost = std::chrono::milliseconds(10);
  auto store = open(shared);
  put(*writer, "sound");
  Entry large;
  large.addFile("file", std::string(16 << 20, 'x'));
  unsigned refused = 0;
  for (; refused < 30; ++refused) {
    Key key = makeKey("refused" + std::to_string(refused));
    cantFail(writer->insert(key, std::make_shared<const Entry>(large)));
    if (!cantFail(store->lookup(key)))
      break;
    store->reject(key);
  }
  EXPECT_LT(refused, 30u);
  // Nor is anything of it waited for, for a while.
  EXPECT_FALSE(has(*store, "sound"));
  put(*store, "new");
  EXPECT_FALSE(has(*writer, "new"));
  EXPECT_TRUE(has(*writer, "sound"));
}

TEST_F(TrustTest, AGroupsRacesAreNotWaitedForLong) {
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  shared.raceAtMost = std::chrono::milliseconds(300);
  auto holder = open(shared), store = open(shared);
  using std::chrono::hours, std::chrono::seconds;
  std::unique_ptr<KeyLock> first = cantFail(holder->lockRace("r", seconds(0)));
  std::unique_ptr<KeyLock> second = cantFail(holder->lockRace("s", seconds(0)));
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(cantFail(store->lockRace("r", hours(24))), nullptr);
  EXPECT_EQ(cantFail(store->lockRace("s", hours(24))), nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5));
  first.reset();
  EXPECT_NE(cantFail(store->lockRace("r", seconds(0))), nullptr);
}

/// Members can give any file that they may link to a name in the directory, and
/// put a link in the place of a directory that was just made.
TEST_F(TrustTest, WhatIsElsewhereIsNotOpenedToAGroup) {
  DirectoryOptions shared;
  shared.allowGroupWritable = true;
  auto store = open(shared);
  put(*store, "k");
  std::string victim = directory.path("victim");
  writeText(victim, "precious");
  mode(victim, 0600);
  std::string lock = directory.path("cache/v1/locks/") + makeKey("k").hex();
  ASSERT_EQ(::link(victim.c_str(), lock.c_str()), 0);
  cantFail(store->lock(makeKey("k"), {}));
  struct stat status;
  ASSERT_EQ(::stat(victim.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & ALLPERMS, 0600u);
  EXPECT_EQ(readText(victim), "precious");
}

/// Members can make directories as deep as they like, which whoever removes
/// them one in the other goes down.
TEST_F(TrustTest, WhatIsTooDeepIsLeft) {
  DirectoryOptions eager;
  eager.staleAfter = std::chrono::seconds(0);
  put(*open(eager), "k");
  std::string path = directory.path("cache/v1/tmp/deep");
  for (int i = 0; i < 200; ++i, path += "/d")
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  put(*open(eager), "l");
  EXPECT_TRUE(sys::fs::exists(directory.path("cache/v1/tmp/deep")));
  EXPECT_TRUE(has(*open(eager), "l"));
}

//===----------------------------------------------------------------------===//
// What a tuner keeps
//===----------------------------------------------------------------------===//

TEST_F(TrustTest, RacesFollowNoLink) {
  auto store = open();
  ASSERT_NE(cantFail(store->lockRace("r", std::chrono::seconds(0))), nullptr);
  std::string races = directory.path("cache/v1/races");
  std::string victim = directory.path("victim");
  writeText(victim, "precious");
  ASSERT_EQ(::unlink((races + "/r.lock").c_str()) == 0 || errno == ENOENT,
            true);
  for (StringRef file : {"/r.lock", "/r.journal"})
    ASSERT_EQ(::symlink(victim.c_str(), (races + file).str().c_str()), 0);
  EXPECT_FALSE(bool(store->lockRace("r", std::chrono::seconds(0))));
  EXPECT_FALSE(messageOf(store->readJournal("r")).empty());
  EXPECT_TRUE(bool(store->appendJournal("r", "line\n")));
  // Nor is a file written that has another name elsewhere.
  ASSERT_EQ(::link(victim.c_str(), (races + "/s.journal").c_str()), 0);
  EXPECT_TRUE(bool(store->appendJournal("s", "line\n")));
  EXPECT_TRUE(bool(store->appendJournal("../s", "line\n")));
  EXPECT_EQ(readText(victim), "precious");
}

TEST_F(TrustTest, AJournalIsReadBack) {
  auto store = open();
  EXPECT_EQ(cantFail(store->readJournal("r")), "");
  cantFail(store->appendJournal("r", "1\n"));
  cantFail(store->appendJournal("r", "2\n"));
  EXPECT_EQ(cantFail(open()->readJournal("r")), "1\n2\n");
  store->removeJournal("r");
  EXPECT_EQ(cantFail(store->readJournal("r")), "");
}

/// Parts of the directory are looked at each time they are opened.
TEST_F(TrustTest, PartsThatOthersMayWriteAreRefused) {
  auto store = open();
  put(*store, "k");
  std::string fanOut = "cache/v1/" + makeKey("k").hex().substr(0, 2);
  for (std::string part :
       {fanOut, std::string("cache/v1/tmp"), std::string("cache/v1/locks")}) {
    mode(directory.path(part), 0777);
    Expected<EntryPtr> found = store->lookup(makeKey("k"));
    if (part == fanOut)
      EXPECT_TRUE(contains(messageOf(std::move(found)), "written by anyone"));
    else
      consumeError(found.takeError());
    Error stored =
        store->insert(makeKey("x" + part), makeEntryPtr("x")).takeError();
    Error locked = store->lock(makeKey("y"), {}).takeError();
    bool isRefused =
        contains(toString(std::move(stored)) + toString(std::move(locked)),
                 "written by anyone");
    EXPECT_EQ(isRefused, part != fanOut) << part;
    mode(directory.path(part), 0700);
  }
}

TEST_F(TrustTest, AFileSystemThatIsNotKnownIsNotPrivate) {
  // Whatever it is, it is not one that a cache can be on.
  EXPECT_FALSE(isPrivateDirectory("/proc/self"));
  EXPECT_FALSE(isPrivateDirectory(directory.path("missing")));
}
