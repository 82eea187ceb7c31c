//===- FastCallable.h - Calls that skip the interpreter ---------*- C++ -*-===//
//
// The base of `tilec.Kernel` and of functions that are compiled when they are
// called: a call goes straight to C++, and only what that leaves undone to
// Python.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_FASTCALLABLE_H
#define TL_PYTHON_FASTCALLABLE_H

#include <nanobind/nanobind.h>

namespace tl::python {

/// Adds the class `FastCallable` to the module.
///
/// Calling an instance calls what `set_fast` gave it, with the same arguments.
/// Without that, or if the result is NotImplemented, it calls its own method
/// `_call_slowly`; so it does with keywords, unless it was given a CallTable.
/// After `return_lists` a tuple that `set_fast`'s function gives is made a
/// list.
bool addFastCallable(nanobind::module_ &module);

} // namespace tl::python

#endif // TL_PYTHON_FASTCALLABLE_H
