//===- Environment.cpp - The cache as the environment has it --------------===//
//
// What the variables of caches say, for tools and Python alike, and never for a
// pass.
//
//===----------------------------------------------------------------------===//

#include "Environment.h"

#include "Owned.h"
#include "tl-c/Compiler.h"
#include "tl/Pipeline/Pipelines.h"
#include "tl/Support/Environment.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/WithColor.h"

#include <cstring>

using namespace llvm;
using tl::cache::DirectoryOptions;
using tl::cache::SharedTiers;

/// What was read, or the defaults if it makes no sense: then `trouble` says
/// why, and what follows.
template <typename T>
static T valueOrDefault(Expected<T> read, StringRef consequence,
                        std::vector<std::string> &trouble) {
  if (read)
    return std::move(*read);
  trouble.push_back(toString(read.takeError()) + "; " + consequence.str());
  return T();
}

char *tlCacheUseEnvironment(void) {
  std::vector<std::string> trouble;
  auto directory =
      valueOrDefault(DirectoryOptions::parse(tl::readVariable),
                     "the cache's directory has its default bounds", trouble);
  auto shared = valueOrDefault(SharedTiers::parse(tl::readVariable),
                               "the cache is not shared", trouble);
  if (!shared.warning.empty())
    trouble.push_back(shared.warning);
  tl::setCacheOptions(std::move(directory), std::move(shared));
  return trouble.empty() ? nullptr : strdup(join(trouble, "; ").c_str());
}

void tl::useCacheEnvironment(StringRef tool) {
  Owned<char> trouble(tlCacheUseEnvironment());
  if (trouble)
    WithColor::warning(errs(), tool) << trouble.get() << '\n';
}
