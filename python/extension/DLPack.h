//===- DLPack.h - The part of DLPack that capsules hold ---------*- C++ -*-===//
//
// `TlTensor` has the layout of `DLTensor`; a capsule named "dltensor" holds it
// with its owner.
//
//===----------------------------------------------------------------------===//

#ifndef TL_PYTHON_DLPACK_H
#define TL_PYTHON_DLPACK_H

#include "tl-c/Runtime.h"

namespace tl::python {

struct ManagedTensor {
  TlTensor tensor;
  void *context;
  void (*deleter)(ManagedTensor *self);
};

inline constexpr const char *FreshCapsule = "dltensor";
inline constexpr const char *UsedCapsule = "used_dltensor";

} // namespace tl::python

#endif // TL_PYTHON_DLPACK_H
