//===- CacheCounters.cpp - What caching did in this process ---------------===//
//
// See CacheCounters.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/CacheCounters.h"

#include "StoredKernel.h"
#include "tl/Support/PerProcess.h"

using namespace tl;
using llvm::json::Object;

namespace {
struct Totals {
  std::mutex mutex;
  CacheCounters counters;
};
} // namespace

static PerProcess<Totals> processTotals;

/// Calls `change` with the counters, which no other thread changes meanwhile.
static void update(llvm::function_ref<void(CacheCounters &)> change) {
  Totals &totals = processTotals.get();
  std::lock_guard<std::mutex> lock(totals.mutex);
  change(totals.counters);
}

static void count(StageCounters &counters, const cache::Fetched &fetched) {
  if (fetched.origin == cache::Origin::Made) {
    ++counters.misses;
    return;
  }
  ++counters.hits;
  counters.bytes += fetched.entry->size();
  counters.secondsSaved += getSeconds(*fetched.entry);
}

CacheCounters tl::getCacheCounters() {
  CacheCounters counters;
  update([&](CacheCounters &current) { counters = current; });
  return counters;
}

void tl::countKernel(const cache::Fetched &fetched, bool compiled,
                     double seconds) {
  update([&](CacheCounters &counters) {
    count(counters, fetched);
    counters.compiled += compiled;
    if (fetched.origin == cache::Origin::Stored)
      counters.lookupSeconds += seconds;
  });
}

void tl::countFailure() {
  update([](CacheCounters &counters) {
    ++counters.misses;
    ++counters.failed;
  });
}

void tl::countStage(llvm::StringRef stage, const cache::Fetched &fetched) {
  update([&](CacheCounters &counters) {
    count(counters.stages[stage.str()], fetched);
  });
}

static Object toJSON(const StageCounters &counters) {
  return Object{{"hits", counters.hits},
                {"misses", counters.misses},
                {"bytes", counters.bytes},
                {"seconds_saved", counters.secondsSaved}};
}

Object tl::toJSON(const CacheCounters &counters) {
  Object object = ::toJSON(static_cast<const StageCounters &>(counters));
  object["compiled"] = counters.compiled;
  object["failed"] = counters.failed;
  object["lookup_seconds"] = counters.lookupSeconds;
  Object stages;
  for (const auto &[name, stage] : counters.stages)
    stages[name] = ::toJSON(stage);
  object["stages"] = std::move(stages);
  return object;
}
