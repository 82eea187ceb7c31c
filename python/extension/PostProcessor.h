//===- PostProcessor.h - A Python function that edits source ----*- C++ -*-===//
//
// Hands a Python function to the compiler, which calls it from any thread while
// the interpreter's lock is released.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_POSTPROCESSOR_H
#define TL_PYTHON_POSTPROCESSOR_H

#include "tl-c/Compiler.h"
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>

namespace tl::python {

class PostProcessor {
public:
  /// `function` takes source and chip and returns the source to use; `id` says
  /// everything that it does.
  PostProcessor(std::string id, nanobind::callable function);

  /// What the compiler is given; refers to this object.
  TlPostProcessor handle() const;

  /// Raises again what the function raised, if it did.
  void rethrow() const;

private:
  struct State;
  static char *process(const char *source, const char *chip, void *data,
                       char **error);

  const std::string id;
  /// Shared with the compiler: another thread may still be calling.
  const std::shared_ptr<State> state;
};

} // namespace tl::python

#endif // TL_PYTHON_POSTPROCESSOR_H
