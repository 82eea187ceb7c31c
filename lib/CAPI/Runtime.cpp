//===- Runtime.cpp - C interface of the runtime ---------------------------===//
//
// Converts between the C types and the runtime's own. Arguments are laid out
// alike on both sides, so that a call converts nothing.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Runtime.h"

#include "TlError.h"
#include "tl/Runtime/Driver.h"
#include "tl/Runtime/Executable.h"
#include "tl/Runtime/Interruption.h"
#include "tl/Runtime/LaunchPlan.h"
#include "tl/Runtime/RuntimeError.h"
#include "tl/Runtime/ThreadPool.h"
#include "llvm/Support/JSON.h"
#include <cstring>

using namespace llvm;
using namespace tl::runtime;

static_assert(sizeof(TlTensor) == sizeof(DLTensor) &&
                  offsetof(TlTensor, device) == offsetof(DLTensor, device) &&
                  offsetof(TlTensor, rank) == offsetof(DLTensor, ndim) &&
                  offsetof(TlTensor, dtype) == offsetof(DLTensor, dtype) &&
                  offsetof(TlTensor, shape) == offsetof(DLTensor, shape) &&
                  offsetof(TlTensor, strides) == offsetof(DLTensor, strides) &&
                  offsetof(TlTensor, byteOffset) ==
                      offsetof(DLTensor, byteOffset),
              "a TlTensor is a DLTensor");
static_assert(sizeof(TlArgument) == sizeof(Argument) &&
                  offsetof(TlArgument, kind) == offsetof(Argument, kind) &&
                  offsetof(TlArgument, value) == offsetof(Argument, value) &&
                  TL_ARGUMENT_TENSOR == int(Argument::Kind::Tensor) &&
                  TL_ARGUMENT_INT == int(Argument::Kind::Int) &&
                  TL_ARGUMENT_UINT == int(Argument::Kind::UInt) &&
                  TL_ARGUMENT_FLOAT == int(Argument::Kind::Float) &&
                  TL_ARGUMENT_BOOL == int(Argument::Kind::Bool),
              "a TlArgument is an Argument");
static_assert(TL_ERROR_PLAN == int(ErrorCategory::Plan) &&
                  TL_ERROR_ARGUMENT_COUNT ==
                      int(ErrorCategory::ArgumentCount) &&
                  TL_ERROR_ARGUMENT_KIND == int(ErrorCategory::ArgumentKind) &&
                  TL_ERROR_RANK == int(ErrorCategory::Rank) &&
                  TL_ERROR_DTYPE == int(ErrorCategory::DType) &&
                  TL_ERROR_SHAPE == int(ErrorCategory::Shape) &&
                  TL_ERROR_STRIDE == int(ErrorCategory::Stride) &&
                  TL_ERROR_ALIGNMENT == int(ErrorCategory::Alignment) &&
                  TL_ERROR_DEVICE == int(ErrorCategory::Device) &&
                  TL_ERROR_NULL_POINTER == int(ErrorCategory::NullPointer) &&
                  TL_ERROR_VALUE == int(ErrorCategory::Value) &&
                  TL_ERROR_ARCHITECTURE == int(ErrorCategory::Architecture) &&
                  TL_ERROR_NO_CUDA == int(ErrorCategory::NoCUDA) &&
                  TL_ERROR_OUT_OF_MEMORY == int(ErrorCategory::OutOfMemory) &&
                  TL_ERROR_CUDA == int(ErrorCategory::CUDA) &&
                  TL_ERROR_SIMULATION == int(ErrorCategory::Simulation) &&
                  TL_ERROR_INTERRUPTED == int(ErrorCategory::Interrupted) &&
                  TL_ERROR_DEADLOCK == int(ErrorCategory::Deadlock),
              "a TlErrorCategory is an ErrorCategory");

