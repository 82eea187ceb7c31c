//===- ResultCall.h - Calls that allocate what they return ------*- C++ -*-===//
//
// A kernel's results are tensors of PyTorch if its arguments are. Making them
// costs as much as the launch; all else around it is to cost nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_RESULTCALL_H
#define TL_PYTHON_RESULTCALL_H

#include <nanobind/nanobind.h>

namespace tl::python {

/// Adds the class `ResultCall` to the module.
///
///   ResultCall(launch, count, like, kinds, results, returned)
///
/// is for a kernel of `count` arguments, whose results `launch` takes among
/// them. `results` has for each, in the order in which they are returned: its
/// parameter's number, its element type in PyTorch, and its extents, integers
/// or pairs of an argument and a dimension. They are made by the method
/// `new_empty` of argument number `like`, whose type must be one of `kinds`.
/// The first `returned` of them are returned; the others are workspaces.
void bindResultCall(nanobind::module_ &module);

bool isResultCall(PyObject *object);

/// Makes the results, launches, and returns them: one, or a tuple of them.
/// Returns NotImplemented for other arguments, and what `launch` leaves undone.
PyObject *callResultCall(PyObject *self, PyObject *const *objects, size_t flags,
                         PyObject *keywords);

} // namespace tl::python

#endif // TL_PYTHON_RESULTCALL_H
