//===- Compiled.h - Modules, before and after compilation -------*- C++ -*-===//
//
// Own a `TlModule` and a `TlCompiled`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_COMPILED_H
#define TL_PYTHON_COMPILED_H

#include "tl-c/Compiler.h"
#include <memory>

namespace tl::python {

struct Module {
  struct Destroy {
    void operator()(TlModule *module) const { tlModuleDestroy(module); }
  };
  std::unique_ptr<TlModule, Destroy> handle;
};

struct Compiled {
  struct Destroy {
    void operator()(TlCompiled *compiled) const { tlCompiledDestroy(compiled); }
  };
  std::unique_ptr<TlCompiled, Destroy> handle;
};

} // namespace tl::python

#endif // TL_PYTHON_COMPILED_H
