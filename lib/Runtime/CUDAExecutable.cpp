//===- CUDAExecutable.cpp - Run a launch plan on a GPU --------------------===//
//
// Modules are loaded when a call first reaches a device. After that, a call
// costs little more than cuLaunchKernelEx: attributes are prepared, and a
// tensor map is encoded again only if its tensor differs from the last call's.
//
//===----------------------------------------------------------------------===//

#include "Architecture.h"
#include "tl/Runtime/Driver.h"
#include "tl/Runtime/PlanExecutable.h"
#include "tl/Runtime/RuntimeError.h"
#include "tl/Runtime/TensorMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>
#include <mutex>

using namespace llvm;
using namespace tl::runtime;
using namespace tl::runtime::cu;

//===----------------------------------------------------------------------===//
// Class
//===----------------------------------------------------------------------===//

namespace {
/// Code, owned. A string, because the driver wants PTX zero-terminated.
struct Image {
  KernelImage::Kind kind;
  std::string bytes;
  std::optional<Architecture> architecture;
};

/// One kernel of the plan, which several launches may share.
struct Kernel {
  std::string name;
  std::string entry; ///< its symbol in the image
  unsigned image;
};

/// What a launch needs that no argument changes.
struct PreparedLaunch {
  unsigned kernel;
  SmallVector<CUlaunchAttribute, 3> attributes;
};

/// A variable of a module on one device.
struct LoadedSymbol {
  CUdeviceptr address;
  size_t size;
};

/// The kernels on one device.
struct LoadedKernels {
  LoadedKernels(int device, size_t kernelCount)
      : device(device), functions(kernelCount), sharedLimits(kernelCount) {}

  int device;
  DeviceInfo info;
  std::vector<CUmodule> modules;
  std::vector<CUfunction> functions;
  /// For each launch of the plan the variables that it sets.
  std::vector<SmallVector<LoadedSymbol, 0>> symbols;
  /// For each kernel the dynamic shared memory that launches may use so far.
  std::vector<std::atomic<int>> sharedLimits;
};

class CUDAExecutable : public PlanExecutable {
public:
  CUDAExecutable(LaunchPlan plan, Driver *driver)
      : PlanExecutable(std::move(plan), kDLCUDA), driver(driver),
        tensorMaps(this->plan.tensorMapCount) {}
  ~CUDAExecutable() override;

  Error addKernels(ArrayRef<KernelImage> kernels);

protected:
  Error launch(Frame &frame, ArrayRef<Argument> arguments, int device,
               void *stream) const override;

private:
  Expected<LoadedKernels &> getLoaded(Driver &driver, int device) const;
  Error load(Driver &driver, LoadedKernels &loaded) const;
  Error loadModule(Driver &driver, LoadedKernels &loaded, unsigned image) const;
  Error loadFunction(Driver &driver, LoadedKernels &loaded,
                     unsigned kernel) const;
  Error loadSymbols(Driver &driver, LoadedKernels &loaded,
                    unsigned launch) const;
  Error setSymbols(Driver &driver, const LoadedKernels &loaded, Frame &frame,
                   ArrayRef<Argument> arguments, unsigned launch,
                   CUstream stream) const;
  StringRef firstKernelOf(unsigned image) const;

  Error prepareTensorMap(Driver &driver, Frame &frame,
                         ArrayRef<Argument> arguments,
                         const Parameter &parameter) const;
  Error allowShared(Driver &driver, LoadedKernels &loaded, unsigned kernel,
                    int shared) const;
  Error launchOne(Driver &driver, LoadedKernels &loaded, Frame &frame,
                  ArrayRef<Argument> arguments, unsigned position,
                  CUstream stream) const;

  /// Returns the names of entry and kernel for the front of a message.
  std::string describe(StringRef kernel) const {
    return "`" + plan.name + "`: kernel `" + kernel.str() + "`";
  }

