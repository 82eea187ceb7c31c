//===- SharedStoreTest.cpp - Artifacts on a server ------------------------===//
//
// What the tier does, whatever the protocol: a server of this process that
// keeps what it is given, changes it, or fails.
//
//===----------------------------------------------------------------------===//

#include "tl/Cache/SharedStore.h"

#include "TestSupport.h"
#include "tl/Cache/Breaker.h"
#include "tl/Cache/Cache.h"
#include "tl/Cache/Patience.h"
#include "tl/Cache/SharedRecord.h"

#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;
using namespace std::chrono_literals;

namespace {

/// What a server holds and does.
struct Server {
  std::mutex mutex;
  std::map<std::string, std::string> contents;
  /// Fails every request, with this reason, if there is one.
  std::string reason;
  /// How long a request takes.
  std::chrono::milliseconds delay = {};
  unsigned gets = 0, heads = 0, puts = 0;

  std::string &operator[](const BlobName &name) {
    return contents[(name.space() + "/" + name.hex).str()];
  }
  bool contains(const BlobName &name) {
    return contents.count((name.space() + "/" + name.hex).str());
  }
};

class FakeTransport final : public BlobTransport {
public:
  explicit FakeTransport(Server &server) : server(server) {}

  Expected<std::optional<std::string>> get(const BlobName &name,
                                           uint64_t maxBytes) override {
    std::unique_lock<std::mutex> guard = begin(server.gets);
    if (Error error = check())
      return error;
    if (!server.contains(name))
      return std::nullopt;
    if (server[name].size() > maxBytes)
      return createStringError("sends more bytes than it should have");
    return server[name];
  }

  Expected<bool> has(const BlobName &name) override {
    std::unique_lock<std::mutex> guard = begin(server.heads);
    if (Error error = check())
      return error;
    return server.contains(name);
  }

  Error put(const BlobName &name, StringRef bytes) override {
    std::unique_lock<std::mutex> guard = begin(server.puts);
    if (Error error = check())
      return error;
    server[name] = bytes.str();
    return Error::success();
  }

private:
  /// Takes as long as the server does, then locks it.
  std::unique_lock<std::mutex> begin(unsigned &count) {
    auto until = std::chrono::steady_clock::now() + server.delay;
    while (!isCancelled && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    std::unique_lock<std::mutex> guard(server.mutex);
    ++count;
    return guard;
  }

  Error check() const {
    if (isCancelled)
      return createStringError("was cancelled");
    if (!server.reason.empty())
      return createStringError(server.reason);
    return Error::success();
  }

  Server &server;
};

/// Warnings as they come, from any thread.
struct Heard {
  std::mutex mutex;
  std::vector<std::string> messages;
  Warnings warnings{[this](StringRef message) {
    std::lock_guard<std::mutex> guard(mutex);
    messages.push_back(message.str());
  }};
};

/// One machine that uses the server.
struct Machine {
  explicit Machine(Server &server, SharedOptions options = {})
      : store([&server] { return std::make_unique<FakeTransport>(server); },
              named(std::move(options)), heard.warnings) {}

  static SharedOptions named(SharedOptions options) {
    options.place = "fake://server";
    return options;
  }

  EntryPtr lookup(StringRef name) {
    Expected<EntryPtr> entry = store.lookup(makeKey(name));
    if (entry)
      return *entry;
    heard.warnings.report(entry.takeError());
    return nullptr;
  }

  /// Inserts and waits until it was uploaded.
  void insert(StringRef name) {
    cantFail(store.insert(makeKey(name), makeEntryPtr(name)));
    EXPECT_TRUE(store.finish(10s));
  }

