//===- Overlap.h - Tensors that share memory --------------------*- C++ -*-===//
//
// Finds arguments of a call that overlap, for calls that are checked.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_OVERLAP_H
#define TL_PYTHON_OVERLAP_H

#include "tl-c/Runtime.h"

namespace tl::python {

/// Whether an element of `a` and one of `b` have a byte in common. Rows of one
/// may lie between those of the other without it.
bool shareMemory(const TlTensor &a, const TlTensor &b);

} // namespace tl::python

#endif // TL_PYTHON_OVERLAP_H
