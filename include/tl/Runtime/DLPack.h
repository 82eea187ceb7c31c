//===- DLPack.h - The tensor structure that arguments come in ---*- C++ -*-===//
//
// The part of DLPack 1.x (dmlc/dlpack) that describes a tensor in memory, with
// the names and the layout of that standard. Declared here because it is an
// ABI, not a library.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_DLPACK_H
#define TL_RUNTIME_DLPACK_H

#include <cstdint>

namespace tl::runtime {

enum DLDeviceType : int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLCUDAManaged = 13,
};

struct DLDevice {
  DLDeviceType type;
  int32_t id;
};

enum DLDataTypeCode : uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e4m3fnuz = 11,
  kDLFloat8_e5m2 = 12,
  kDLFloat8_e5m2fnuz = 13,
  kDLFloat8_e8m0fnu = 14,
  kDLFloat4_e2m1fn = 17,
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;

  bool operator==(const DLDataType &) const = default;
};

struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  const int64_t *shape;
  /// In elements; null for a row-major contiguous tensor.
  const int64_t *strides;
  uint64_t byteOffset;
};

static_assert(sizeof(DLTensor) == 48, "the layout is an ABI");

} // namespace tl::runtime

#endif // TL_RUNTIME_DLPACK_H
