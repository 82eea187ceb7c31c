//===- SharedTiers.cpp - Shared tiers from the environment ----------------===//
//
// The one place that reads the variables of shared tiers: for `tl-opt`,
// `tl-translate` and Python alike, and never from a pass.
//
//===----------------------------------------------------------------------===//

#include "SharedTiers.h"

#include "Owned.h"
#include "tl-c/Compiler.h"
#include "tl/Pipeline/Pipelines.h"

#include "llvm/Support/WithColor.h"

#include <cstdlib>
#include <cstring>

using namespace llvm;
using tl::cache::SharedTiers;

static std::optional<std::string> readVariable(StringRef name) {
  const char *value = std::getenv(name.str().c_str());
  if (!value)
    return std::nullopt;
  return value;
}

char *tlCacheUseEnvironment(void) {
  Expected<SharedTiers> tiers = SharedTiers::parse(readVariable);
  if (!tiers) {
    tl::setSharedTiers({});
    return strdup(toString(tiers.takeError()).c_str());
  }
  tl::setSharedTiers(std::move(*tiers));
  return nullptr;
}

void tl::useSharedTiers(StringRef tool) {
  Owned<char> trouble(tlCacheUseEnvironment());
  if (trouble)
    WithColor::warning(errs(), tool)
        << trouble.get() << "; the cache is not shared\n";
}
