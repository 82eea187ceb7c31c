//===- Cache.h - The cache in Python ----------------------------*- C++ -*-===//
//
// Binds `tl-c/Cache.h` and `tl-c/Entry.h`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_CACHE_H
#define TL_PYTHON_CACHE_H

#include <nanobind/nanobind.h>

namespace tl::python {

/// Adds the functions `cache_…` and the class `Entry` to the extension.
void bindCache(nanobind::module_ &m);

} // namespace tl::python

#endif // TL_PYTHON_CACHE_H
