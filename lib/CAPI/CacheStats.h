//===- CacheStats.h - What the cache did, for tools -------------*- C++ -*-===//
//
// What is behind the option `--cache-stats` of the tools that compile.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CAPI_CACHESTATS_H
#define TL_LIB_CAPI_CACHESTATS_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// Writes what was counted in this process (`tlCacheCounters`) to the file at
/// `path`, or to standard output for `-`; nothing if it is empty. False, having
/// said why on behalf of `tool`, if it cannot.
bool writeCacheStats(llvm::StringRef path, llvm::StringRef tool);

} // namespace tl

#endif // TL_LIB_CAPI_CACHESTATS_H