char *tlCheckLaunchPlan(const char *text, size_t size) {
  Expected<LaunchPlan> plan = LaunchPlan::parse({text, size});
  return plan ? nullptr : strdup(toString(plan.takeError()).c_str());
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Hands `error` to the caller, if there is one. Returns whether it is a
/// success.
static bool report(Error error, TlError **result) {
  if (LLVM_LIKELY(!error))
    return true;
  handleAllErrors(std::move(error), [&](const RuntimeError &error) {
    if (result)
      *result = new TlError{static_cast<TlErrorCategory>(error.getCategory()),
                            error.getMessage()};
  });
  return false;
}

/// The same for a function that returns a value, stored in `value`.
template <typename T, typename U>
static bool report(Expected<T> expected, U &value, TlError **result) {
  if (!expected)
    return report(expected.takeError(), result);
  value = *expected;
  return true;
}

TlErrorCategory tlErrorCategory(const TlError *error) {
  return error->category;
}

const char *tlErrorMessage(const TlError *error) {
  return error->message.c_str();
}

void tlErrorDestroy(TlError *error) { delete error; }

//===----------------------------------------------------------------------===//
// Executables
//===----------------------------------------------------------------------===//

static TlExecutable *wrap(Executable *executable) {
  return reinterpret_cast<TlExecutable *>(executable);
}

static const Executable *unwrap(const TlExecutable *executable) {
  return reinterpret_cast<const Executable *>(executable);
}

static TlExecutable *wrap(Expected<std::unique_ptr<Executable>> executable,
                          TlError **error) {
  if (executable)
    return wrap(executable->release());
  (void)report(executable.takeError(), error);
  return nullptr;
}

TlExecutable *tlExecutableLoadCuda(const char *plan, size_t planSize,
                                   size_t kernelCount, const char *const *names,
                                   const void *const *images,
                                   const size_t *imageSizes, TlError **error) {
  SmallVector<KernelImage> kernels;
  for (size_t i = 0; i != kernelCount; ++i)
    kernels.push_back(KernelImage::device(
        names[i],
        StringRef(static_cast<const char *>(images[i]), imageSizes[i])));
  return wrap(Executable::loadCUDA(StringRef(plan, planSize), kernels), error);
}

TlExecutable *tlExecutableLoadHost(const char *plan, size_t planSize,
                                   size_t kernelCount, const char *const *names,
                                   const TlHostKernel *functions,
                                   TlError **error) {
  SmallVector<KernelImage> kernels;
  for (size_t i = 0; i != kernelCount; ++i)
    kernels.push_back(KernelImage::host(names[i], functions[i]));
  return wrap(Executable::loadHost(StringRef(plan, planSize), kernels), error);
}

TlExecutable *tlExecutableLoadLibrary(const char *path, const char *function,
                                      TlError **error) {
  return wrap(Executable::loadLibrary(path, function), error);
}

bool tlExecutableCall(const TlExecutable *executable,
                      const TlArgument *arguments, size_t argumentCount,
                      void *stream, TlError **error) {
  ArrayRef<Argument> given(reinterpret_cast<const Argument *>(arguments),
                           argumentCount);
  return report(unwrap(executable)->call(given, stream), error);
}

void tlExecutableDestroy(TlExecutable *executable) {
  delete unwrap(executable);
}

void tlHostSetThreadCount(unsigned count) {
  ThreadPool::global().setThreadCount(count);
}

void tlSetInterruptionCheck(bool (*isWanted)()) {
  setInterruptionCheck(isWanted);
}

//===----------------------------------------------------------------------===//
// The CUDA driver
//===----------------------------------------------------------------------===//

/// Calls `function` with the system's driver, or reports that there is none.
template <typename Function>
static bool withDriver(Function function, TlError **error) {
  Expected<Driver &> driver = Driver::get();
  if (!driver)
    return report(driver.takeError(), error);
  return function(*driver);
}

bool tlCudaDriverVersion(int *version, TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        *version = driver.getVersion();
        return true;
      },
      error);
}

bool tlCudaDeviceCount(int *count, TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        *count = driver.getDeviceCount();
        return true;
      },
      error);
}

char *tlCudaDeviceInfo(int device, TlError **error) {
  DeviceInfo info;
  if (!withDriver(
          [&](Driver &driver) {
            return report(driver.getDeviceInfo(device), info, error);
          },
          error))
    return nullptr;
  std::string text;
  raw_string_ostream os(text);
  json::OStream json(os);
  json.object([&] {
    json.attribute("name", json::isUTF8(info.name) ? info.name
                                                   : json::fixUTF8(info.name));
    json.attribute("compute_capability", json::Array{info.major, info.minor});
    json.attribute("memory", info.memory);
    json.attribute("multiprocessors", info.multiprocessors);
    json.attribute("shared_memory_per_block", info.sharedMemoryPerBlock);
    json.attribute("l2_cache", info.l2CacheSize);
    json.attribute("clock", info.clockRate);
    json.attribute("memory_clock", info.memoryClockRate);
  });
  return strdup(text.c_str());
}

bool tlCudaAllocate(int device, size_t size, void **pointer, TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        return report(driver.allocate(device, size), *pointer, error);
      },
      error);
}

bool tlCudaFree(int device, void *pointer, TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        return report(driver.free(device, pointer), error);
      },
      error);
}

bool tlCudaAllocateShared(int device, size_t size, void **pointer,
                          TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        return report(driver.allocateShared(device, size), *pointer, error);
      },
      error);
}

bool tlCudaFreeShared(int device, void *pointer, TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        return report(driver.freeShared(device, pointer), error);
      },
      error);
}

bool tlCudaCopyToDevice(int device, void *target, const void *source,
                        size_t size, TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        return report(driver.copyToDevice(device, target, source, size), error);
      },
      error);
}

bool tlCudaCopyToHost(int device, void *target, const void *source, size_t size,
                      TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        return report(driver.copyToHost(device, target, source, size), error);
      },
      error);
}

bool tlCudaSynchronize(int device, TlError **error) {
  return withDriver(
      [&](Driver &driver) { return report(driver.synchronize(device), error); },
      error);
}

bool tlCudaFill(int device, void *target, uint8_t byte, size_t size,
                void *stream, TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        return report(driver.fill(device, target, byte, size, stream), error);
      },
      error);
}

bool tlCudaCopyOnDevice(int device, void *target, const void *source,
                        size_t size, void *stream, TlError **error) {
  return withDriver(
      [&](Driver &driver) {
        return report(driver.copyOnDevice(device, target, source, size, stream),
                      error);
      },
      error);
}

struct TlEvent {
  Driver &driver;
  int device;
  cu::CUevent handle;
};

TlEvent *tlCudaEventCreate(int device, TlError **error) {
  TlEvent *event = nullptr;
  withDriver(
      [&](Driver &driver) {
        cu::CUevent handle = nullptr;
        if (!report(driver.createEvent(device), handle, error))
          return false;
        event = new TlEvent{driver, device, handle};
        return true;
      },
      error);
  return event;
}

bool tlCudaEventRecord(TlEvent *event, void *stream, TlError **error) {
  return report(event->driver.recordEvent(event->device, event->handle, stream),
                error);
}

bool tlCudaEventElapsed(const TlEvent *start, const TlEvent *end,
                        float *milliseconds, TlError **error) {
  return report(
      end->driver.getElapsedTime(end->device, start->handle, end->handle),
      *milliseconds, error);
}

void tlCudaEventDestroy(TlEvent *event) {
  if (event)
    (void)report(event->driver.destroyEvent(event->device, event->handle),
                 nullptr);
  delete event;
}