  Heard heard;
  SharedStore store;
};

std::shared_ptr<const SigningKey> keyOf(char c) {
  return std::make_shared<const SigningKey>(std::string(32, c));
}

BlobName recordOf(StringRef name) {
  return {BlobName::Kind::Record, makeKey(name).hex()};
}

BlobName contentOf(StringRef name, StringRef file) {
  return {BlobName::Kind::Content, blobName(*makeEntry(name).file(file))};
}

} // namespace

//===----------------------------------------------------------------------===//
// Round trips
//===----------------------------------------------------------------------===//

TEST(SharedStoreTest, AnotherMachineHits) {
  Server server;
  Machine first(server), second(server);
  EXPECT_EQ(first.lookup("k"), nullptr);
  first.insert("k");
  EntryPtr entry = second.lookup("k");
  ASSERT_NE(entry, nullptr);
  EXPECT_TRUE(isEntry(*entry, "k"));
  EXPECT_EQ(second.lookup("other"), nullptr);
  EXPECT_EQ(first.store.stats().inserted.get(), 1u);
  EXPECT_EQ(second.store.stats().hits.get(), 1u);
  EXPECT_EQ(second.store.stats().misses.get(), 1u);
  EXPECT_TRUE(first.heard.messages.empty());
  EXPECT_TRUE(second.heard.messages.empty());
}

/// Servers that check names, as Bazel's do, check these.
TEST(SharedStoreTest, ContentsAreCalledByTheirSHA256) {
  EXPECT_EQ(blobName("abc"), "ba7816bf8f01cfea414140de5dae2223"
                             "b00361a396177a9cb410ff61f20015ad");
  Server server;
  Machine(server).insert("k");
  EXPECT_EQ(server.contents.size(), 3u);
  const Entry entry = makeEntry("k");
  for (const File &file : entry.files())
    EXPECT_EQ(server[contentOf("k", file.name)], file.bytes);
}

TEST(SharedStoreTest, WhatIsThereIsNotSentAgain) {
  Server server;
  Machine(server).insert("k");
  unsigned puts = server.puts;
  Machine(server).insert("k");
  EXPECT_EQ(server.puts, puts);
  server.contents.erase("ac/" + makeKey("k").hex());
  Machine(server).insert("k");
  EXPECT_EQ(server.puts, puts + 1);
}

TEST(SharedStoreTest, AReadOnlyTierIsNotWritten) {
  Server server;
  Machine(server).insert("k");
  unsigned puts = server.puts, heads = server.heads;
  Machine reader(server, {.isReadOnly = true});
  reader.insert("other");
  EXPECT_NE(reader.lookup("k"), nullptr);
  EXPECT_EQ(server.puts, puts);
  EXPECT_EQ(server.heads, heads);
}

/// What a server forgot, or damaged, is there again after one machine has made
/// it again.
TEST(SharedStoreTest, AnUnusableEntryIsReplaced) {
  for (StringRef damage : {"forgotten", "changed", "record"}) {
    Server server;
    Machine(server).insert("k");
    if (damage == "forgotten")
      server.contents.erase("cas/" + contentOf("k", "kernel.ptx").hex);
    else if (damage == "changed")
      server[contentOf("k", "kernel.ptx")][0] ^= 1;
    else
      server[recordOf("k")] = "nonsense";
    Machine machine(server);
    EXPECT_EQ(machine.lookup("k"), nullptr) << damage.str();
    machine.insert("k");
    EXPECT_NE(Machine(server).lookup("k"), nullptr) << damage.str();
  }
}

TEST(SharedStoreTest, ARecordOfAnotherKeyIsAMiss) {
  Server server;
  Machine(server).insert("a");
  server[recordOf("b")] = server[recordOf("a")];
  Machine machine(server);
  EXPECT_EQ(machine.lookup("b"), nullptr);
  ASSERT_EQ(machine.heard.messages.size(), 1u);
  EXPECT_TRUE(contains(machine.heard.messages[0], "is that of another key"));
}

/// Every byte of everything that a server holds, changed and cut: the entry is
/// right or is not there.
TEST(SharedStoreTest, ADamagedRecordNeverLoads) {
  Server server;
  Machine(server).insert("k");
  const std::map<std::string, std::string> sound = server.contents;
  unsigned loaded = 0, tried = 0;
  auto attempt = [&] {
    ++tried;
    Machine machine(server);
    if (EntryPtr entry = machine.lookup("k")) {
      ++loaded;
      EXPECT_TRUE(isEntry(*entry, "k"));
    }
  };
  for (const auto &[name, bytes] : sound)
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (char mask : {0x01, 0x20, 0x80}) {
        server.contents[name][i] = bytes[i] ^ mask;
        attempt();
      }
      server.contents[name] = bytes.substr(0, i);
      attempt();
      server.contents[name] = bytes;
    }
  EXPECT_GT(tried, 3000u);
  EXPECT_EQ(loaded, 0u);
}

