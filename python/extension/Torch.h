//===- Torch.h - Read PyTorch's tensors in nanoseconds ----------*- C++ -*-===//
//
// DLPack's functions serve every framework, and describing a tensor through
// PyTorch's takes 55 ns beside an H200, which a call with ten tensors pays ten
// times. The C functions that PyTorch keeps stable for compiled models take 24.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_TORCH_H
#define TL_PYTHON_TORCH_H

#include <Python.h>

#include "DLPack.h"

namespace tl::python {

/// Returns functions that read tensors of exactly the type of `tensor`, which
/// refuse lazy negations; null if it is no tensor of PyTorch, and for types and
/// a PyTorch that are not as expected.
///
/// `offered` is what the type offers itself, or null. It describes the tensors
/// that the functions cannot, or says why nobody can; all tensors but those of
/// `torch.Tensor` and `torch.nn.Parameter`.
const ExchangeAPI *findTorchFunctions(PyObject *tensor,
                                      const ExchangeAPI *offered);

/// Returns 1 if an object of any kind is a lazy negation of PyTorch's, 0 if
/// not, and -1 with a Python exception set after an error.
int isNegatedTensor(PyObject *object);

/// Returns false with a Python exception set if an object of any kind is a lazy
/// negation of PyTorch's, which a DLPack capsule does not say.
bool refuseNegatedTensor(PyObject *object);

/// Returns a tensor over the memory of one of PyTorch's that `__dlpack__` of
/// any of its versions takes: without its gradient, and of bytes where it is of
/// floats of 8 bits; `code` is DLPack's for those then, else 0. Other objects
/// are returned as they are. A new reference; null with a Python exception set
/// after an error.
PyObject *makeExportable(PyObject *object, uint8_t &code);

} // namespace tl::python

#endif // TL_PYTHON_TORCH_H
