//===- Library.h - Libraries of compiled kernels ----------------*- C++ -*-===//

#ifndef TL_PYTHON_LIBRARY_H
#define TL_PYTHON_LIBRARY_H

#include <nanobind/nanobind.h>

namespace tl::python {

/// Adds the functions of tl-c/Library.h, and the one that opens a library.
void bindLibrary(nanobind::module_ &m);

} // namespace tl::python

#endif // TL_PYTHON_LIBRARY_H
