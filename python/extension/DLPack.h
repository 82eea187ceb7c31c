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

/// What consumers of DLPack 1.0 and later ask for. Without flags the memory may
/// be written to; consumers take that of the older form as read-only.
struct VersionedTensor {
  uint32_t major;
  uint32_t minor;
  void *context;
  void (*deleter)(VersionedTensor *self);
  uint64_t flags;
  TlTensor tensor;
};

inline constexpr const char *VersionedCapsule = "dltensor_versioned";
inline constexpr const char *FreshCapsule = "dltensor";
inline constexpr const char *UsedCapsule = "used_dltensor";

} // namespace tl::python

#endif // TL_PYTHON_DLPACK_H
