//===- Owned.h - What the C API returned, freed in time ---------*- C++ -*-===//
//
// For our own tools over the C API: owners of its objects.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_CAPI_OWNED_H
#define TL_LIB_CAPI_OWNED_H

#include "tl-c/Cache.h"
#include "tl-c/Compiler.h"
#include "tl-c/Entry.h"

#include <memory>

namespace tl {

struct Free {
  void operator()(char *text) const { tlFree(text); }
  void operator()(TlModule *module) const { tlModuleDestroy(module); }
  void operator()(TlCompiled *compiled) const { tlCompiledDestroy(compiled); }
  void operator()(TlCache *cache) const { tlCacheDestroy(cache); }
  void operator()(TlEntry *entry) const { tlEntryDestroy(entry); }
};

template <typename T>
using Owned = std::unique_ptr<T, Free>;

} // namespace tl

#endif // TL_LIB_CAPI_OWNED_H