/// A file that is longer than its record says is not even received.
TEST(SharedStoreTest, SizesAreBounded) {
  Server server;
  Machine(server).insert("k");
  server[contentOf("k", "kernel.ptx")] += "x";
  Machine machine(server);
  EXPECT_EQ(machine.lookup("k"), nullptr);
  ASSERT_EQ(machine.heard.messages.size(), 1u);
  EXPECT_TRUE(contains(machine.heard.messages[0], "more bytes"));

  Machine small(server, {.maxFileBytes = 4});
  EXPECT_EQ(small.lookup("k"), nullptr);
  ASSERT_EQ(small.heard.messages.size(), 1u);
  EXPECT_TRUE(contains(small.heard.messages[0], "which is too long"));
  unsigned puts = server.puts;
  small.insert("other");
  EXPECT_EQ(server.puts, puts);
}

//===----------------------------------------------------------------------===//
// What all requests may take together
//===----------------------------------------------------------------------===//

/// Each file comes in time, and all of them would not.
TEST(SharedStoreTest, ManySlowFilesAreNotWaitedFor) {
  Server server;
  Key key = makeKey("slow");
  {
    Machine writer(server);
    Entry entry;
    for (int i = 0; i < 22; ++i)
      entry.addFile("file" + std::to_string(i), std::to_string(i));
    cantFail(writer.store.insert(key, std::make_shared<Entry>(entry)));
    ASSERT_TRUE(writer.store.finish(10s));
  }
  server.delay = 700ms;
  Machine reader(server);
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(contains(messageOf(reader.store.lookup(key)), "takes too long"));
  // Nor is the server asked again soon.
  EXPECT_EQ(cantFail(reader.store.lookup(key)), nullptr);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 8s);
}

/// Each miss is in time, and all of a program's would not be.
TEST(SharedStoreTest, ManySlowMissesAreNotWaitedFor) {
  Server server;
  server.delay = 600ms;
  SharedOptions options;
  options.waitsAtMost = 1000ms;
  Machine reader(server, options);
  for (StringRef name : {"a", "b", "c", "d", "e", "f"})
    EXPECT_EQ(reader.lookup(name), nullptr);
  EXPECT_EQ(server.gets, 2u);
}

/// Nor would all hits, however much they bring: to compile a function with many
/// kernels would have taken less.
TEST(SharedStoreTest, ManySlowHitsAreNotWaitedFor) {
  for (size_t bytes : {size_t(1), size_t(2) << 20}) {
    Server server;
    StringRef names[] = {"a", "b", "c", "d"};
    {
      Machine writer(server);
      for (StringRef name : names) {
        Entry entry;
        entry.addFile("file", std::string(bytes, name.front()));
        cantFail(
            writer.store.insert(makeKey(name), std::make_shared<Entry>(entry)));
      }
      ASSERT_TRUE(writer.store.finish(10s));
    }
    server.delay = 300ms;
    SharedOptions options;
    options.waitsAtMost = 1000ms;
    Machine reader(server, options);
    size_t hits = count_if(
        names, [&](StringRef name) { return reader.lookup(name) != nullptr; });
    EXPECT_EQ(hits, 2u);
  }
}

/// Of a server that answers soon nothing is lost, however long a program is.
TEST(SharedStoreTest, ManyHitsAreHad) {
  Server server;
  Machine writer(server), reader(server, {.waitsAtMost = 200ms});
  writer.insert("k");
  server.delay = 10ms;
  for (int i = 0; i < 50; ++i)
    ASSERT_NE(reader.lookup("k"), nullptr) << i;
}

/// What was refused after it came was of no use.
TEST(SharedStoreTest, WhatIsRejectedDoesNotCountAsOfUse) {
  Server server;
  Machine writer(server), reader(server, {.waitsAtMost = 250ms});
  writer.insert("k");
  server.delay = 20ms;
  unsigned hits = 0;
  for (; hits < 50 && reader.lookup("k"); ++hits)
    reader.store.reject(makeKey("k"));
  EXPECT_LE(hits, 7u);
}

