//===- Environment.h - The cache as the environment has it -----*- C++ -*-===//
//
// What a tool does about the variables of docs/cache.md when it starts.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CAPI_ENVIRONMENT_H
#define TL_LIB_CAPI_ENVIRONMENT_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// Uses caches as the environment says. `tool` warns of what makes no sense,
/// and works without it.
void useCacheEnvironment(llvm::StringRef tool);

} // namespace tl

#endif // TL_LIB_CAPI_ENVIRONMENT_H
