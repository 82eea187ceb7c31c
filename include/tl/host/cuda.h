//===- cuda.h - Launches on a GPU, without a runtime ------------*- C++ -*-===//
//
// Modules, tensor maps and launches through the CUDA driver, which is opened
// when it is first needed. Modules are loaded when a call first reaches a GPU,
// and stay loaded.
//
//===----------------------------------------------------------------------===//

#ifndef TL_HOST_CUDA_H
#define TL_HOST_CUDA_H

#include "tl/Runtime/CUDADriver.h"
#include "tl/host/call.h"

#include <atomic>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <pthread.h>

namespace tl {
namespace host {

//===----------------------------------------------------------------------===//
// The CUDA driver
//===----------------------------------------------------------------------===//

using namespace runtime::cu;

/// How often this process was forked from one that had the library loaded.
inline std::atomic<unsigned> &forkCount() {
  static std::atomic<unsigned> count{0};
  return count;
}

/// libcuda.so.1, opened, with the number of GPUs.
class Driver {
public:
  static Driver &get() {
    // Lives for as long as anybody may call, which may be while others exit.
    static Driver &driver = *new Driver();
    if (driver.generation != forkCount().load(std::memory_order_relaxed))
      fail(TL_ERROR_NO_CUDA,
           "this process was forked after CUDA had been initialised, which "
           "CUDA does not survive; start processes by `spawn`, or fork before "
           "the first use of a GPU");
    return driver;
  }

  Functions api = {};

  /// Throws unless `result` is a success; `action` returns what was tried.
  template <typename Action>
  void check(CUresult result, Action action) const {
    if (result != CUDA_SUCCESS)
      failWith(result, action());
  }

  [[noreturn]] TL_COLD void failWith(CUresult result, const std::string &action,
                                     const std::string &details = "") const {
    const char *name = nullptr, *words = nullptr;
    (void)api.cuGetErrorName(result, &name);
    (void)api.cuGetErrorString(result, &words);
    fail(categorize(result), action, " failed: ",
         name ? std::string(name) : join("CUDA error ", int(result)), " (",
         words ? words : "no description", ")", getRemedy(result), details);
  }

  CUdevice getHandle(int device) const {
    if (device < 0 || device >= deviceCount)
      fail(TL_ERROR_NO_CUDA, "there is no cuda:", device,
           ", the number of GPUs is ", deviceCount,
           "; is CUDA_VISIBLE_DEVICES set?");
    CUdevice handle;
    check(api.cuDeviceGet(&handle, device),
          [&] { return join("looking up cuda:", device); });
    return handle;
  }

  int getAttribute(int device, CUdevice_attribute attribute) const {
    int value = 0;
    check(api.cuDeviceGetAttribute(&value, attribute, getHandle(device)),
          [&] { return join("asking for the properties of cuda:", device); });
    return value;
  }

  std::string getName(int device) const {
    char name[256] = {};
    check(api.cuDeviceGetName(name, sizeof(name), getHandle(device)),
          [&] { return join("asking for the properties of cuda:", device); });
    return name;
  }

  int getCurrentDevice() const {
    CUdevice device;
    // Fails if the thread has no context.
    return api.cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : 0;
  }

  CUcontext getContext(int device) {
    if (device < 0 || device >= deviceCount)
      (void)getHandle(device);
    std::atomic<CUcontext> &known = contexts[device];
    if (CUcontext context = known.load(std::memory_order_acquire))
      return context;
    CUcontext context;
    check(api.cuDevicePrimaryCtxRetain(&context, getHandle(device)),
          [&] { return join("creating a context on cuda:", device); });
    known.store(context, std::memory_order_release);
    return context;
  }

private:
  Driver() {
    static const int registered =
        pthread_atfork(nullptr, nullptr, [] { ++forkCount(); });
    (void)registered;
    generation = forkCount();
    // Never closed: the driver has threads of its own.
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      fail(TL_ERROR_NO_CUDA, "no CUDA driver: ", dlerror(),
           "; install the NVIDIA driver, or give a container access to the "
           "GPU");
    resolve(library);
    CUresult result = api.cuInit(0);
    if (result == CUDA_ERROR_NO_DEVICE)
      return;
    check(result, [] { return "starting the CUDA driver"; });
    check(api.cuDeviceGetCount(&deviceCount),
          [] { return "counting the GPUs"; });
    contexts.reset(new std::atomic<CUcontext>[deviceCount]());
  }