/// A record may name no more files than an entry has.
TEST(SharedStoreTest, AnEntryOfVeryManyFilesIsAMiss) {
  Server server;
  Machine writer(server);
  Entry entry;
  for (int i = 0; i < 300; ++i)
    entry.addFile("file" + std::to_string(i), "x");
  cantFail(writer.store.insert(makeKey("k"), std::make_shared<Entry>(entry)));
  ASSERT_TRUE(writer.store.finish(10s));
  Machine reader(server);
  EXPECT_TRUE(contains(messageOf(reader.store.lookup(makeKey("k"))),
                       "has too many files"));
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

/// What a GPU runs is code too: nobody knows who made it.
TEST(SharedStoreTest, UnsignedDeviceCodeIsUsedIfTheUserAllowsIt) {
  Server server;
  Key key = KeyBuilder().add("kernel", "k").addUse(Use::LoadOnDevice).build();
  Machine writer(server);
  cantFail(writer.store.insert(key, makeEntryPtr("k")));
  ASSERT_TRUE(writer.store.finish(10s));
  Machine reader(server);
  EXPECT_TRUE(contains(messageOf(reader.store.lookup(key)),
                       "allow unsigned device code with "
                       "`TL_CACHE_ALLOW_UNSIGNED`"));
  Machine trusting(server, {.allowUnsigned = true});
  EntryPtr entry = cantFail(trusting.store.lookup(key));
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->trust, Trust::Allowed);
  // It is not passed on as if it were ours.
  Server other;
  Machine next(other, {.key = keyOf('a')});
  cantFail(next.store.insert(key, entry));
  ASSERT_TRUE(next.store.finish(10s));
  EXPECT_TRUE(other.contents.empty());
}

/// What the compiler goes on with is never a stranger's.
TEST(SharedStoreTest, UnsignedStagesAreNotEvenAskedFor) {
  Server server;
  for (Use use : {Use::ParseAsIR, Use::Compile}) {
    Key key = KeyBuilder().add("kernel", "k").addUse(use).build();
    Machine writer(server);
    cantFail(writer.store.insert(key, makeEntryPtr("k")));
    ASSERT_TRUE(writer.store.finish(10s));
    unsigned gets = server.gets;
    Machine reader(server, {.allowUnsigned = true});
    EXPECT_EQ(cantFail(reader.store.lookup(key)), nullptr);
    EXPECT_EQ(server.gets, gets);
  }
}

TEST(SharedStoreTest, ASignedEntryLoadsWithItsKey) {
  Server server;
  Machine(server, {.key = keyOf('a')}).insert("k");
  Machine reader(server, {.key = keyOf('a')});
  EXPECT_NE(reader.lookup("k"), nullptr);
  // Who demands nothing needs no key.
  EXPECT_NE(Machine(server).lookup("k"), nullptr);
}

TEST(SharedStoreTest, AWrongSignatureIsAMiss) {
  Server server;
  Machine(server, {.key = keyOf('a')}).insert("k");
  Machine reader(server, {.key = keyOf('b')});
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(reader.lookup("k"), nullptr);
  EXPECT_EQ(reader.heard.messages,
            std::vector<std::string>{
                "cache `fake://server`: holds entries that were not signed "
                "with this key; they are not used"});
}

/// To leave the signature out must not be enough to get around it.
TEST(SharedStoreTest, AMissingSignatureIsAMissForWhoHasAKey) {
  Server server;
  Machine(server).insert("k");
  Machine reader(server, {.key = keyOf('a')});
  EXPECT_EQ(reader.lookup("k"), nullptr);
  EXPECT_EQ(reader.heard.messages,
            std::vector<std::string>{
                "cache `fake://server`: holds entries without a signature, "
                "which are not used by those who have a key; "
                "`TL_CACHE_ALLOW_UNSIGNED` allows them"});
  EXPECT_NE(
      Machine(server, {.key = keyOf('a'), .allowUnsigned = true}).lookup("k"),
      nullptr);
  // The entry that it makes instead is signed, and takes the other's place.
  reader.insert("k");
  EXPECT_NE(reader.lookup("k"), nullptr);
}

