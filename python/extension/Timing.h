//===- Timing.h - What measuring on a GPU needs -----------------*- C++ -*-===//
//
// Events, and fills and copies that are queued between them.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_TIMING_H
#define TL_PYTHON_TIMING_H

#include <nanobind/nanobind.h>

namespace tl::python {

void bindTiming(nanobind::module_ &module);

} // namespace tl::python

#endif // TL_PYTHON_TIMING_H
