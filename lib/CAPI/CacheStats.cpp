//===- CacheStats.cpp - What the cache did, for tools ---------------------===//
//
// See CacheStats.h.
//
//===----------------------------------------------------------------------===//

#include "CacheStats.h"

#include "tl/Pipeline/CacheCounters.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

bool tl::writeCacheStats(StringRef path, StringRef tool) {
  if (path.empty())
    return true;
  std::error_code error;
  raw_fd_ostream os(path, error);
  if (!error) {
    os << formatv("{0:2}\n", json::Value(toJSON(getCacheCounters())));
    os.flush();
    error = os.error();
    os.clear_error();
  }
  if (error)
    WithColor::error(errs(), tool)
        << "cannot write `" << path << "`: " << error.message() << '\n';
  return !error;
}