/// Nothing of a signed record can be changed, exchanged or taken away.
TEST(SharedStoreTest, ASignatureCoversTheWholeRecord) {
  Server server;
  SharedOptions options = {.key = keyOf('a')};
  Machine(server, options).insert("k");
  SharedRecord sound = cantFail(SharedRecord::parse(server[recordOf("k")]));
  auto loads = [&](const SharedRecord &record) {
    server[recordOf("k")] = record.print();
    return Machine(server, options).lookup("k") != nullptr;
  };
  EXPECT_TRUE(loads(sound));

  SharedRecord changed = sound;
  std::swap(changed.blobs[0], changed.blobs[1]);
  EXPECT_FALSE(loads(changed));

  // A forger's own manifest, sealed as it should be.
  changed = SharedRecord::describe(makeKey("k"), makeEntry("forged"), "tl");
  changed.signature = sound.signature;
  EXPECT_FALSE(loads(changed));

  changed = sound;
  changed.signature.reset();
  EXPECT_FALSE(loads(changed));
}

/// Others than the signer could have put it there.
TEST(SharedStoreTest, HostCodeNeedsASignature) {
  Server server;
  Key key = KeyBuilder().add("kernel", "k").addUse(Use::RunOnHost).build();
  ASSERT_TRUE(key.use() == Use::RunOnHost);
  auto insert = [&](SharedOptions options) {
    Machine machine(server, std::move(options));
    cantFail(machine.store.insert(key, makeEntryPtr("k")));
    EXPECT_TRUE(machine.store.finish(10s));
  };
  insert({});
  for (bool allowUnsigned : {false, true})
    EXPECT_TRUE(contains(
        messageOf(Machine(server, {.allowUnsigned = allowUnsigned})
                      .store.lookup(key)),
        "holds machine code of the host, which is used only with a valid "
        "signature"));
  for (bool allowUnsigned : {false, true})
    EXPECT_TRUE(contains(
        messageOf(
            Machine(server, {.key = keyOf('a'), .allowUnsigned = allowUnsigned})
                .store.lookup(key)),
        allowUnsigned ? "holds machine code of the host" : "have a key"));
  server.contents.clear();
  insert({.key = keyOf('a')});
  EXPECT_NE(cantFail(Machine(server, {.key = keyOf('a')}).store.lookup(key)),
            nullptr);
  EXPECT_TRUE(contains(messageOf(Machine(server).store.lookup(key)),
                       "holds machine code of the host"));
  EXPECT_TRUE(contains(
      messageOf(Machine(server, {.key = keyOf('b')}).store.lookup(key)),
      "not signed with this key"));
}

//===----------------------------------------------------------------------===//
// Trouble
//===----------------------------------------------------------------------===//

TEST(BreakerTest, LeavesTheServerAloneAndProbes) {
  Breaker breaker(3, 30s);
  Breaker::Clock::time_point now = {};
  EXPECT_TRUE(breaker.failed(now));
  EXPECT_FALSE(breaker.failed(now));
  EXPECT_TRUE(breaker.allows(now));
  EXPECT_FALSE(breaker.failed(now));
  EXPECT_FALSE(breaker.allows(now));
  EXPECT_FALSE(breaker.allows(now + 29s));
  // One caller probes while the others stay away.
  now += 30s;
  EXPECT_TRUE(breaker.allows(now));
  EXPECT_FALSE(breaker.allows(now));
  EXPECT_FALSE(breaker.failed(now));
  EXPECT_FALSE(breaker.allows(now + 59s));
  EXPECT_TRUE(breaker.allows(now + 60s));
  breaker.succeeded();
  EXPECT_TRUE(breaker.allows(now));
  EXPECT_TRUE(breaker.failed(now));
  EXPECT_TRUE(breaker.allows(now));
}

