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

/// Returns functions that read tensors of exactly the type of `tensor`, a
/// `torch.Tensor` or a `torch.nn.Parameter`; null for any other object, and for
/// a PyTorch that is not as expected.
///
/// `offered` is what the type offers itself, or null. It describes the tensors
/// that the functions cannot, or says why nobody can.
const ExchangeAPI *findTorchFunctions(PyObject *tensor,
                                      const ExchangeAPI *offered);

} // namespace tl::python

#endif // TL_PYTHON_TORCH_H
