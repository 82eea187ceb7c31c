//===- Driver.cpp - The CUDA driver, opened at run time -------------------===//
//
// The library is opened with dlopen and stays open: the driver has threads of
// its own, which would not survive an unload during exit.
//
//===----------------------------------------------------------------------===//

#include "tl/Runtime/Driver.h"
#include "tl/Runtime/RuntimeError.h"
#include "llvm/Support/FormatVariadic.h"
#include <array>
#include <dlfcn.h>
#include <pthread.h>

using namespace llvm;
using namespace tl::runtime;
using namespace tl::runtime::cu;

/// The oldest driver with tensor maps and extensible launches: CUDA 12.0.
static constexpr int oldestVersion = 12000;

static std::string formatVersion(int version) {
  return formatv("{0}.{1}", version / 1000, version % 1000 / 10);
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

Expected<Driver &> Driver::get() {
  // The driver is never closed, for the sake of executables that are destroyed
  // while the process exits. An error is kept as category and text, because an
  // Error can be taken only once.
  static Driver *driver = nullptr;
  static ErrorCategory category;
  static std::string message;
  [[maybe_unused]] static bool once = [] {
    Expected<std::unique_ptr<Driver>> opened = open("libcuda.so.1");
    if (opened)
      driver = opened->release();
    else
      handleAllErrors(opened.takeError(), [](const RuntimeError &error) {
        category = error.getCategory();
        message = error.getMessage();
      });
    return true;
  }();
  if (!driver)
    return makeError(category, message);
  return *driver;
}

Expected<std::unique_ptr<Driver>> Driver::open(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return makeError(ErrorCategory::NoCUDA,
                     formatv("no CUDA driver: {0}; install the NVIDIA driver, "
                             "or give a container access to the GPU",
                             dlerror()));
  std::unique_ptr<Driver> driver(new Driver());
  if (Error error = driver->resolve(library))
    return error;
  if (Error error = driver->initialize())
    return error;
  return std::move(driver);
}

/// Finds all functions, and says so if the driver is too old to have them.
Error Driver::resolve(void *library) {
  const char *missing = nullptr;
#define TL_RESOLVE(name, symbol, parameters)                                   \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, symbol));     \
  if (!api.name && !missing)                                                   \
    missing = symbol;
  TL_CUDA_FUNCTIONS(TL_RESOLVE)
#undef TL_RESOLVE

  if (api.cuDriverGetVersion)
    (void)api.cuDriverGetVersion(&version);
  if (version >= oldestVersion && !missing)
    return Error::success();
  if (version == 0 || version >= oldestVersion)
    return makeError(ErrorCategory::NoCUDA,
                     formatv("the CUDA driver has no function `{0}`; reinstall "
                             "the NVIDIA driver",
                             missing ? missing : "cuDriverGetVersion"));
  return makeError(ErrorCategory::NoCUDA,
                   formatv("the CUDA driver supports CUDA {0}, expected {1} or "
                           "newer; update the NVIDIA driver",
                           formatVersion(version),
                           formatVersion(oldestVersion)));
}

/// How often this process was forked from one that had this library loaded.
static std::atomic<unsigned> forks = 0;

/// Starts the driver and counts the devices; having none is not an error.
Error Driver::initialize() {
  [[maybe_unused]] static int registered =
      pthread_atfork(nullptr, nullptr, [] { ++forks; });
  generation = forks;
  CUresult result = api.cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return Error::success();
  if (Error error = check(result, [] { return "starting the CUDA driver"; }))
    return error;
  if (Error error = check(api.cuDeviceGetCount(&deviceCount),
                          [] { return "counting the GPUs"; }))
    return error;
  primaryContexts = std::make_unique<std::atomic<CUcontext>[]>(deviceCount);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static ErrorCategory categorize(CUresult result) {
  switch (result) {
  case CUDA_ERROR_OUT_OF_MEMORY:
    return ErrorCategory::OutOfMemory;
  case CUDA_ERROR_STUB_LIBRARY:
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    return ErrorCategory::NoCUDA;
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return ErrorCategory::Architecture;
  default:
    return ErrorCategory::CUDA;
  }
}

/// Returns advice for results whose cause is not where they show.
static StringRef getRemedy(CUresult result) {
  switch (result) {
  case CUDA_ERROR_NOT_INITIALIZED:
    return "; a process forked after CUDA was used cannot use it, start it "
           "with `spawn`";
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return "; update the NVIDIA driver or compile to a cubin";
  case CUDA_ERROR_ILLEGAL_ADDRESS:
    return "; an earlier kernel may be the cause, run it under "
           "`compute-sanitizer`";
  default:
    return "";
  }
}

Error Driver::makeCUDAError(CUresult result, std::string action) const {
  const char *name = nullptr;
  const char *text = nullptr;
  (void)api.cuGetErrorName(result, &name);
  (void)api.cuGetErrorString(result, &text);
  std::string code =
      name ? name : formatv("CUDA error {0}", static_cast<int>(result)).str();
  return makeError(categorize(result),
                   formatv("{0} failed: {1} ({2}){3}", action, code,
                           text ? text : "no description", getRemedy(result)));
}

Error Driver::checkDevice(int device) const {
  if (device >= 0 && device < deviceCount)
    return Error::success();
  return makeError(ErrorCategory::NoCUDA,
                   formatv("there is no cuda:{0}, the number of GPUs is {1}; "
                           "is CUDA_VISIBLE_DEVICES set?",
                           device, deviceCount));
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

Expected<DeviceInfo> Driver::getDeviceInfo(int device) const {
  if (Error error = checkDevice(device))
    return error;
  CUdevice handle;
  DeviceInfo info;
  std::array<char, 256> name = {};
  size_t memory = 0;

  CUresult result = api.cuDeviceGet(&handle, device);
  auto run = [&](auto function, auto... arguments) {
    if (result == CUDA_SUCCESS)
      result = function(arguments...);
  };
  run(api.cuDeviceGetName, name.data(), static_cast<int>(name.size()), handle);
  run(api.cuDeviceTotalMem, &memory, handle);
  run(api.cuDeviceGetAttribute, &info.major,
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, handle);
  run(api.cuDeviceGetAttribute, &info.minor,
      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, handle);
  run(api.cuDeviceGetAttribute, &info.multiprocessors,
      CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, handle);
  run(api.cuDeviceGetAttribute, &info.sharedMemoryPerBlock,
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, handle);
  run(api.cuDeviceGetAttribute, &info.l2CacheSize,
      CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, handle);
  run(api.cuDeviceGetAttribute, &info.clockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE,
      handle);
  run(api.cuDeviceGetAttribute, &info.memoryClockRate,
      CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, handle);
  if (Error error = check(result, [&] {
        return formatv("asking for the properties of cuda:{0}", device).str();
      }))
    return error;
  info.name = name.data();
  info.memory = memory;
  return std::move(info);
}

int Driver::getCurrentDevice() const {
  CUdevice device;
  // Fails if the thread has no context.
  return api.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : 0;
}

Expected<CUcontext> Driver::getPrimaryContext(int device) {
  if (Error error = checkDevice(device))
    return error;
  std::atomic<CUcontext> &known = primaryContexts[device];
  if (CUcontext context = known.load(std::memory_order_acquire))
    return context;

  // Two threads may both retain it here; the driver only counts.
  CUdevice handle;
  CUcontext context;
  CUresult result = api.cuDeviceGet(&handle, device);
  if (result == CUDA_SUCCESS)
    result = api.cuDevicePrimaryCtxRetain(&context, handle);
  if (Error error = check(result, [&] {
        return formatv("creating a context on cuda:{0}", device).str();
      }))
    return error;
  known.store(context, std::memory_order_release);
  return context;
}

/// Says that CUDA does not outlive a fork, in a process that tries.
Error Driver::checkProcess() const {
  if (LLVM_LIKELY(generation == forks.load(std::memory_order_relaxed)))
    return Error::success();
  return makeError(ErrorCategory::NoCUDA,
                   "this process was forked after CUDA had been initialised, "
                   "which CUDA does not survive; start processes by `spawn`, "
                   "or fork before the first use of a GPU");
}

Expected<ContextScope> ContextScope::enter(Driver &driver, int device) {
  if (Error error = driver.checkProcess())
    return error;
  Expected<CUcontext> wanted = driver.getPrimaryContext(device);
  if (!wanted)
    return wanted.takeError();
  const Functions &api = driver.functions();
  CUcontext current = nullptr;
  CUresult result = api.cuCtxGetCurrent(&current);
  if (result == CUDA_SUCCESS && current == *wanted)
    return ContextScope(driver, nullptr);
  if (result == CUDA_SUCCESS)
    result = api.cuCtxSetCurrent(*wanted);
  if (Error error = driver.check(result, [&] {
        return formatv("switching to cuda:{0}", device).str();
      }))
    return error;
  return ContextScope(driver, current);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Expected<void *> Driver::allocate(int device, size_t size) {
  if (size == 0)
    return nullptr;
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  CUdeviceptr pointer;
  if (Error error = check(api.cuMemAlloc(&pointer, size), [&] {
        return formatv("allocating {0} bytes on cuda:{1}", size, device).str();
      }))
    return error;
  return reinterpret_cast<void *>(pointer);
}

Error Driver::free(int device, void *pointer) {
  if (!pointer)
    return Error::success();
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  return check(api.cuMemFree(reinterpret_cast<CUdeviceptr>(pointer)), [&] {
    return formatv("freeing memory on cuda:{0}", device).str();
  });
}

Error Driver::copyToDevice(int device, void *target, const void *source,
                           size_t size) {
  if (size == 0)
    return Error::success();
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(target);
  return check(api.cuMemcpyHtoD(address, source, size), [&] {
    return formatv("copying {0} bytes to cuda:{1}", size, device).str();
  });
}

Error Driver::copyToHost(int device, void *target, const void *source,
                         size_t size) {
  if (size == 0)
    return Error::success();
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(source);
  return check(api.cuMemcpyDtoH(target, address, size), [&] {
    return formatv("copying {0} bytes from cuda:{1}", size, device).str();
  });
}

Error Driver::synchronize(int device) {
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  return check(api.cuCtxSynchronize(),
               [&] { return formatv("waiting for cuda:{0}", device).str(); });
}

Expected<void *> Driver::allocateShared(int device, size_t size) {
  if (size == 0)
    return nullptr;
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  void *pointer = nullptr;
  if (Error error = check(
          api.cuMemHostAlloc(&pointer, size, CU_MEMHOSTALLOC_PORTABLE), [&] {
            return formatv("allocating {0} bytes of the host for cuda:{1}",
                           size, device)
                .str();
          }))
    return error;
  return pointer;
}

Error Driver::freeShared(int device, void *pointer) {
  if (!pointer)
    return Error::success();
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  return check(api.cuMemFreeHost(pointer), [&] {
    return formatv("freeing memory of the host for cuda:{0}", device).str();
  });
}

Error Driver::fill(int device, void *target, uint8_t byte, size_t size,
                   void *stream) {
  if (size == 0)
    return Error::success();
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  return check(
      api.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(target), byte, size,
                          static_cast<CUstream>(stream)),
      [&] {
        return formatv("filling {0} bytes on cuda:{1}", size, device).str();
      });
}

Error Driver::copyOnDevice(int device, void *target, const void *source,
                           size_t size, void *stream) {
  if (size == 0)
    return Error::success();
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  return check(
      api.cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(target),
                            reinterpret_cast<CUdeviceptr>(source), size,
                            static_cast<CUstream>(stream)),
      [&] {
        return formatv("copying {0} bytes within cuda:{1}", size, device).str();
      });
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Expected<CUevent> Driver::createEvent(int device) {
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  CUevent event;
  if (Error error = check(api.cuEventCreate(&event, /*flags=*/0), [&] {
        return formatv("creating an event on cuda:{0}", device).str();
      }))
    return error;
  return event;
}

Error Driver::destroyEvent(int device, CUevent event) {
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  return check(api.cuEventDestroy(event), [&] {
    return formatv("destroying an event of cuda:{0}", device).str();
  });
}

Error Driver::recordEvent(int device, CUevent event, void *stream) {
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  return check(api.cuEventRecord(event, static_cast<CUstream>(stream)), [&] {
    return formatv("recording an event on cuda:{0}", device).str();
  });
}

Expected<float> Driver::getElapsedTime(int device, CUevent start, CUevent end) {
  Expected<ContextScope> scope = ContextScope::enter(*this, device);
  if (!scope)
    return scope.takeError();
  float milliseconds = 0;
  CUresult result = api.cuEventSynchronize(end);
  if (result == CUDA_SUCCESS)
    result = api.cuEventElapsedTime(&milliseconds, start, end);
  if (Error error = check(
          result, [&] { return formatv("timing on cuda:{0}", device).str(); }))
    return error;
  return milliseconds;
}