TEST(PatienceTest, IsUsedUpByWaiting) {
  Patience patience(5s, 30s);
  auto now = Patience::Clock::now();
  patience.begin(now);
  EXPECT_EQ(patience.left(now + 2s), 3s);
  patience.end(0s, now += 4s);
  EXPECT_TRUE(patience.allows(now));
  // A tenth of the time comes back, and no more than there was.
  EXPECT_EQ(patience.left(now += 10s), 2s);
  EXPECT_EQ(patience.left(now += 100s), 5s);
  // What is of use gives some of it back.
  patience.begin(now);
  patience.end(1s, now += 3s);
  EXPECT_EQ(patience.left(now), 3s);
  patience.takeBack(1s, now);
  EXPECT_EQ(patience.left(now), 2s);
}

TEST(PatienceTest, ThreadsThatWaitTogetherWaitOnce) {
  Patience patience(5s, 30s);
  auto now = Patience::Clock::now();
  patience.begin(now);
  patience.begin(now + 1s);
  patience.end(0s, now + 2s);
  patience.end(0s, now + 3s);
  EXPECT_EQ(patience.left(now + 3s), 2s);
}

TEST(PatienceTest, LeavesOthersAloneForTwiceAsLongEachTime) {
  Patience patience(5s, 30s);
  auto now = Patience::Clock::now();
  for (std::chrono::seconds alone : {30s, 60s, 120s, 240s, 480s, 600s, 600s}) {
    patience.begin(now);
    patience.begin(now);
    patience.end(0s, now += 6s);
    EXPECT_FALSE(patience.allows(now));
    EXPECT_EQ(patience.left(now), 0s);
    // Another that waited too long finds out together with it.
    patience.end(0s, now);
    EXPECT_FALSE(patience.allows(now + alone - 1s));
    EXPECT_TRUE(patience.allows(now += alone));
    EXPECT_EQ(patience.left(now), 5s);
  }
  patience.exhaust(now);
  EXPECT_FALSE(patience.allows(now));
}

TEST(SharedStoreTest, AFailingServerIsNamedOnceThenLeftAlone) {
  Server server;
  server.reason = "is on fire";
  Machine machine(server, {.backOff = 1h});
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(machine.lookup(std::to_string(i)), nullptr);
  EXPECT_EQ(server.gets, 3u);
  for (int i = 0; i < 10; ++i)
    machine.insert(std::to_string(i));
  EXPECT_EQ(server.heads, 3u);
  EXPECT_EQ(machine.heard.messages,
            std::vector<std::string>{"cache `fake://server`: is on fire; "
                                     "work goes on without it"});
  EXPECT_EQ(machine.store.stats().failures.get(), 6u);
  EXPECT_EQ(machine.store.stats().dropped.get(), 10u);
}

TEST(SharedStoreTest, AServerThatRecoversIsUsedAgain) {
  Server server;
  Machine(server).insert("k");
  server.reason = "is on fire";
  Machine machine(server, {.backOff = 1ms});
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(machine.lookup("k"), nullptr);
  server.reason.clear();
  EntryPtr entry;
  for (int i = 0; !entry && i < 1000; ++i) {
    std::this_thread::sleep_for(1ms);
    entry = machine.lookup("k");
  }
  EXPECT_NE(entry, nullptr);
}

/// Who inserts does not wait for the server.
TEST(SharedStoreTest, UploadsAreInTheBackground) {
  Server server;
  server.delay = 200ms;
  Machine machine(server);
  auto start = std::chrono::steady_clock::now();
  for (StringRef name : {"a", "b"})
    cantFail(machine.store.insert(makeKey(name), makeEntryPtr(name)));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 200ms);
  EXPECT_TRUE(machine.store.finish(1min));
  EXPECT_EQ(machine.store.stats().inserted.get(), 2u);
}

/// A process that ends waits so long and no longer.
TEST(SharedStoreTest, FinishGivesUpInTime) {
  Server server;
  server.delay = 1h;
  Machine machine(server);
  for (StringRef name : {"a", "b", "c"})
    cantFail(machine.store.insert(makeKey(name), makeEntryPtr(name)));
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(machine.store.finish(50ms));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
  EXPECT_EQ(machine.store.stats().inserted.get(), 0u);
  EXPECT_EQ(machine.store.stats().dropped.get(), 3u);
}

