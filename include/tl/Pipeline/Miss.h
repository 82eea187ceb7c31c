//===- Miss.h - Why something is not in the cache ---------------*- C++ -*-===//
//
// Where nothing may be compiled a miss is an error, and people want to know
// what they changed: the program, an option, a tool, the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PIPELINE_MISS_H
#define TL_PIPELINE_MISS_H

#include "tl/Cache/Cache.h"

namespace mlir {
class Diagnostic;
} // namespace mlir

namespace tl {

/// What a component of a kernel's key (Fingerprint.h) is to who wrote the
/// kernel, such as "the program" or "the header `two.h`".
std::string describeComponent(llvm::StringRef name);

/// Says in words in which components `key`, which missed, differs from the
/// nearest entry of the cache's directory.
std::string explainMiss(cache::Cache &cache, const cache::Key &key);

/// Marks the error that something is not in the cache, so that programs can
/// tell it from others.
void markNotCached(mlir::Diagnostic &diagnostic);
bool isMarkedNotCached(mlir::Diagnostic &diagnostic);

} // namespace tl

#endif // TL_PIPELINE_MISS_H
