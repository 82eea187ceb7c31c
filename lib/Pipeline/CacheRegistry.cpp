//===- CacheRegistry.cpp - The caches of this process ---------------------===//
//
// One cache object for each directory, so that all compilations of a process
// share its memory tier. They live until the process ends.
//
//===----------------------------------------------------------------------===//

#include "tl/Pipeline/Pipelines.h"

#include "llvm/ADT/StringMap.h"

using namespace tl;

namespace {
struct Registry {
  std::mutex mutex;
  llvm::StringMap<std::unique_ptr<cache::Cache>> caches;
  cache::DirectoryOptions directoryOptions;
  cache::SharedTiers sharedTiers;

  static Registry &get() {
    // Never destroyed: kernels may be compiled while the process ends.
    static auto *registry = new Registry;
    return *registry;
  }
};
} // namespace

void tl::setCacheOptions(cache::DirectoryOptions directory,
                         cache::SharedTiers shared) {
  Registry &registry = Registry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.directoryOptions = std::move(directory);
  registry.sharedTiers = std::move(shared);
}

cache::Cache &tl::getCache(llvm::StringRef directory) {
  Registry &registry = Registry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  std::unique_ptr<cache::Cache> &slot = registry.caches[directory];
  if (!slot) {
    cache::CacheOptions options;
    if (!directory.empty()) {
      options.directory = directory.str();
      options.directoryOptions = registry.directoryOptions;
      options.shared = registry.sharedTiers;
    }
    slot = std::make_unique<cache::Cache>(std::move(options));
  }
  return *slot;
}

void tl::forgetCaches() {
  Registry &registry = Registry::get();
  std::lock_guard<std::mutex> lock(registry.mutex);
  for (auto &entry : registry.caches)
    entry.second->forget();
}