  /// Finds all functions, and says so if the driver is too old to have them.
  void resolve(void *library) {
    // The first with tensor maps and extensible launches: CUDA 12.0.
    constexpr int oldest = 12000;
    const char *missing = nullptr;
#define TL_RESOLVE(name, symbol, parameters)                                   \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, symbol));     \
  if (!api.name && !missing)                                                   \
    missing = symbol;
    TL_CUDA_FUNCTIONS(TL_RESOLVE)
#undef TL_RESOLVE
    int version = 0;
    if (api.cuDriverGetVersion)
      (void)api.cuDriverGetVersion(&version);
    if (version != 0 && version < oldest)
      fail(TL_ERROR_NO_CUDA, "the CUDA driver supports CUDA ", version / 1000,
           ".", version % 1000 / 10,
           ", expected 12.0 or newer; update the NVIDIA driver");
    if (missing || version == 0)
      fail(TL_ERROR_NO_CUDA, "the CUDA driver has no function `",
           missing ? missing : "cuDriverGetVersion",
           "`; reinstall the NVIDIA driver");
  }

  static TlErrorCategory categorize(CUresult result) {
    switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return TL_ERROR_OUT_OF_MEMORY;
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return TL_ERROR_NO_CUDA;
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return TL_ERROR_ARCHITECTURE;
    default:
      return TL_ERROR_CUDA;
    }
  }

  /// Returns advice for results whose cause is not where they show.
  static const char *getRemedy(CUresult result) {
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

  unsigned generation = 0;
  int deviceCount = 0;
  std::unique_ptr<std::atomic<CUcontext>[]> contexts;
};

/// Makes a GPU's primary context current, and what was current again at the
/// end. A thread that had none keeps it.
class ContextScope {
public:
  ContextScope(Driver &driver, int device) : driver(driver) {
    CUcontext wanted = driver.getContext(device), current = nullptr;
    CUresult result = driver.api.cuCtxGetCurrent(&current);
    if (result == CUDA_SUCCESS && current == wanted)
      return;
    if (result == CUDA_SUCCESS)
      result = driver.api.cuCtxSetCurrent(wanted);
    driver.check(result, [&] { return join("switching to cuda:", device); });
    previous = current;
  }
  ~ContextScope() {
    if (previous)
      (void)driver.api.cuCtxSetCurrent(previous);
  }
  ContextScope(const ContextScope &) = delete;

private:
  Driver &driver;
  CUcontext previous = nullptr;
};

//===----------------------------------------------------------------------===//
// Kernels on a GPU
//===----------------------------------------------------------------------===//

/// A kernel of a program.
struct Kernel {
  const char *name;
  /// Its symbol in its image, a cubin or PTX.
  const char *entry;
  const unsigned char *image;
  /// The number of blocks of the largest cluster that it is launched in.
  unsigned largestCluster;
};

/// A variable of a kernel's image, which a launch sets to a tensor's elements.
struct Variable {
  size_t kernel;
  const char *name;
  CUdeviceptr address;
  size_t size;
};

/// A chip that code is made for: `sm_90a` is {9, 0, 'a'}.
struct Chip {
  const char *name;
  int major, minor;
  /// 'a' for features of one GPU, 'f' for features of a family, or 0.
  char suffix;

  bool runsOn(int gpuMajor, int gpuMinor, bool isPTX) const {
    if (suffix == 'a')
      return gpuMajor == major && gpuMinor == minor;
    if (gpuMajor == major)
      return gpuMinor >= minor;
    return isPTX && !suffix && gpuMajor > major;
  }
};

/// What the driver has of a program's kernels on one GPU.
struct LoadedProgram {
  LoadedProgram(int device, size_t kernelCount)
      : device(device), modules(kernelCount), functions(kernelCount),
        sharedLimits(kernelCount) {}

  int device;
  std::vector<CUmodule> modules;
  std::vector<CUfunction> functions;
  /// The dynamic shared memory that launches may use so far.
  std::vector<std::atomic<int>> sharedLimits;
};

/// The kernels of a function for one chip. They are loaded when a call first
/// reaches a GPU, and stay loaded.
class Program {
public:
  template <size_t Count>
  Program(const char *function, Chip chip, const Kernel (&kernels)[Count])
      : function(function), chip(chip), kernels(kernels), kernelCount(Count) {}
  /// A function that launches no kernel.
  Program(const char *function, Chip chip)
      : function(function), chip(chip), kernels(nullptr), kernelCount(0) {}

  const char *const function;
  const Chip chip;
  const Kernel *const kernels;
  const size_t kernelCount;

  /// Whether its code can run on a GPU of this compute capability.
  bool runsOn(int major, int minor) const {
    bool isPTX = kernelCount != 0;
    for (size_t i = 0; i != kernelCount; ++i)
      isPTX = isPTX && std::memcmp(kernels[i].image, "\177ELF", 4) != 0;
    return chip.runsOn(major, minor, isPTX);
  }

