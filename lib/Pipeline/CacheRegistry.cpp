//===- CacheRegistry.cpp - The caches of this process ---------------------===//
//
// One cache object for each directory, so that all compilations of a process
// share its memory tier. They live until the process ends. A forked child has
// its own.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/Pipelines.h"
#include "tl/Support/PerProcess.h"

#include "llvm/ADT/StringMap.h"

using namespace tl;

namespace {
struct Registry {
  std::mutex mutex;
  llvm::StringMap<std::unique_ptr<cache::Cache>> caches;
};

/// How caches are opened; never changed or destroyed, so that a forked child
/// can read what its parent set.
struct OpenOptions {
  cache::DirectoryOptions directory;
  cache::SharedTiers shared;
};
} // namespace

static PerProcess<Registry> registries;
static std::atomic<const OpenOptions *> openOptions = nullptr;

void tl::setCacheOptions(cache::DirectoryOptions directory,
                         cache::SharedTiers shared) {
  openOptions = new OpenOptions{std::move(directory), std::move(shared)};
}

cache::Cache &tl::getCache(llvm::StringRef directory) {
  Registry &registry = registries.get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::unique_ptr<cache::Cache> &slot = registry.caches[directory];
  if (!slot) {
    cache::CacheOptions options;
    if (!directory.empty())
      options.directory = directory.str();
    const OpenOptions *chosen = openOptions;
    if (chosen && !directory.empty()) {
      options.directoryOptions = chosen->directory;
      options.shared = chosen->shared;
    }
    slot = std::make_unique<cache::Cache>(std::move(options));
  }
  return *slot;
}

void tl::forgetCaches() {
  Registry &registry = registries.get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  for (auto &entry : registry.caches)
    entry.second->forget();
}
