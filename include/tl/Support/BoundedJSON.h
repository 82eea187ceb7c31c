//===- BoundedJSON.h - JSON that anyone may have written --------*- C++ -*-===//
//
// The one way in which JSON from files, servers and caches is read. LLVM's
// parser recurses and takes memory for every value, so that short text could
// exhaust the stack and long text the memory: what is too long, too deep or of
// too many values is refused before it is parsed.
//
//===----------------------------------------------------------------------===//

#ifndef TL_SUPPORT_BOUNDEDJSON_H
#define TL_SUPPORT_BOUNDEDJSON_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace tl {

struct JSONLimits {
  uint64_t maxBytes = uint64_t(16) << 20;
  /// How deeply objects and lists may be nested.
  unsigned maxDepth = 64;
  /// How many values, members included, there may be.
  uint64_t maxValues = 400000;
};

/// Why `text` is not parsed; success if it is within the limits, whether or not
/// it is JSON.
llvm::Error checkLimits(llvm::StringRef text, const JSONLimits &limits);

/// Parses what is within the limits. The error says what is wrong.
llvm::Expected<llvm::json::Value> parseBounded(llvm::StringRef text,
                                               const JSONLimits &limits = {});

} // namespace tl

#endif // TL_SUPPORT_BOUNDEDJSON_H
