//===- FakeDriver.cpp - A libcuda that records calls ----------------------===//
//
// Every entry point notes its name, fails if the test wants it to, and else
// does what the test can see afterwards.
//
//===----------------------------------------------------------------------===//

#include "FakeDriver.h"
#include <cstring>
#include <deque>

using namespace tl::runtime;
using namespace tl::runtime::cu;

#define FAKE_API extern "C" __attribute__((visibility("default")))

namespace {
FakeDriver state;
/// Kernel names, whose addresses are the function handles.
std::deque<std::string> functions;
} // namespace

FAKE_API FakeDriver *getFakeDriver() { return &state; }

/// Notes a call and returns what it shall result in.
static CUresult note(const char *name) {
  state.calls.push_back(name);
  auto failure = state.failures.find(name);
  return failure == state.failures.end() ? CUDA_SUCCESS : failure->second;
}

#define NOTE_CALL(name)                                                        \
  if (CUresult result = note(#name); result != CUDA_SUCCESS)                   \
  return result

FAKE_API CUresult cuInit(unsigned) {
  NOTE_CALL(cuInit);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuDriverGetVersion(int *version) {
  *version = state.version;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuGetErrorName(CUresult error, const char **text) {
  switch (error) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    return CUDA_SUCCESS;
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    *text = "CUDA_ERROR_ILLEGAL_ADDRESS";
    return CUDA_SUCCESS;
  default:
    *text = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
  }
}

FAKE_API CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : nullptr;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuDeviceGetCount(int *count) {
  NOTE_CALL(cuDeviceGetCount);
  *count = state.deviceCount;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  NOTE_CALL(cuDeviceGet);
  *device = ordinal;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetName(char *name, int length, CUdevice) {
  NOTE_CALL(cuDeviceGetName);
  std::strncpy(name, "Fake GPU", length);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  NOTE_CALL(cuDeviceTotalMem_v2);
  *bytes = size_t(80) << 30;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                       CUdevice) {
  NOTE_CALL(cuDeviceGetAttribute);
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = state.major;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = state.minor;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = 232448;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = 60 << 20;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    *value = 1980000;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    *value = 3201000;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

FAKE_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context,
                                           CUdevice device) {
  NOTE_CALL(cuDevicePrimaryCtxRetain);
  *context = FakeDriver::primaryContext(device);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetCurrent(CUcontext *context) {
  NOTE_CALL(cuCtxGetCurrent);
  *context = state.current;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxSetCurrent(CUcontext context) {
  NOTE_CALL(cuCtxSetCurrent);
  state.current = context;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetDevice(CUdevice *device) {
  NOTE_CALL(cuCtxGetDevice);
  if (!state.current)
    return CUDA_ERROR_INVALID_VALUE;
  *device = static_cast<int>(reinterpret_cast<uintptr_t>(state.current) & 0xff);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxSynchronize() {
  NOTE_CALL(cuCtxSynchronize);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image,
                                     unsigned optionCount,
                                     CUjit_option *options, void **values) {
  for (unsigned i = 0; i != optionCount; ++i)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      std::strcpy(static_cast<char *>(values[i]), state.compilerLog.c_str());
  NOTE_CALL(cuModuleLoadDataEx);
  state.images.push_back(static_cast<const char *>(image));
  *module = reinterpret_cast<CUmodule>(state.images.size());
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuModuleUnload(CUmodule) {
  NOTE_CALL(cuModuleUnload);
  ++state.unloadedModules;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule,
                                      const char *name) {
  NOTE_CALL(cuModuleGetFunction);
  *function = reinterpret_cast<CUfunction>(&functions.emplace_back(name));
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes,
                                       CUmodule, const char *name) {
  NOTE_CALL(cuModuleGetGlobal_v2);
  auto variable = state.variables.find(name);
  if (variable == state.variables.end())
    return CUDA_ERROR_NOT_FOUND;
  *pointer = reinterpret_cast<CUdeviceptr>(variable->second.data());
  *bytes = variable->second.size();
  return CUDA_SUCCESS;
}

static const std::string &getName(CUfunction function) {
  return *reinterpret_cast<const std::string *>(function);
}

FAKE_API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                                     CUfunction) {
  NOTE_CALL(cuFuncGetAttribute);
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return CUDA_ERROR_INVALID_VALUE;
  *value = 48 << 10;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuFuncSetAttribute(CUfunction function,
                                     CUfunction_attribute attribute,
                                     int value) {
  NOTE_CALL(cuFuncSetAttribute);
  state.functionAttributes.push_back({getName(function), attribute, value});
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config,
                                   CUfunction function, void **params,
                                   void **extra) {
  NOTE_CALL(cuLaunchKernelEx);
  if (extra)
    return CUDA_ERROR_INVALID_VALUE;
  FakeDriver::Launch launch;
  launch.config = *config;
  launch.attributes.assign(config->attrs, config->attrs + config->numAttrs);
  launch.kernel = getName(function);
  launch.context = state.current;
  for (size_t i = 0; i != state.parameterSizes.size(); ++i) {
    const auto *bytes = static_cast<const uint8_t *>(params[i]);
    launch.params.emplace_back(bytes, bytes + state.parameterSizes[i]);
  }
  state.launches.push_back(std::move(launch));
  return CUDA_SUCCESS;
}

/// The encoding is a number: which call it comes from.
FAKE_API CUresult cuTensorMapEncodeTiled(
    CUtensorMap *map, CUtensorMapDataType type, uint32_t rank, void *address,
    const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
    const uint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
    CUtensorMapFloatOOBfill fill) {
  NOTE_CALL(cuTensorMapEncodeTiled);
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  state.encodings.push_back({type,
                             address,
                             {dims, dims + rank},
                             {strides, strides + rank - 1},
                             {box, box + rank},
                             {elementStrides, elementStrides + rank},
                             interleave,
                             swizzle,
                             promotion,
                             fill});
  std::memset(map, static_cast<int>(state.encodings.size()), sizeof(*map));
  return CUDA_SUCCESS;
}

/// Device memory is host memory.
FAKE_API CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t size) {
  NOTE_CALL(cuMemAlloc_v2);
  *pointer = reinterpret_cast<CUdeviceptr>(new char[size]);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemFree_v2(CUdeviceptr pointer) {
  NOTE_CALL(cuMemFree_v2);
  delete[] reinterpret_cast<char *>(pointer);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemHostAlloc(void **pointer, size_t size, unsigned) {
  NOTE_CALL(cuMemHostAlloc);
  *pointer = new char[size];
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemFreeHost(void *pointer) {
  NOTE_CALL(cuMemFreeHost);
  delete[] static_cast<char *>(pointer);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source,
                                  size_t size) {
  NOTE_CALL(cuMemcpyHtoD_v2);
  std::memcpy(reinterpret_cast<void *>(target), source, size);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source,
                                  size_t size) {
  NOTE_CALL(cuMemcpyDtoH_v2);
  std::memcpy(target, reinterpret_cast<const void *>(source), size);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source,
                                       size_t size, CUstream) {
  NOTE_CALL(cuMemcpyDtoDAsync_v2);
  std::memcpy(reinterpret_cast<void *>(target),
              reinterpret_cast<const void *>(source), size);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char byte,
                                  size_t size, CUstream) {
  NOTE_CALL(cuMemsetD8Async);
  std::memset(reinterpret_cast<void *>(target), byte, size);
  return CUDA_SUCCESS;
}

/// An event is the time of the driver's clock at which it was recorded; the
/// clock ticks once for each.
FAKE_API CUresult cuEventCreate(CUevent *event, unsigned) {
  NOTE_CALL(cuEventCreate);
  *event = reinterpret_cast<CUevent>(new float(0));
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventDestroy_v2(CUevent event) {
  NOTE_CALL(cuEventDestroy_v2);
  delete reinterpret_cast<float *>(event);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventRecord(CUevent event, CUstream) {
  NOTE_CALL(cuEventRecord);
  *reinterpret_cast<float *>(event) = ++state.clock;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventSynchronize(CUevent) {
  NOTE_CALL(cuEventSynchronize);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuEventElapsedTime(float *milliseconds, CUevent start,
                                     CUevent end) {
  NOTE_CALL(cuEventElapsedTime);
  *milliseconds =
      *reinterpret_cast<float *>(end) - *reinterpret_cast<float *>(start);
  return CUDA_SUCCESS;
}
