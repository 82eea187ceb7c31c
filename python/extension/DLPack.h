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

/// A DLPack device type.
enum DeviceType : int32_t { Host = 1, Cuda = 2, PinnedHost = 3 };

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

/// Set in `VersionedTensor::flags` of memory that must not be written to.
inline constexpr uint64_t ReadOnlyFlag = 1;

/// The functions that a framework offers to C, in a capsule that is the
/// attribute `__dlpack_c_exchange_api__` of its tensor type (DLPack 1.2). They
/// spare consumers the Python objects that a capsule per tensor costs.
struct ExchangeAPI {
  struct Header {
    uint32_t major;
    uint32_t minor;
    const Header *previous;
  } header;
  int (*allocate)(TlTensor *prototype, VersionedTensor **out, void *context,
                  void (*setError)(void *context, const char *kind,
                                   const char *message));
  int (*exportTensor)(void *object, VersionedTensor **out);
  int (*importTensor)(VersionedTensor *tensor, void **out);
  /// Describes a tensor without owning it; may be null. Sets a Python exception
  /// and returns -1 on failure, as do all.
  int (*describeTensor)(void *object, TlTensor *out);
  /// Finds the stream that the framework uses on a device now.
  int (*getCurrentStream)(int32_t deviceType, int32_t device, void **out);
};

inline constexpr const char *ExchangeAttribute = "__dlpack_c_exchange_api__";
inline constexpr const char *ExchangeCapsule = "dlpack_exchange_api";

inline constexpr const char *VersionedCapsule = "dltensor_versioned";
inline constexpr const char *FreshCapsule = "dltensor";
inline constexpr const char *UsedCapsule = "used_dltensor";
inline constexpr const char *UsedVersionedCapsule = "used_dltensor_versioned";

} // namespace tl::python

#endif // TL_PYTHON_DLPACK_H
