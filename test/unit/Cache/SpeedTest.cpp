//===- SpeedTest.cpp - What a hit costs -----------------------------------===//
//
// The bounds are what is promised, several times what is measured on a quiet
// machine; what was measured is printed, and recorded with
// `--gtest_output=xml`.
//
//===----------------------------------------------------------------------===//

#include "TestSupport.h"
#include "Tracer.h"

#include "llvm/Support/Format.h"

using namespace llvm;
using namespace tl::cache;
using namespace tl::cache::test;
using Clock = std::chrono::steady_clock;

namespace {

/// An entry of the size of a matrix product's.
Entry makeLargeEntry() {
  Entry entry;
  for (auto [name, size] :
       {std::pair("kernel.cubin", 30'000), std::pair("kernel.mlir", 15'000),
        std::pair("kernel.ptx", 25'000), std::pair("plan.json", 2'000)}) {
    std::string bytes;
    for (int i = 0; i < size; ++i)
      bytes += char(' ' + i * i % 89);
    entry.addFile(name, std::move(bytes));
  }
  return entry;
}

class SpeedTest : public testing::Test {
protected:
  /// Prints and records the median of many runs, in microseconds.
  double measure(const char *name, int numRuns, function_ref<void()> run) {
    std::vector<double> times;
    for (int i = 0; i < numRuns; ++i) {
      auto start = Clock::now();
      run();
      times.push_back(secondsSince(start) * 1e6);
    }
    std::nth_element(times.begin(), times.begin() + numRuns / 2, times.end());
    double median = times[numRuns / 2];
    outs() << name << ": " << format("%.1f", median) << " us\n";
    RecordProperty(name, std::to_string(median));
    return median;
  }

  TemporaryDirectory directory;
};

} // namespace

TEST_F(SpeedTest, AHit) {
  CacheOptions options;
  options.directory = directory.path();
  Cache cache(options);
  Key key = makeKey("k");
  cache.insert(key, makeLargeEntry());
  DirectoryStore &store = *cantFail(cache.directory());
  EXPECT_LT(measure("disk_hit", 1000,
                    [&] {
                      EntryPtr entry = cantFail(store.lookup(key));
                      ASSERT_EQ(entry->size(), 72'000u);
                    }),
            500);
  Key deviceKey =
      KeyBuilder().add("kernel", "k").addUse(Use::LoadOnDevice).build();
  cache.insert(deviceKey, makeLargeEntry());
  EXPECT_LT(measure("disk_hit_of_device_code", 1000,
                    [&] {
                      EntryPtr entry = cantFail(store.lookup(deviceKey));
                      ASSERT_EQ(entry->size(), 72'000u);
                    }),
            500);
  EXPECT_LT(measure("memory_hit", 10000,
                    [&] { ASSERT_NE(cache.lookup(key), nullptr); }),
            20);
}

TEST_F(SpeedTest, AThousandEntries) {
  auto store = cantFail(DirectoryStore::open(directory.path()));
  auto entry = std::make_shared<const Entry>(makeLargeEntry());
  constexpr int numEntries = 1000;
  for (int i = 0; i < numEntries; ++i)
    cantFail(store->insert(makeKey(std::to_string(i)), entry));
  constexpr double fewSeconds = 5e6;
  EXPECT_LT(measure("list_1000", 3,
                    [&] {
                      ASSERT_EQ(cantFail(store->list()).size(),
                                size_t(numEntries));
                    }),
            fewSeconds);
  EXPECT_LT(measure("verify_1000", 3,
                    [&] {
                      for (const Digest &name : cantFail(store->names()))
                        cantFail(store->verify(name));
                    }),
            fewSeconds);
  EXPECT_LT(measure("prune_1000", 1,
                    [&] {
                      PruneResult result =
                          cantFail(store->prune({.maxBytes = 0, .maxAge = {}}));
                      ASSERT_EQ(result.removedEntries, uint64_t(numEntries));
                    }),
            fewSeconds);
}
