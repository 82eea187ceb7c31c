//===- TlCache.h - The cache behind a handle of the C API -------*- C++ -*-===//
//
// A handle owns the cache that it opened, or refers to one of the process.
//
//===----------------------------------------------------------------------===//

#ifndef TL_CAPI_TLCACHE_H
#define TL_CAPI_TLCACHE_H

#include "tl/Cache/Cache.h"

struct TlCache {
  explicit TlCache(std::unique_ptr<tl::cache::Cache> opened)
      : owned(std::move(opened)), cache(*owned) {}
  explicit TlCache(tl::cache::Cache &shared) : cache(shared) {}

private:
  const std::unique_ptr<tl::cache::Cache> owned;

public:
  tl::cache::Cache &cache;
};

#endif // TL_CAPI_TLCACHE_H
