//===- CUDADriver.h - The CUDA driver's binary interface --------*- C++ -*-===//
//
// The types and functions of the CUDA driver API that the runtime uses, with
// the names of the CUDA Driver API reference manual. Declared here so that
// nothing needs a CUDA toolkit to build; layouts and numbers are an ABI that
// drivers from CUDA 12.0 on keep.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_CUDADRIVER_H
#define TL_RUNTIME_CUDADRIVER_H

#include <cstddef>
#include <cstdint>

namespace tl::runtime::cu {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUmemHostAlloc_flags : unsigned { CU_MEMHOSTALLOC_PORTABLE = 1 };

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
};

enum CUjit_option : int {
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

enum CUlaunchAttributeID : int {
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
};

union CUlaunchAttributeValue {
  char pad[64];
  int cooperative;
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
};

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[8 - sizeof(CUlaunchAttributeID)];
  CUlaunchAttributeValue value;
};

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  const CUlaunchAttribute *attrs;
  unsigned numAttrs;
};

/// The driver asks for 64 bytes of alignment when it encodes one.
struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};

enum CUtensorMapDataType : int {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
  CU_TENSOR_MAP_DATA_TYPE_INT64 = 5,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT64 = 8,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
  CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 = 11,
};

enum CUtensorMapInterleave : int { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };

enum CUtensorMapSwizzle : int {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
};

enum CUtensorMapL2promotion : int { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2 };

enum CUtensorMapFloatOOBfill : int { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };

static_assert(sizeof(CUlaunchAttribute) == 72 && sizeof(CUlaunchConfig) == 56 &&
                  offsetof(CUlaunchAttribute, value) == 8 &&
                  offsetof(CUlaunchConfig, hStream) == 32 &&
                  sizeof(CUtensorMap) == 128,
              "the layouts are an ABI");

/// Every function that the runtime calls: name, symbol and parameters. The
/// symbols carry the version that cuda.h gives to the plain names. All return
/// CUresult.
#define TL_CUDA_FUNCTIONS(X)                                                   \
  X(cuInit, "cuInit", (unsigned flags))                                        \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int *version))                  \
  X(cuGetErrorName, "cuGetErrorName", (CUresult error, const char **text))     \
  X(cuGetErrorString, "cuGetErrorString", (CUresult error, const char **text)) \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                        \
  X(cuDeviceGet, "cuDeviceGet", (CUdevice * device, int ordinal))              \
  X(cuDeviceGetName, "cuDeviceGetName",                                        \
    (char *name, int length, CUdevice device))                                 \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute",                              \
    (int *value, CUdevice_attribute attribute, CUdevice device))               \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *bytes, CUdevice device)) \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                      \
    (CUcontext * context, CUdevice device))                                    \
  X(cuCtxGetCurrent, "cuCtxGetCurrent", (CUcontext * context))                 \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", (CUcontext context))                   \
  X(cuCtxGetDevice, "cuCtxGetDevice", (CUdevice * device))                     \
  X(cuCtxSynchronize, "cuCtxSynchronize", ())                                  \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                  \
    (CUmodule * module, const void *image, unsigned optionCount,               \
     CUjit_option *options, void **optionValues))                              \
  X(cuModuleUnload, "cuModuleUnload", (CUmodule module))                       \
  X(cuModuleGetFunction, "cuModuleGetFunction",                                \
    (CUfunction * function, CUmodule module, const char *name))                \
  X(cuModuleGetGlobal, "cuModuleGetGlobal_v2",                                 \
    (CUdeviceptr * pointer, size_t *bytes, CUmodule module, const char *name)) \
  X(cuFuncGetAttribute, "cuFuncGetAttribute",                                  \
    (int *value, CUfunction_attribute attribute, CUfunction function))         \
  X(cuFuncSetAttribute, "cuFuncSetAttribute",                                  \
    (CUfunction function, CUfunction_attribute attribute, int value))          \
  X(cuLaunchKernelEx, "cuLaunchKernelEx",                                      \
    (const CUlaunchConfig *config, CUfunction function, void **params,         \
     void **extra))                                                            \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                          \
    (CUtensorMap * map, CUtensorMapDataType type, uint32_t rank,               \
     void *address, const uint64_t *dims, const uint64_t *strides,             \
     const uint32_t *box, const uint32_t *elementStrides,                      \
     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,             \
     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill))          \
  X(cuMemAlloc, "cuMemAlloc_v2", (CUdeviceptr * pointer, size_t size))         \
  X(cuMemFree, "cuMemFree_v2", (CUdeviceptr pointer))                          \
  X(cuMemHostAlloc, "cuMemHostAlloc",                                          \
    (void **pointer, size_t size, unsigned flags))                             \
  X(cuMemFreeHost, "cuMemFreeHost", (void *pointer))                           \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2",                                           \
    (CUdeviceptr target, const void *source, size_t size))                     \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2",                                           \
    (void *target, CUdeviceptr source, size_t size))                           \
  X(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2",                                 \
    (CUdeviceptr target, CUdeviceptr source, size_t size, CUstream stream))    \
  X(cuMemsetD8Async, "cuMemsetD8Async",                                        \
    (CUdeviceptr target, unsigned char byte, size_t size, CUstream stream))    \
  X(cuEventCreate, "cuEventCreate", (CUevent * event, unsigned flags))         \
  X(cuEventDestroy, "cuEventDestroy_v2", (CUevent event))                      \
  X(cuEventRecord, "cuEventRecord", (CUevent event, CUstream stream))          \
  X(cuEventSynchronize, "cuEventSynchronize", (CUevent event))                 \
  X(cuEventElapsedTime, "cuEventElapsedTime",                                  \
    (float *milliseconds, CUevent start, CUevent end))

/// Pointers to the functions above.
struct Functions {
#define TL_DECLARE(name, symbol, parameters) CUresult(*name) parameters;
  TL_CUDA_FUNCTIONS(TL_DECLARE)
#undef TL_DECLARE
};

} // namespace tl::runtime::cu

#endif // TL_RUNTIME_CUDADRIVER_H
