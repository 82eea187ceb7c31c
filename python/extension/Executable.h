//===- Executable.h - A loaded entry function -------------------*- C++ -*-===//
//
// Owns a `TlExecutable`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_EXECUTABLE_H
#define TL_PYTHON_EXECUTABLE_H

#include "tl-c/Runtime.h"
#include <memory>

namespace tl::python {

struct Executable {
  struct Destroy {
    void operator()(TlExecutable *executable) const {
      tlExecutableDestroy(executable);
    }
  };
  std::unique_ptr<TlExecutable, Destroy> handle;
};

} // namespace tl::python

#endif // TL_PYTHON_EXECUTABLE_H
