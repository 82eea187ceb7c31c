//===- Errors.h - Exceptions of the extension -------------------*- C++ -*-===//
//
// Turns errors of the runtime, and mistakes found here, into the exceptions of
// `tilec.errors`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_ERRORS_H
#define TL_PYTHON_ERRORS_H

#include <Python.h>

#include "tl-c/Runtime.h"
#include <string>

namespace tl::python {

/// Sets the Python exception `tilec.errors.<name>` with a message.
void setError(const char *name, const std::string &message);

/// Sets the exception that stands for a runtime error, and destroys the error.
void setError(TlError *error);

} // namespace tl::python

#endif // TL_PYTHON_ERRORS_H
