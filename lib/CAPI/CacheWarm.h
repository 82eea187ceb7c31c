//===- CacheWarm.h - Compile files ahead of time ----------------*- C++ -*-===//
//
// The work of `tl-cache warm`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CAPI_CACHEWARM_H
#define TL_LIB_CAPI_CACHEWARM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace tl {

struct WarmOptions {
  std::string directory;
  std::string chip;
  std::string backend;
  std::string assembler;
  bool lineInfo = false;
  bool fastMath = false;
  /// How many files are compiled at once; 0 for as many as the machine has
  /// processors.
  unsigned jobs = 0;
};

/// Compiles files into the cache, in parallel, with a progress bar where the
/// standard error stream is a terminal. {"files": [{"file", "seconds",
/// "kernels": [{"name", "key", "path", "cached"}], "errors": [text]}],
/// "cached", "compiled", "failed"}: the last three count kernels, kernels and
/// files.
llvm::json::Object warmCache(llvm::ArrayRef<std::string> files,
                             const WarmOptions &options);

/// Prints what `warmCache` returned for people: errors to the standard error
/// stream, a line for each file and a sum to the standard output.
void printWarmed(const llvm::json::Object &answer);

} // namespace tl

#endif // TL_LIB_CAPI_CACHEWARM_H
