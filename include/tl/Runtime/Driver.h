//===- Driver.h - The CUDA driver, opened at run time -----------*- C++ -*-===//
//
// Opens libcuda.so.1 when it is first needed, so that a machine without a GPU
// can do everything else, and turns its result codes into errors that say what
// was being done.
//
//===----------------------------------------------------------------------===//

#ifndef TL_RUNTIME_DRIVER_H
#define TL_RUNTIME_DRIVER_H

#include "tl/Runtime/CUDADriver.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace tl::runtime {

/// What the doctor tool and the kernel loader want to know of a GPU.
struct DeviceInfo {
  std::string name;
  int major = 0;
  int minor = 0;
  uint64_t memory = 0;
  int multiprocessors = 0;
  /// The most dynamic shared memory that a block can ask for, in bytes.
  int sharedMemoryPerBlock = 0;
  int l2CacheSize = 0;
  /// The highest clocks, in kHz.
  int clockRate = 0;
  int memoryClockRate = 0;
};

class Driver {
public:
  /// Returns the system's driver. The outcome of the first call stays.
  static llvm::Expected<Driver &> get();

  /// Opens a driver from a shared library.
  static llvm::Expected<std::unique_ptr<Driver>> open(const char *path);

  /// The driver's functions, for callers that check results themselves.
  const cu::Functions &functions() const { return api; }

  /// Returns 1000 * major + 10 * minor of the newest CUDA version supported.
  int getVersion() const { return version; }
  int getDeviceCount() const { return deviceCount; }
  llvm::Expected<DeviceInfo> getDeviceInfo(int device) const;

  /// Returns the device of the calling thread's current context, or 0 if there
  /// is no context.
  int getCurrentDevice() const;

  /// Memory of `device`. Copies are synchronous. Sizes may be 0.
  llvm::Expected<void *> allocate(int device, size_t size);
  llvm::Error free(int device, void *pointer);
  llvm::Error copyToDevice(int device, void *target, const void *source,
                           size_t size);
  llvm::Error copyToHost(int device, void *target, const void *source,
                         size_t size);
  llvm::Error synchronize(int device);

  /// Memory of the host at an address that all GPUs use, too: kernels write to
  /// it while they run, and the host reads it without waiting for them.
  llvm::Expected<void *> allocateShared(int device, size_t size);
  llvm::Error freeShared(int device, void *pointer);

  /// What is queued on a stream of `device`: setting every byte, copying within
  /// the device. Sizes may be 0.
  llvm::Error fill(int device, void *target, uint8_t byte, size_t size,
                   void *stream);
  llvm::Error copyOnDevice(int device, void *target, const void *source,
                           size_t size, void *stream);

  /// Events measure the time between two points of a stream of `device`.
  llvm::Expected<cu::CUevent> createEvent(int device);
  llvm::Error destroyEvent(int device, cu::CUevent event);
  llvm::Error recordEvent(int device, cu::CUevent event, void *stream);
  /// Waits for `end` and returns the milliseconds since `start`.
  llvm::Expected<float> getElapsedTime(int device, cu::CUevent start,
                                       cu::CUevent end);

  /// Returns an error for `result` unless it is a success: "`action` failed:
  /// CUDA_ERROR_...". `action` is only called for an error.
  llvm::Error check(cu::CUresult result,
                    llvm::function_ref<std::string()> action) const {
    if (LLVM_LIKELY(result == cu::CUDA_SUCCESS))
      return llvm::Error::success();
    return makeCUDAError(result, action());
  }

private:
  friend class ContextScope;

  Driver() = default;
  llvm::Error resolve(void *library);
  llvm::Error initialize();
  llvm::Error makeCUDAError(cu::CUresult result, std::string action) const;
  llvm::Error checkDevice(int device) const;
  llvm::Error checkProcess() const;
  llvm::Expected<cu::CUcontext> getPrimaryContext(int device);

  cu::Functions api = {};
  int version = 0;
  int deviceCount = 0;
  /// How often this process had been forked when CUDA was initialised.
  unsigned generation = 0;
  /// One per device, null until it is retained. Never released: that would
  /// destroy the context under other libraries' feet if ours is the last.
  std::unique_ptr<std::atomic<cu::CUcontext>[]> primaryContexts;
};

/// Makes the primary context of a device, the one that the CUDA runtime and
/// frameworks use, current for as long as the scope lives. A context of a
/// caller's is restored; a thread that had none keeps the primary context.
class ContextScope {
public:
  static llvm::Expected<ContextScope> enter(Driver &driver, int device);

  ContextScope(ContextScope &&other)
      : driver(other.driver), previous(other.previous) {
    other.previous = nullptr;
  }
  ~ContextScope() {
    if (previous)
      (void)driver->functions().cuCtxSetCurrent(previous);
  }

private:
  ContextScope(Driver &driver, cu::CUcontext previous)
      : driver(&driver), previous(previous) {}

  Driver *driver;
  /// The context to restore, or null.
  cu::CUcontext previous;
};

} // namespace tl::runtime

#endif // TL_RUNTIME_DRIVER_H
