//===- SharedTiers.h - Shared tiers from the environment -------*- C++ -*-===//
//
// What a tool does about shared tiers when it starts.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CAPI_SHAREDTIERS_H
#define TL_LIB_CAPI_SHAREDTIERS_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// Uses the shared tiers that the environment names. `tool` warns if they make
/// no sense, and works without them.
void useSharedTiers(llvm::StringRef tool);

} // namespace tl

#endif // TL_LIB_CAPI_SHAREDTIERS_H
