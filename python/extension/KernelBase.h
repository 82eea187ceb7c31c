//===- KernelBase.h - What a kernel is to the interpreter ---------*- C++
//-*-===//
//
// The base of `tilec.Kernel`: a call goes straight to the kernel's launcher,
// and only what that leaves undone to Python.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_KERNELBASE_H
#define TL_PYTHON_KERNELBASE_H

#include <nanobind/nanobind.h>

namespace tl::python {

/// Adds the class `KernelBase` to the module.
///
/// Calling an instance calls what `set_fast` gave it, with the same arguments.
/// Without that, with keywords, or if the result is NotImplemented, it calls
/// its own method `_call_slowly`.
bool addKernelBase(nanobind::module_ &module);

} // namespace tl::python

#endif // TL_PYTHON_KERNELBASE_H