TEST(SharedStoreTest, TheQueueIsBounded) {
  Server server;
  server.delay = 20ms;
  Machine machine(server, {.maxQueuedBytes = 3 * makeEntry("00").size()});
  for (int i = 10; i < 60; ++i)
    cantFail(machine.store.insert(makeKey(std::to_string(i)),
                                  makeEntryPtr(std::to_string(i))));
  EXPECT_TRUE(machine.store.finish(1min));
  const StoreStats &stats = machine.store.stats();
  EXPECT_GE(stats.dropped.get(), 1u);
  EXPECT_GE(stats.inserted.get(), 3u);
  EXPECT_EQ(stats.dropped.get() + stats.inserted.get(), 50u);
}

TEST(SharedStoreTest, ManyThreadsUseOneStore) {
  Server server;
  Machine machine(server);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        std::string name = std::to_string(t * 20 + i);
        EXPECT_EQ(machine.lookup(name), nullptr);
        cantFail(machine.store.insert(makeKey(name), makeEntryPtr(name)));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(machine.store.finish(1min));
  for (int i = 0; i < 160; ++i)
    EXPECT_NE(machine.lookup(std::to_string(i)), nullptr);
}

/// The child has neither the parent's thread nor its connections.
TEST(SharedStoreTest, AForkedChildHasASessionOfItsOwn) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "ThreadSanitizer lets no child of a process with threads "
                  "start others";
#endif
  Server server;
  Machine machine(server);
  machine.insert("parent");
  // Its thread lives across the fork.
  cantFail(machine.store.insert(makeKey("x"), makeEntryPtr("x")));
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    cantFail(machine.store.insert(makeKey("child"), makeEntryPtr("child")));
    bool isFine = machine.store.finish(10s) &&
                  machine.lookup("child") != nullptr &&
                  machine.lookup("parent") != nullptr;
    ::_exit(isFine ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(machine.store.finish(10s));
}

//===----------------------------------------------------------------------===//
// Behind other tiers
//===----------------------------------------------------------------------===//

/// A machine asks a shared tier once for each key, after its own directory, and
/// keeps what it gets.
TEST(SharedStoreTest, AHitFillsTheDirectory) {
  Server server;
  Machine(server).insert("k");
  TemporaryDirectory directory;
  Heard heard;
  auto open = [&] {
    CacheOptions options;
    options.directory = directory.path();
    auto cache = std::make_unique<Cache>(std::move(options));
    cache->addTier(std::make_unique<SharedStore>(
        [&server] { return std::make_unique<FakeTransport>(server); },
        SharedOptions{.place = "fake://server"}, heard.warnings));
    return cache;
  };
  auto fail = []() -> Expected<Entry> {
    return createStringError("made although it is there");
  };
  std::unique_ptr<Cache> cache = open();
  Fetched fetched = cantFail(cache->withKey(makeKey("k"), fail));
  EXPECT_TRUE(isEntry(*fetched.entry, "k"));
  EXPECT_EQ(fetched.origin, Origin::Stored);
  EXPECT_FALSE(fetched.entry->directory.empty());
  unsigned gets = server.gets;
  EXPECT_EQ(gets, 3u);
  cantFail(open()->withKey(makeKey("k"), fail));
  EXPECT_EQ(server.gets, gets);

  // A miss is one question, and the answer is everybody's.
  cantFail(cache->withKey(makeKey("new"), [] { return makeEntry("new"); }));
  EXPECT_EQ(server.gets, gets + 1);
  EXPECT_TRUE(cache->finish(10s));
  EXPECT_NE(Machine(server).lookup("new"), nullptr);
}

/// The entries of a shared tier are others' too.
TEST(SharedStoreTest, ClearingLeavesSharedTiersAlone) {
  Server server;
  TemporaryDirectory directory;
  Heard heard;
  CacheOptions options;
  options.directory = directory.path();
  Cache cache(std::move(options));
  cache.addTier(std::make_unique<SharedStore>(
      [&server] { return std::make_unique<FakeTransport>(server); },
      SharedOptions{.place = "fake://server"}, heard.warnings));
  cache.insert(makeKey("k"), makeEntry("k"));
  EXPECT_TRUE(cache.finish(10s));
  auto before = server.contents;
  cantFail(cache.clear());
  EXPECT_EQ(server.contents, before);
  EXPECT_NE(cache.lookup(makeKey("k")), nullptr);
}
