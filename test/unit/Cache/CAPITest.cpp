//===- CAPITest.cpp - The cache through its C API -------------------------===//

#include "TestSupport.h"

#include "tl-c/Cache.h"

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;

namespace {

/// Takes a text that was given to the caller.
std::string take(char *text) {
  EXPECT_NE(text, nullptr);
  std::string result = text ? text : "";
  tlFree(text);
  return result;
}

json::Value takeJSON(char *text) { return cantFail(json::parse(take(text))); }

class CacheCAPITest : public testing::Test {
protected:
  CacheCAPITest() {
    auto store = cantFail(DirectoryStore::open(directory.path()));
    for (StringRef target : {"sm_80", "sm_90a"})
      cantFail(store->insert(makeKey("k", target), makeEntryPtr("k")));
    cache = tlCacheOpen(directory.path().c_str(), nullptr);
  }
  ~CacheCAPITest() { tlCacheDestroy(cache); }

  TemporaryDirectory directory;
  TlCache *cache;
  char *error = nullptr;
};

} // namespace

TEST_F(CacheCAPITest, ListsAndShows) {
  json::Value list = takeJSON(tlCacheList(cache, &error));
  ASSERT_EQ(list.getAsArray()->size(), 2u);

  std::string key = makeKey("k", "sm_80").hex();
  json::Value shown = takeJSON(tlCacheShow(cache, key.c_str(), &error));
  EXPECT_TRUE(is_contained(*list.getAsArray(), shown));
  const json::Object &entry = *shown.getAsObject();
  EXPECT_EQ(entry.getString("key"), StringRef(key));
  EXPECT_TRUE(sys::fs::exists(*entry.getString("directory")));
  EXPECT_GT(*entry.getInteger("size"), 0);
  EXPECT_EQ(entry.getString("last_use")->size(), 20u);
  EXPECT_EQ(entry.getArray("components")->size(), 2u);
  EXPECT_EQ(entry.getArray("files")->size(), 2u);
  EXPECT_EQ(entry.getObject("metadata")->getString("made_for"), StringRef("k"));

  EXPECT_EQ(tlCacheShow(cache, "xyz", &error), nullptr);
  EXPECT_TRUE(contains(take(error), "holds no entry `xyz`"));
}

TEST_F(CacheCAPITest, ExplainsWithAndWithoutTheOtherKey) {
  std::string first = makeKey("k", "sm_80").hex();
  std::string second = makeKey("k", "sm_90a").hex();
  for (const char *other : {second.c_str(), (const char *)nullptr}) {
    json::Value value =
        takeJSON(tlCacheExplain(cache, first.c_str(), other, &error));
    EXPECT_EQ(value, json::Value(json::Object{
                         {"first", first},
                         {"second", second},
                         {"differences",
                          json::Array{json::Object{{"name", "target"},
                                                   {"first", "sm_80"},
                                                   {"second", "sm_90a"}}}},
                         {"input", nullptr}}));
  }
}

TEST_F(CacheCAPITest, VerifiesPrunesAndClears) {
  std::string damaged = makeKey("k", "sm_80").hex();
  writeText(directory.path("cache/v1/") + damaged.substr(0, 2) + "/" + damaged +
                "/kernel.ptx",
            "");
  json::Value verified = takeJSON(tlCacheVerify(cache, &error));
  EXPECT_EQ(verified.getAsObject()->getInteger("checked"), 2);
  const json::Array &problems = *verified.getAsObject()->getArray("problems");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_TRUE(contains(*problems[0].getAsString(), "kernel.ptx"));

  json::Value stats = takeJSON(tlCacheStats(cache));
  const json::Array &tiers = *stats.getAsObject()->getArray("tiers");
  ASSERT_EQ(tiers.size(), 2u);
  EXPECT_EQ(tiers[1].getAsObject()->getInteger("quarantined"), 1);

  auto prune = [&](uint64_t maxBytes) {
    json::Value value =
        takeJSON(tlCachePrune(cache, maxBytes, TL_CACHE_UNBOUNDED, &error));
    return *value.getAsObject()->getInteger("remaining_entries");
  };
  EXPECT_EQ(prune(TL_CACHE_UNBOUNDED), 1);
  EXPECT_EQ(prune(0), 0);

  json::Value cleared = takeJSON(tlCacheClear(cache, &error));
  EXPECT_EQ(cleared.getAsObject()->getInteger("removed"), 0);
  EXPECT_EQ(take(tlCacheList(cache, &error)), "[]");
}

TEST_F(CacheCAPITest, ExportsAndImports) {
  std::string path = directory.path("bundle");
  std::string key = makeKey("k", "sm_80").hex();
  const char *keys[] = {key.c_str(), key.c_str()};
  json::Value exported =
      takeJSON(tlCacheExport(cache, path.c_str(), keys, 2, &error));
  EXPECT_EQ(exported.getAsObject()->getInteger("entries"), 1);
  exported = takeJSON(tlCacheExport(cache, path.c_str(), nullptr, 0, &error));
  EXPECT_EQ(exported.getAsObject()->getInteger("entries"), 2);

  TlCache *other = tlCacheOpen(directory.path("other").c_str(), nullptr);
  json::Value imported = takeJSON(tlCacheImport(other, path.c_str(), &error));
  EXPECT_EQ(imported.getAsObject()->getInteger("imported"), 2);
  EXPECT_EQ(imported.getAsObject()->getInteger("present"), 0);
  tlCacheDestroy(other);

  keys[1] = "xyz";
  EXPECT_EQ(tlCacheExport(cache, path.c_str(), keys, 2, &error), nullptr);
  EXPECT_TRUE(contains(take(error), "holds no entry `xyz`"));
  writeText(path, "");
  EXPECT_EQ(tlCacheImport(cache, path.c_str(), &error), nullptr);
  EXPECT_TRUE(contains(take(error), "is cut short"));
}

TEST_F(CacheCAPITest, AnUnusableDirectoryIsSaidOnceAndAgainOnRequest) {
  std::string heard;
  TlCacheOptions options = {};
  options.warn = [](const char *message, void *data) {
    *static_cast<std::string *>(data) += message;
  };
  options.warnData = &heard;
  writeText(directory.path("file"), "");
  TlCache *broken = tlCacheOpen(directory.path("file").c_str(), &options);
  EXPECT_TRUE(contains(heard, "is not a directory"));
  EXPECT_EQ(tlCacheList(broken, &error), nullptr);
  EXPECT_EQ(take(error), heard);
  EXPECT_EQ(tlCacheVerify(broken, nullptr), nullptr);
  EXPECT_TRUE(contains(take(tlCacheClear(broken, nullptr)), "\"removed\": 0"));
  tlCacheDestroy(broken);
}
