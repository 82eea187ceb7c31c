//===- tl-c/Call.h - What a call takes and returns --------------*- C -*-===//
//
// The types of a kernel's call: tensors, scalars, and the kinds of errors. They
// are the same for the runtime (tl-c/Runtime.h) and for libraries of kernels
// that need no runtime, which come with this header.
//
//===----------------------------------------------------------------------===//

#ifndef TL_C_CALL_H
#define TL_C_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What kind of mistake an error is, so that a binding can choose the exception
/// class. The numbers are part of the interface.
typedef enum TlErrorCategory {
  /// The plan or an image cannot be loaded, or they do not fit together.
  TL_ERROR_PLAN = 1,
  /// Too few or too many arguments.
  TL_ERROR_ARGUMENT_COUNT = 2,
  /// A scalar where a tensor is expected, a float where an integer is, ...
  TL_ERROR_ARGUMENT_KIND = 3,
  /// A tensor has the wrong number of dimensions.
  TL_ERROR_RANK = 4,
  /// A tensor has the wrong element type.
  TL_ERROR_DTYPE = 5,
  /// A dimension differs from a constant or from another dimension.
  TL_ERROR_SHAPE = 6,
  /// A stride is not what the plan asks for.
  TL_ERROR_STRIDE = 7,
  /// A data pointer is not aligned as the plan asks for.
  TL_ERROR_ALIGNMENT = 8,
  /// A tensor is on the wrong device, or tensors are on different devices.
  TL_ERROR_DEVICE = 9,
  /// A tensor that has elements has no data.
  TL_ERROR_NULL_POINTER = 10,
  /// A scalar, a grid or a computed parameter is outside of its range, or a
  /// computation of the plan divides by zero or overflows.
  TL_ERROR_VALUE = 11,
  /// The kernel was built for another GPU than this one.
  TL_ERROR_ARCHITECTURE = 12,
  /// There is no CUDA driver, it is too old, or there is no such GPU.
  TL_ERROR_NO_CUDA = 13,
  /// A memory allocation failed.
  TL_ERROR_OUT_OF_MEMORY = 14,
  /// Any other failure that the CUDA driver reports.
  TL_ERROR_CUDA = 15,
  /// The simulator found that the kernel does what it may not do.
  TL_ERROR_SIMULATION = 16,
  /// The process did not want the call any more (tlSetInterruptionCheck).
  TL_ERROR_INTERRUPTED = 17,
  /// Blocks on the CPU wait for each other, or for ones that have ended.
  TL_ERROR_DEADLOCK = 18,
} TlErrorCategory;

/// A tensor in memory that somebody else owns. Laid out exactly as `DLTensor`
/// of DLPack 1.x, so that a `const DLTensor *` can be cast to a
/// `const TlTensor *`.
typedef struct TlTensor {
  void *data;
  struct {
    /// DLDeviceType. 1: CPU, 2: CUDA, 3: pinned host memory (taken as CPU),
    /// 13: CUDA managed memory (taken as CUDA).
    int32_t type;
    int32_t id;
  } device;
  int32_t rank;
  struct {
    /// DLDataTypeCode. 0: int, 1: uint, 2: float, 4: bfloat, 6: bool,
    /// 10: float8_e4m3fn, 11: float8_e4m3fnuz, 12: float8_e5m2,
    /// 13: float8_e5m2fnuz, 14: float8_e8m0fnu, 17: float4_e2m1fn.
    uint8_t code;
    uint8_t bits;
    /// 1, and 2 of float4_e2m1fn; other vectors are not supported.
    uint16_t lanes;
  } dtype;
  /// `rank` extents; may be NULL if `rank` is 0.
  const int64_t *shape;
  /// `rank` strides in elements, or NULL for a row-major contiguous tensor.
  const int64_t *strides;
  /// Added to `data` to reach the first element.
  uint64_t byteOffset;
} TlTensor;

/// Which member of a TlArgument holds the value.
typedef enum TlArgumentKind {
  /// `tensor`.
  TL_ARGUMENT_TENSOR = 0,
  /// `integer`; fits every integer, float and `i1` (0 or 1) parameter that can
  /// represent the value.
  TL_ARGUMENT_INT = 1,
  /// `unsignedInteger`; the same, for values above INT64_MAX.
  TL_ARGUMENT_UINT = 2,
  /// `real`; fits float parameters only. Rounded to nearest even; a finite
  /// value that becomes infinite is an error.
  TL_ARGUMENT_FLOAT = 3,
  /// `boolean`; fits `i1` and, as 0 or 1, integer parameters.
  TL_ARGUMENT_BOOL = 4,
} TlArgumentKind;

/// One argument of a call.
typedef struct TlArgument {
  /// A TlArgumentKind.
  int32_t kind;
  union {
    const TlTensor *tensor;
    int64_t integer;
    uint64_t unsignedInteger;
    double real;
    bool boolean;
  } value;
} TlArgument;

/// A kernel compiled for the CPU. Runs the blocks with linear index `begin` to
/// `end - 1` of a grid; block `i` has the coordinates x = i % gridX,
/// y = i / gridX % gridY, z = i / (gridX * gridY). `params[i]` points to the
/// value of parameter `i`. Called from several threads at once, with disjoint
/// ranges that cover the grid.
typedef void (*TlHostKernel)(void *const *params, int64_t begin, int64_t end,
                             int64_t gridX, int64_t gridY);

#ifdef __cplusplus
}
#endif

#endif // TL_C_CALL_H
