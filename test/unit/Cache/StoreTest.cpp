//===- StoreTest.cpp - Tiers, alone and together --------------------------===//

#include "TestSupport.h"

#include <thread>

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;

namespace {

/// A tier that does not work, as a full disk or a server that is away.
class FailingStore final : public ArtifactStore {
public:
  StringRef name() const override { return "failing"; }
  Expected<EntryPtr> lookup(const Key &) override {
    return make_error<StoreError>("/full", "cannot be read");
  }
  Expected<EntryPtr> insert(const Key &, EntryPtr) override {
    return make_error<StoreError>("/full", "No space left on device");
  }
  Expected<std::unique_ptr<KeyLock>> lock(const Key &,
                                          std::chrono::milliseconds) override {
    return make_error<StoreError>("/full", "cannot lock");
  }
};

/// Warnings as they come.
struct Heard {
  std::vector<std::string> messages;
  WarningHandler handler() {
    return [this](StringRef message) { messages.push_back(message.str()); };
  }
};

} // namespace

TEST(EntryTest, FilesAreFoundByName) {
  Entry entry;
  entry.addFile("b", "2");
  entry.addFile("a", "1");
  entry.addFile("c", "");
  EXPECT_EQ(entry.file("a"), StringRef("1"));
  EXPECT_EQ(entry.file("b"), StringRef("2"));
  EXPECT_EQ(entry.file("c"), StringRef(""));
  EXPECT_EQ(entry.file("d"), std::nullopt);
  EXPECT_EQ(entry.files()[0].name, "a");
  EXPECT_EQ(entry.size(), 2u);
}

/// Values of `llvm::json` may refer to strings that go away.
TEST(EntryTest, OwnsItsMetadata) {
  Entry entry;
  std::string key = "a key of some length", value = "a value of some length";
  entry.setMetadata(
      json::Object{{StringRef(key), json::Array{StringRef(value), 1, 0.5}}});
  key.assign(key.size(), 'x');
  value.assign(value.size(), 'x');
  EXPECT_EQ(entry.metadata(),
            (json::Object{{"a key of some length",
                           json::Array{"a value of some length", 1, 0.5}}}));
}

TEST(MemoryStoreTest, RoundTrip) {
  MemoryStore store;
  EXPECT_EQ(cantFail(store.lookup(makeKey("k"))), nullptr);
  EntryPtr entry = makeEntryPtr("k");
  EXPECT_EQ(cantFail(store.insert(makeKey("k"), entry)), entry);
  EXPECT_EQ(cantFail(store.lookup(makeKey("k"))), entry);
  EXPECT_EQ(store.stats().hits.get(), 1u);
  EXPECT_EQ(store.stats().misses.get(), 1u);
  EXPECT_EQ(store.stats().inserted.get(), 1u);
  store.clear();
  EXPECT_EQ(cantFail(store.lookup(makeKey("k"))), nullptr);
  EXPECT_EQ(store.totalSize(), 0u);
}

TEST(MemoryStoreTest, TheFirstWriterWins) {
  MemoryStore store;
  EntryPtr first = makeEntryPtr("k"), second = makeEntryPtr("k");
  EXPECT_EQ(cantFail(store.insert(makeKey("k"), first)), first);
  EXPECT_EQ(cantFail(store.insert(makeKey("k"), second)), first);
}

TEST(MemoryStoreTest, DropsTheLeastRecentlyUsed) {
  uint64_t size = makeEntry("0").size();
  MemoryStore store(3 * size);
  for (const char *name : {"0", "1", "2"})
    cantFail(store.insert(makeKey(name), makeEntryPtr(name)));
  EXPECT_NE(cantFail(store.lookup(makeKey("0"))), nullptr);
  cantFail(store.insert(makeKey("3"), makeEntryPtr("3")));
  EXPECT_NE(cantFail(store.lookup(makeKey("0"))), nullptr);
  EXPECT_EQ(cantFail(store.lookup(makeKey("1"))), nullptr);
  EXPECT_NE(cantFail(store.lookup(makeKey("2"))), nullptr);
  EXPECT_EQ(store.stats().evicted.get(), 1u);
  EXPECT_EQ(store.totalSize(), 3 * size);
}

TEST(MemoryStoreTest, WhatIsTooLargeIsNotKept) {
  MemoryStore store(makeEntry("0").size());
  cantFail(store.insert(makeKey("0"), makeEntryPtr("0")));
  cantFail(store.insert(makeKey("long"), makeEntryPtr("long")));
  EXPECT_NE(cantFail(store.lookup(makeKey("0"))), nullptr);
  EXPECT_EQ(cantFail(store.lookup(makeKey("long"))), nullptr);
}

TEST(TieredStoreTest, AHitFillsTheTiersBefore) {
  Warnings warnings;
  TieredStore store(warnings);
  store.addTier(std::make_unique<MemoryStore>());
  store.addTier(std::make_unique<MemoryStore>());
  ArtifactStore &near = *store.stores()[0], &far = *store.stores()[1];
  EntryPtr entry = makeEntryPtr("k");
  cantFail(far.insert(makeKey("k"), entry));
  EXPECT_EQ(cantFail(near.lookup(makeKey("k"))), nullptr);
  EXPECT_EQ(cantFail(store.lookup(makeKey("k"))), entry);
  EXPECT_EQ(cantFail(near.lookup(makeKey("k"))), entry);
}

/// All users of a shared tier get the artifact that was there first.
TEST(TieredStoreTest, TheFarthestTierDecidesWhoWasFirst) {
  Warnings warnings;
  TieredStore store(warnings);
  store.addTier(std::make_unique<MemoryStore>());
  store.addTier(std::make_unique<MemoryStore>());
  EntryPtr theirs = makeEntryPtr("k");
  cantFail(store.stores()[1]->insert(makeKey("k"), theirs));
  EXPECT_EQ(cantFail(store.insert(makeKey("k"), makeEntryPtr("k"))), theirs);
  EXPECT_EQ(cantFail(store.stores()[0]->lookup(makeKey("k"))), theirs);
}

TEST(TieredStoreTest, ABrokenTierIsNamedOnceAndWorkGoesOn) {
  Heard heard;
  CacheOptions options;
  options.warn = heard.handler();
  Cache cache(options);
  cache.addTier(std::make_unique<FailingStore>());
  for (int i = 0; i < 10; ++i) {
    Key key = makeKey(std::to_string(i));
    for (Origin origin : {Origin::Made, Origin::Stored}) {
      Fetched fetched = cantFail(cache.withKey(
          key, [&]() -> Expected<Entry> { return makeEntry("x"); }));
      EXPECT_TRUE(isEntry(*fetched.entry, "x"));
      EXPECT_EQ(fetched.origin, origin);
    }
  }
  EXPECT_EQ(heard.messages,
            (std::vector<std::string>{
                "cache `/full`: cannot be read", "cache `/full`: cannot lock",
                "cache `/full`: No space left on device"}));
}

TEST(CounterTest, CountsFromManyThreads) {
  StoreStats stats;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k)
        stats.hits.add();
    });
  for (std::thread &thread : threads)
    thread.join();
  StoreStats snapshot = stats;
  EXPECT_EQ(snapshot.hits.get(), 4000u);
}
