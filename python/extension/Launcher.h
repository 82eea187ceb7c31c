//===- Launcher.h - The call of a kernel ------------------------*- C++ -*-===//
//
// The one function that runs on every launch. Its type is made with CPython's
// own interface, because a vectorcall receives the arguments without a tuple
// and without overload resolution.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_LAUNCHER_H
#define TL_PYTHON_LAUNCHER_H

#include <nanobind/nanobind.h>

namespace tl::python {

/// Adds the class `Launcher` to the module.
///
///   Launcher(executable, parameters, is_cuda, current_stream)
///
/// `parameters` is a tuple of (name, is tensor, is written); `current_stream`
/// is a function from a GPU's number to a stream's address. Calling a launcher
/// returns None, or NotImplemented if Python has to prepare the arguments: they
/// have keywords, or the kernel runs on a GPU and an argument is memory of the
/// host, which is copied first.
bool addLauncher(nanobind::module_ &module);

bool isLauncher(PyObject *object);

/// Calls a launcher, as PyObject_Vectorcall does.
PyObject *callLauncher(PyObject *self, PyObject *const *objects, size_t flags,
                       PyObject *keywords);

} // namespace tl::python

#endif // TL_PYTHON_LAUNCHER_H