  /// Returns the kernels on `device`, whose context is current.
  LoadedProgram &load(Driver &driver, int device) {
    LoadedProgram *last = recent.load(std::memory_order_acquire);
    if (last && last->device == device)
      return *last;
    std::lock_guard<std::mutex> lock(mutex);
    auto known = std::find_if(loaded.begin(), loaded.end(),
                              [&](const std::unique_ptr<LoadedProgram> &one) {
                                return one->device == device;
                              });
    if (known == loaded.end())
      known = loaded.insert(loaded.end(), loadOn(driver, device));
    recent.store(known->get(), std::memory_order_release);
    return **known;
  }

  /// Raises the limit of dynamic shared memory of a kernel to `bytes`.
  void allowShared(Driver &driver, LoadedProgram &on, size_t kernel,
                   int bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    if (bytes <= on.sharedLimits[kernel])
      return;
    int most = driver.getAttribute(
        on.device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    if (bytes > most)
      fail(TL_ERROR_VALUE, describe(kernel), " needs ", bytes,
           " bytes of dynamic shared memory, this GPU (",
           driver.getName(on.device), ") has ", most,
           " for a block; use smaller tiles or fewer pipeline stages");
    driver.check(driver.api.cuFuncSetAttribute(
                     on.functions[kernel],
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
                 [&] {
                   return join(describe(kernel), ": asking for ", bytes,
                               " bytes of dynamic shared memory");
                 });
    on.sharedLimits[kernel] = bytes;
  }

  /// Returns the names of function and kernel for the front of a message.
  std::string describe(size_t kernel) const {
    return join("`", function, "`: kernel `", kernels[kernel].name, "`");
  }

private:
  std::unique_ptr<LoadedProgram> loadOn(Driver &driver, int device) const;
  CUmodule loadModule(Driver &driver, int device, size_t kernel) const;
  void loadFunction(Driver &driver, LoadedProgram &on, size_t kernel) const;

  std::mutex mutex;
  std::vector<std::unique_ptr<LoadedProgram>> loaded;
  /// That of the last call's GPU.
  std::atomic<LoadedProgram *> recent{nullptr};
};

/// Says that the code of `programs` does not run on a GPU.
[[noreturn]] inline TL_COLD void
failArchitecture(Driver &driver, int device,
                 const std::vector<const Program *> &programs) {
  std::string chips =
      list(programs, [](const Program *one) { return text(one->chip.name); });
  std::string present = join(
      "sm_",
      driver.getAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
      driver.getAttribute(device,
                          CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  fail(TL_ERROR_ARCHITECTURE, programs[0]->describe(0), " was built for ",
       chips, ", this GPU (", driver.getName(device), ") is ", present,
       "; compile it for ", present);
}

inline std::unique_ptr<LoadedProgram> Program::loadOn(Driver &driver,
                                                      int device) const {
  int major =
      driver.getAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  int minor =
      driver.getAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  if (kernelCount && !runsOn(major, minor))
    failArchitecture(driver, device, {this});
  std::unique_ptr<LoadedProgram> on(new LoadedProgram(device, kernelCount));
  for (size_t i = 0; i != kernelCount; ++i) {
    // Kernels of one image share a module.
    size_t first = 0;
    while (kernels[first].image != kernels[i].image)
      ++first;
    on->modules[i] =
        first == i ? loadModule(driver, device, i) : on->modules[first];
    loadFunction(driver, *on, i);
  }
  return on;
}

inline CUmodule Program::loadModule(Driver &driver, int device,
                                    size_t kernel) const {
  std::string log(8192, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {&log[0], reinterpret_cast<void *>(log.size())};
  CUmodule module;
  CUresult result = driver.api.cuModuleLoadDataEx(
      &module, kernels[kernel].image, 2, options, values);
  if (result == CUDA_SUCCESS)
    return module;
  std::string said = log.c_str();
  driver.failWith(result,
                  join(describe(kernel), ": loading it on cuda:", device),
                  said.empty() ? said : "\n" + said);
}

inline void Program::loadFunction(Driver &driver, LoadedProgram &on,
                                  size_t position) const {
  const Kernel &kernel = kernels[position];
  CUfunction &entry = on.functions[position];
  CUresult result = driver.api.cuModuleGetFunction(&entry, on.modules[position],
                                                   kernel.entry);
  if (result == CUDA_ERROR_NOT_FOUND)
    fail(TL_ERROR_PLAN, describe(position),
         " is not in its image; is the name misspelt, or is it not extern "
         "\"C\"?");
  int limit = 0;
  if (result == CUDA_SUCCESS)
    result = driver.api.cuFuncGetAttribute(
        &limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, entry);
  on.sharedLimits[position] = limit;
  // Clusters of more than 8 blocks exist on some GPUs only, and a kernel must
  // ask for them.
  if (result == CUDA_SUCCESS && kernel.largestCluster > 8)
    result = driver.api.cuFuncSetAttribute(
        entry, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  driver.check(result, [&] {
    return join(describe(position), ": preparing it on cuda:", on.device);
  });
}

//===----------------------------------------------------------------------===//
// Launches on a GPU
//===----------------------------------------------------------------------===//

/// What no argument of a call changes in a launch.
struct LaunchShape {
  unsigned block[3];
  unsigned cluster[3];
  bool isCooperative;
  bool isDependent;
};

/// A program on the GPU of a call, whose context is current meanwhile.
class LaunchScope {
public:
  LaunchScope(Program &program, const Call &call, void *stream)
      : program(program), call(call), driver(Driver::get()),
        device(call.device < 0 ? driver.getCurrentDevice() : call.device),
        scope(driver, device), on(program.load(driver, device)),
        stream(static_cast<CUstream>(stream)) {}

  /// Returns the tensor map of a whole tensor. Boxes are innermost first.
  CUtensorMap encode(const Tensor &tensor, DataType dtype,
                     CUtensorMapDataType type,
                     std::initializer_list<uint32_t> box,
                     unsigned swizzleBytes) const;

  /// Finds a variable of a kernel's image.
  Variable find(size_t kernel, const char *name) const;

  /// Copies a tensor to a variable, in the stream's order.
  void set(const Variable &variable, const Tensor &tensor) const;

  void launch(size_t kernel, const Grid &grid, const LaunchShape &shape,
              int64_t shared, void **params) const;

private:
  Program &program;
  const Call &call;
  Driver &driver;
  int device;
  ContextScope scope;
  LoadedProgram &on;
  CUstream stream;
};

inline CUtensorMap LaunchScope::encode(const Tensor &tensor, DataType dtype,
                                       CUtensorMapDataType type,
                                       std::initializer_list<uint32_t> box,
                                       unsigned swizzleBytes) const {
  constexpr const char *access = "for tensor memory access";
  CUtensorMap map = {};
  // The driver describes no empty tensor, and no kernel reads one.
  if (tensor.isEmpty())
    return map;
  uintptr_t address = reinterpret_cast<uintptr_t>(tensor.base());
  if (address % 16 != 0)
    call.failWith(TL_ERROR_ALIGNMENT, "the data of argument `", tensor.name,
                  "` is at address ", hexadecimal(address),
                  ", expected a multiple of 16 bytes ", access,
                  "; pass a copy or a slice that starts at such an address");

  uint64_t extents[5], strides[5];
  uint32_t elementStrides[5] = {1, 1, 1, 1, 1};
  int64_t size = dtype.bytes();
  for (unsigned i = 0; i != tensor.rank; ++i) {
    unsigned dim = tensor.rank - 1 - i;
    int64_t stride = tensor.strides[dim].get() * size;
    extents[i] = tensor.shape[dim].get();
    strides[i] = stride;
    if (extents[i] == 1) {
      // Any stride will do, but not any that the tensor may have.
      if (i != 0)
        strides[i] = (strides[i - 1] * extents[i - 1] + 15) / 16 * 16;
      continue;
    }
    if (i == 0 && stride != size)
      call.failWith(TL_ERROR_STRIDE, "stride ", dim, " of `", tensor.name,
                    "` is ", stride / size, ", expected 1 ", access,
                    "; pass a contiguous copy");
    if (i != 0 && (stride % 16 != 0 || stride < 0 || stride >> 40))
      call.failWith(TL_ERROR_STRIDE, "stride ", dim, " of `", tensor.name,
                    "` is ", stride,
                    " bytes, expected a multiple of 16 bytes below 2^40 ",
                    access, "; pad the rows");
  }
  CUtensorMapSwizzle swizzle = swizzleBytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                               : swizzleBytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                               : swizzleBytes == 32
                                   ? CU_TENSOR_MAP_SWIZZLE_32B
                                   : CU_TENSOR_MAP_SWIZZLE_NONE;
  // The innermost stride is implied.
  CUresult result = driver.api.cuTensorMapEncodeTiled(
      &map, type, tensor.rank, tensor.base(), extents, strides + 1, box.begin(),
      elementStrides, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  driver.check(result, [&] {
    return join("`", call.function, "`: encoding a tensor map with box (",
                list(box, [](uint32_t x) { return std::to_string(x); }),
                ") and swizzle ", swizzleBytes, " for argument `", tensor.name,
                "`");
  });
  return map;
}

inline Variable LaunchScope::find(size_t kernel, const char *name) const {
  Variable variable = {kernel, name, 0, 0};
  CUresult result = driver.api.cuModuleGetGlobal(
      &variable.address, &variable.size, on.modules[kernel], name);
  if (result == CUDA_ERROR_NOT_FOUND)
    fail(TL_ERROR_PLAN, program.describe(kernel),
         ": its image has no variable `", name, "`");
  driver.check(result, [&] {
    return join(program.describe(kernel), ": looking up variable `", name,
                "` on cuda:", device);
  });
  return variable;
}

inline void LaunchScope::set(const Variable &variable,
                             const Tensor &tensor) const {
  size_t size = tensor.dtype.bytes();
  for (unsigned i = 0; i != tensor.rank; ++i)
    size *= tensor.shape[i].get();
  if (size != variable.size)
    fail(TL_ERROR_VALUE, program.describe(variable.kernel), ": variable `",
         variable.name, "` has ", variable.size, " bytes, and argument `",
         tensor.name, "`, which it is set from, has ", size);
  CUresult result = driver.api.cuMemcpyDtoDAsync(
      variable.address, reinterpret_cast<CUdeviceptr>(tensor.base()), size,
      stream);
  driver.check(result, [&] {
    return join(program.describe(variable.kernel), ": setting variable `",
                variable.name, "` on cuda:", device);
  });
}

inline void LaunchScope::launch(size_t kernel, const Grid &grid,
                                const LaunchShape &shape, int64_t shared,
                                void **params) const {
  if (shared > on.sharedLimits[kernel].load(std::memory_order_acquire))
    program.allowShared(driver, on, kernel, static_cast<int>(shared));

  CUlaunchAttribute attributes[3] = {};
  unsigned attributeCount = 0;
  auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue & {
    attributes[attributeCount].id = id;
    return attributes[attributeCount++].value;
  };
  const unsigned *block = shape.block, *cluster = shape.cluster;
  if (cluster[0] * cluster[1] * cluster[2] != 1)
    add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {
        cluster[0], cluster[1], cluster[2]};
  if (shape.isCooperative)
    add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  if (shape.isDependent)
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed = 1;

  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(grid.x);
  config.gridDimY = static_cast<unsigned>(grid.y);
  config.gridDimZ = static_cast<unsigned>(grid.z);
  config.blockDimX = block[0];
  config.blockDimY = block[1];
  config.blockDimZ = block[2];
  config.sharedMemBytes = static_cast<unsigned>(shared);
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = attributeCount;
  CUresult result = driver.api.cuLaunchKernelEx(&config, on.functions[kernel],
                                                params, nullptr);
  driver.check(result, [&] {
    return join(program.describe(kernel), ": launching it on cuda:", device,
                " with grid (", grid.x, ", ", grid.y, ", ", grid.z,
                "), block (", block[0], ", ", block[1], ", ", block[2],
                "), cluster (", cluster[0], ", ", cluster[1], ", ", cluster[2],
                ") and ", shared,
                " bytes of dynamic shared "
                "memory");
  });
}

//===----------------------------------------------------------------------===//
// Several chips
//===----------------------------------------------------------------------===//

/// A function compiled for one chip.
struct Variant {
  Program *program;
  void (*run)(const TlArgument *arguments, size_t count, void *stream);
};

/// Returns the first of `variants`, the most specific one, that runs on the GPU
/// of the first tensor, or the current one without tensors.
template <size_t Count>
const Variant &choose(const Variant (&variants)[Count],
                      const TlArgument *arguments, size_t count) {
  int device = -1;
  for (size_t i = 0; i != count && device < 0; ++i) {
    if (arguments[i].kind != TL_ARGUMENT_TENSOR || !arguments[i].value.tensor)
      continue;
    const auto &place = arguments[i].value.tensor->device;
    // Its checks say what is wrong.
    if (place.type != 2 && place.type != 13)
      return variants[0];
    device = place.id;
  }
  Driver &driver = Driver::get();
  if (device < 0)
    device = driver.getCurrentDevice();
  int major =
      driver.getAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  int minor =
      driver.getAttribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  std::vector<const Program *> programs;
  for (const Variant &variant : variants) {
    if (variant.program->runsOn(major, minor))
      return variant;
    programs.push_back(variant.program);
  }
  failArchitecture(driver, device, programs);
}

} // namespace host
} // namespace tl

#endif // TL_HOST_CUDA_H
