//===- CacheCounters.h - What caching did in this process -------*- C++ -*-===//
//
// Counted by the pass that caches, over all directories. Tools print the
// numbers, and Python returns them.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PIPELINE_CACHECOUNTERS_H
#define TL_PIPELINE_CACHECOUNTERS_H

#include "tl/Cache/Cache.h"
#include "llvm/Support/JSON.h"

#include <map>

namespace tl {

/// Of the records of one stage, those that were looked up.
struct StageCounters {
  uint64_t hits = 0;
  uint64_t misses = 0;
  /// Bytes of the files of hits.
  uint64_t bytes = 0;
  /// What it took to make the hits once.
  double secondsSaved = 0;
};

/// Of kernels. A hit is a kernel whose whole record was there.
struct CacheCounters : StageCounters {
  /// Of the misses, those for which a pass ran; the records of the stages had
  /// the others.
  uint64_t compiled = 0;
  /// Of the misses, those that have errors.
  uint64_t failed = 0;
  /// Keying and looking up the hits.
  double lookupSeconds = 0;
  /// By the name of the stage's last pass.
  std::map<std::string, StageCounters> stages;
};

/// What was counted until now.
CacheCounters getCacheCounters();

/// {"hits", "misses", "compiled", "failed", "bytes", "seconds_saved",
/// "lookup_seconds", "stages": {name: {"hits", "misses", "bytes",
/// "seconds_saved"}}}.
llvm::json::Object toJSON(const CacheCounters &counters);

/// A kernel was found or made, in `seconds`; `compiled` if a pass ran.
void countKernel(const cache::Fetched &fetched, bool compiled, double seconds);

/// A kernel could not be made.
void countFailure();

/// A stage's record was found or made.
void countStage(llvm::StringRef stage, const cache::Fetched &fetched);

} // namespace tl

#endif // TL_PIPELINE_CACHECOUNTERS_H
