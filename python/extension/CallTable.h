//===- CallTable.h - Calls that were made before ----------------*- C++ -*-===//
//
// What a function that is compiled when it is called did for arguments of one
// kind, so that the next such call needs no Python to find its kernel.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_CALLTABLE_H
#define TL_PYTHON_CALLTABLE_H

#include <nanobind/nanobind.h>

namespace tl::python {

/// Adds the class `CallTable` to the module.
///
///   table.remember(values, keywords, facts, target, order, defaults, guards)
///
/// remembers a call with `values`, the last of which have the names `keywords`:
/// - `facts` has one entry per value. None: the value does not matter. For a
///   tensor a tuple of (is stride, dimension): besides its element type, rank
///   and alignment these extents and strides matter. A constant must be the
///   same again, and its entry is ().
/// - Without `order` the call is answered with `target`, else `target` is
///   called with the arguments that `order` numbers: values, and after them
///   `defaults`.
/// - `guards`: places and what they hold, (dictionary, key, value) or (object,
///   attribute, value), without value where nothing is there. The call is
///   another one if a place holds another object.
/// A call with a tensor that comes in a capsule is not remembered. Constants
/// are told apart as numbers and strings, other objects by which they are.
///
/// It keeps the calls that were of use last.
void bindCallTable(nanobind::module_ &module);

bool isCallTable(PyObject *object);

/// Does what was remembered for such arguments, or returns NotImplemented.
PyObject *callCallTable(PyObject *self, PyObject *const *objects, size_t flags,
                        PyObject *keywords);

} // namespace tl::python

#endif // TL_PYTHON_CALLTABLE_H