  /// Null stands for the system's driver.
  Driver *driver;
  std::vector<Image> images;
  std::vector<Kernel> kernels;
  /// One per launch of the plan.
  std::vector<PreparedLaunch> prepared;

  /// Guards `loaded` and changes of a kernel's shared memory limit.
  mutable std::mutex loadMutex;
  mutable std::vector<std::unique_ptr<LoadedKernels>> loaded;
  /// The kernels of the last call's device.
  mutable std::atomic<LoadedKernels *> recent = nullptr;

  mutable std::mutex tensorMapMutex;
  /// For each tensor map of the plan that of the last call.
  mutable std::vector<CachedTensorMap> tensorMaps;
};
} // namespace

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Executable>>
Executable::loadCUDA(StringRef json, ArrayRef<KernelImage> kernels,
                     Driver *driver) {
  Expected<LaunchPlan> plan = LaunchPlan::parse(json);
  if (!plan)
    return plan.takeError();
  auto executable = std::make_unique<CUDAExecutable>(std::move(*plan), driver);
  if (Error error = executable->addKernels(kernels))
    return error;
  return std::move(executable);
}

static SmallVector<CUlaunchAttribute, 3> getAttributes(const Launch &launch) {
  SmallVector<CUlaunchAttribute, 3> attributes;
  auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue & {
    attributes.push_back({});
    attributes.back().id = id;
    return attributes.back().value;
  };
  if (launch.clusterSize() != 1)
    add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {
        launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  if (launch.isCooperative)
    add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  if (launch.isDependent)
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed = 1;
  return attributes;
}

/// Copies the code that the plan's launches need.
Error CUDAExecutable::addKernels(ArrayRef<KernelImage> given) {
  SmallVector<const char *> sources;
  for (const Launch &launch : plan.launches) {
    auto kernel = find_if(kernels, [&](const Kernel &kernel) {
      return kernel.name == launch.kernel;
    });
    unsigned position = kernel - kernels.begin();
    prepared.push_back({position, getAttributes(launch)});
    if (kernel != kernels.end())
      continue;

    const KernelImage *image = find_if(given, [&](const KernelImage &image) {
      return image.name == launch.kernel;
    });
    if (image == given.end() || image->bytes.empty())
      return makeError(ErrorCategory::Plan,
                       describe(launch.kernel) + " has no cubin or PTX");
    auto *source = find(sources, image->bytes.data());
    kernels.push_back({launch.kernel, launch.entry,
                       static_cast<unsigned>(source - sources.begin())});
    if (source != sources.end())
      continue;
    sources.push_back(image->bytes.data());
    images.push_back(
        {image->kind, image->bytes.str(), Architecture::of(*image)});
  }
  return Error::success();
}

CUDAExecutable::~CUDAExecutable() {
  for (const std::unique_ptr<LoadedKernels> &kernels : loaded) {
    // While the process exits the driver may be gone; then so are the modules.
    Expected<Driver &> driver =
        this->driver ? Expected<Driver &>(*this->driver) : Driver::get();
    if (!driver) {
      consumeError(driver.takeError());
      return;
    }
    Expected<ContextScope> scope =
        ContextScope::enter(*driver, kernels->device);
    if (!scope) {
      consumeError(scope.takeError());
      continue;
    }
    // Code that may still run, or is being captured into a graph, stays loaded.
    if (driver->functions().cuCtxSynchronize() != CUDA_SUCCESS)
      continue;
    for (CUmodule module : kernels->modules)
      (void)driver->functions().cuModuleUnload(module);
  }
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

StringRef CUDAExecutable::firstKernelOf(unsigned image) const {
  return find_if(kernels,
                 [&](const Kernel &kernel) { return kernel.image == image; })
      ->name;
}

/// Loads one module, whose context is current.
Error CUDAExecutable::loadModule(Driver &driver, LoadedKernels &loaded,
                                 unsigned position) const {
  const Image &image = images[position];
  const DeviceInfo &gpu = loaded.info;
  std::string kernel = describe(firstKernelOf(position));
  const std::optional<Architecture> &built = image.architecture;
  if (built && !built->runsOn(gpu.major, gpu.minor, image.kind)) {
    std::string present = Architecture{gpu.major, gpu.minor}.str();
    return makeError(ErrorCategory::Architecture,
                     formatv("{0} was built for {1}, this GPU ({2}) is {3}; "
                             "compile it for {3}",
                             kernel, built->str(), gpu.name, present));
  }

  std::string log(8192, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CUmodule module;
  CUresult result = driver.functions().cuModuleLoadDataEx(
      &module, image.bytes.c_str(), std::size(options), options, values);
  if (Error error = driver.check(result, [&] {
        return formatv("{0}: loading it on cuda:{1}", kernel, loaded.device)
            .str();
      })) {
    StringRef said = StringRef(log.c_str()).trim();
    return said.empty() ? std::move(error)
                        : appendToMessage(std::move(error), "\n" + said);
  }
  loaded.modules.push_back(module);
  return Error::success();
}

Error CUDAExecutable::loadFunction(Driver &driver, LoadedKernels &loaded,
                                   unsigned position) const {
  const Functions &api = driver.functions();
  const Kernel &kernel = kernels[position];
  CUfunction &function = loaded.functions[position];
  CUresult result = api.cuModuleGetFunction(
      &function, loaded.modules[kernel.image], kernel.entry.c_str());
  if (result == CUDA_ERROR_NOT_FOUND)
    return makeError(ErrorCategory::Plan,
                     describe(kernel.name) +
                         " is not in its image; is the name misspelt, or is it "
                         "not extern \"C\"?");

  int sharedLimit = 0;
  if (result == CUDA_SUCCESS)
    result = api.cuFuncGetAttribute(
        &sharedLimit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        function);
  loaded.sharedLimits[position] = sharedLimit;

  // Clusters of more than 8 blocks exist on some GPUs only, and a kernel must
  // ask for them.
  constexpr unsigned portableClusterSize = 8;
  bool isBig = any_of(plan.launches, [&](const Launch &launch) {
    return launch.kernel == kernel.name &&
           launch.clusterSize() > portableClusterSize;
  });
  if (result == CUDA_SUCCESS && isBig)
    result = api.cuFuncSetAttribute(
        function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  return driver.check(result, [&] {
    return formatv("{0}: preparing it on cuda:{1}", describe(kernel.name),
                   loaded.device)
        .str();
  });
}

/// Finds the variables that a launch sets.
Error CUDAExecutable::loadSymbols(Driver &driver, LoadedKernels &loaded,
                                  unsigned position) const {
  const Launch &launch = plan.launches[position];
  const Kernel &kernel = kernels[prepared[position].kernel];
  SmallVector<LoadedSymbol, 0> &symbols = loaded.symbols.emplace_back();
  for (const SymbolCopy &copy : launch.symbols) {
    LoadedSymbol &symbol = symbols.emplace_back();
    CUresult result = driver.functions().cuModuleGetGlobal(
        &symbol.address, &symbol.size, loaded.modules[kernel.image],
        copy.name.c_str());
    if (result == CUDA_ERROR_NOT_FOUND)
      return makeError(ErrorCategory::Plan,
                       formatv("{0}: its image has no variable `{1}`",
                               describe(kernel.name), copy.name));
    if (Error error = driver.check(result, [&] {
          return formatv("{0}: looking up variable `{1}` on cuda:{2}",
                         describe(kernel.name), copy.name, loaded.device)
              .str();
        }))
      return error;
  }
  return Error::success();
}

/// Loads everything on the device whose context is current.
Error CUDAExecutable::load(Driver &driver, LoadedKernels &loaded) const {
  Expected<DeviceInfo> info = driver.getDeviceInfo(loaded.device);
  if (!info)
    return info.takeError();
  loaded.info = std::move(*info);
  for (unsigned i = 0; i != images.size(); ++i)
    if (Error error = loadModule(driver, loaded, i))
      return error;
  for (unsigned i = 0; i != kernels.size(); ++i)
    if (Error error = loadFunction(driver, loaded, i))
      return error;
  for (unsigned i = 0; i != plan.launches.size(); ++i)
    if (Error error = loadSymbols(driver, loaded, i))
      return error;
  return Error::success();
}

/// Returns the kernels on `device`, whose context is current.
Expected<LoadedKernels &> CUDAExecutable::getLoaded(Driver &driver,
                                                    int device) const {
  LoadedKernels *last = recent.load(std::memory_order_acquire);
  if (last && last->device == device)
    return *last;

  std::lock_guard<std::mutex> lock(loadMutex);
  auto known =
      find_if(loaded, [&](const std::unique_ptr<LoadedKernels> &kernels) {
        return kernels->device == device;
      });
  if (known == loaded.end()) {
    auto kernels =
        std::make_unique<LoadedKernels>(device, this->kernels.size());
    if (Error error = load(driver, *kernels)) {
      for (CUmodule module : kernels->modules)
        (void)driver.functions().cuModuleUnload(module);
      return error;
    }
    known = loaded.insert(loaded.end(), std::move(kernels));
  }
  recent.store(known->get(), std::memory_order_release);
  return **known;
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

/// Writes a tensor map into the frame, the last call's if the tensor is still
/// the same.
Error CUDAExecutable::prepareTensorMap(Driver &driver, Frame &frame,
                                       ArrayRef<Argument> arguments,
                                       const Parameter &parameter) const {
  const PlanArgument &argument = plan.arguments[parameter.argument];
  TensorMapKey key =
      TensorMapKey::get(argument, parameter.map, frame.getSlots(),
                        Frame::getBase(arguments[parameter.argument]));
  uint64_t *target = frame.getValue(parameter);

  std::lock_guard<std::mutex> lock(tensorMapMutex);
  CachedTensorMap &cached = tensorMaps[parameter.map.number];
  if (!cached.isValid || !(cached.key == key)) {
    cached.isValid = false;
    if (Error error = encodeTensorMap(driver, plan, argument, parameter.map,
                                      key, cached.map))
      return error;
    cached.key = key;
    cached.isValid = true;
  }
  std::memcpy(target, cached.map.opaque, sizeof(cached.map.opaque));
  return Error::success();
}

/// Raises a kernel's limit of dynamic shared memory if `shared` exceeds it.
Error CUDAExecutable::allowShared(Driver &driver, LoadedKernels &loaded,
                                  unsigned position, int shared) const {
  std::atomic<int> &limit = loaded.sharedLimits[position];
  if (LLVM_LIKELY(shared <= limit.load(std::memory_order_acquire)))
    return Error::success();

  std::lock_guard<std::mutex> lock(loadMutex);
  if (shared <= limit)
    return Error::success();
  std::string kernel = describe(kernels[position].name);
  int most = loaded.info.sharedMemoryPerBlock;
  if (shared > most)
    return makeError(ErrorCategory::Value,
                     formatv("{0} needs {1} bytes of dynamic shared memory, "
                             "this GPU ({2}) has {3} for a block; use smaller "
                             "tiles or fewer pipeline stages",
                             kernel, shared, loaded.info.name, most));
  CUresult result = driver.functions().cuFuncSetAttribute(
      loaded.functions[position],
      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
  if (Error error = driver.check(result, [&] {
        return formatv("{0}: asking for {1} bytes of dynamic shared memory",
                       kernel, shared)
            .str();
      }))
    return error;
  limit = shared;
  return Error::success();
}

/// Copies tensors to the variables that a launch sets, in the stream's order.
Error CUDAExecutable::setSymbols(Driver &driver, const LoadedKernels &loaded,
                                 Frame &frame, ArrayRef<Argument> arguments,
                                 unsigned position, CUstream stream) const {
  const Launch &launch = plan.launches[position];
  for (auto [copy, symbol] :
       zip_equal(launch.symbols, loaded.symbols[position])) {
    const PlanArgument &argument = plan.arguments[copy.argument];
    size_t size = getByteSize(argument.dtype);
    for (unsigned d = 0; d != argument.rank; ++d)
      size *= frame.getSlots()[argument.extentSlot(d)];
    if (size != symbol.size)
      return makeError(
          ErrorCategory::Value,
          formatv("{0}: variable `{1}` has {2} bytes, and argument `{3}`, "
                  "which it is set from, has {4}",
                  describe(launch.kernel), copy.name, symbol.size,
                  argument.name, size));
    CUresult result = driver.functions().cuMemcpyDtoDAsync(
        symbol.address,
        reinterpret_cast<CUdeviceptr>(Frame::getBase(arguments[copy.argument])),
        size, stream);
    if (Error error = driver.check(result, [&] {
          return formatv("{0}: setting variable `{1}` on cuda:{2}",
                         describe(launch.kernel), copy.name, loaded.device)
              .str();
        }))
      return error;
  }
  return Error::success();
}

Error CUDAExecutable::launchOne(Driver &driver, LoadedKernels &loaded,
                                Frame &frame, ArrayRef<Argument> arguments,
                                unsigned position, CUstream stream) const {
  const Launch &launch = plan.launches[position];
  const Frame::Values &values = frame.getLaunches()[position];
  const PreparedLaunch &ready = prepared[position];
  for (unsigned i : launch.tensorMaps)
    if (Error error =
            prepareTensorMap(driver, frame, arguments, launch.params[i]))
      return error;
  if (Error error = allowShared(driver, loaded, ready.kernel, values.shared))
    return error;
  if (Error error =
          setSymbols(driver, loaded, frame, arguments, position, stream))
    return error;

  CUlaunchConfig config = {};
  config.gridDimX = values.grid[0];
  config.gridDimY = values.grid[1];
  config.gridDimZ = values.grid[2];
  config.blockDimX = launch.block[0];
  config.blockDimY = launch.block[1];
  config.blockDimZ = launch.block[2];
  config.sharedMemBytes = values.shared;
  config.hStream = stream;
  config.attrs = ready.attributes.data();
  config.numAttrs = ready.attributes.size();
  CUresult result = driver.functions().cuLaunchKernelEx(
      &config, loaded.functions[ready.kernel], values.params, nullptr);
  return driver.check(result, [&] {
    return formatv(
               "{0}: launching it on cuda:{1} with grid ({2}), block ({3}), "
               "cluster ({4}) and {5} bytes of dynamic shared memory",
               describe(launch.kernel), loaded.device,
               make_range(values.grid, values.grid + 3),
               make_range(launch.block.begin(), launch.block.end()),
               make_range(launch.cluster.begin(), launch.cluster.end()),
               values.shared)
        .str();
  });
}

Error CUDAExecutable::launch(Frame &frame, ArrayRef<Argument> arguments,
                             int device, void *stream) const {
  Driver *driver = this->driver;
  if (!driver) {
    Expected<Driver &> found = Driver::get();
    if (!found)
      return found.takeError();
    driver = &*found;
  }
  if (device < 0)
    device = driver->getCurrentDevice();

  Expected<ContextScope> scope = ContextScope::enter(*driver, device);
  if (!scope)
    return scope.takeError();
  Expected<LoadedKernels &> kernels = getLoaded(*driver, device);
  if (!kernels)
    return kernels.takeError();
  for (unsigned i = 0; i != plan.launches.size(); ++i)
    if (!frame.getLaunches()[i].isEmpty())
      if (Error error = launchOne(*driver, *kernels, frame, arguments, i,
                                  static_cast<CUstream>(stream)))
        return error;
  return Error::success();
}
