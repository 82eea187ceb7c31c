//===- Extension.cpp - The module `tilec._tl` -----------------------------===//
//
// Python's door to the C API: parse, compile, load, call, and a few questions
// about the machine. What is convenient is written in Python, above this.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Array.h"
#include "Cache.h"
#include "CallArray.h"
#include "CallTable.h"
#include "Compiled.h"
#include "Contents.h"
#include "Errors.h"
#include "Executable.h"
#include "FastCallable.h"
#include "GIL.h"
#include "Launcher.h"
#include "Library.h"
#include "Overlap.h"
#include "PostProcessor.h"
#include "ResultCall.h"
#include "Timing.h"
#include "Torch.h"
#include "tl-c/Compiler.h"
#include <algorithm>
#include <cstddef>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace nb = nanobind;
using namespace tl::python;

/// Takes over a string that the C API returned.
static std::string take(char *text) {
  std::string copy = text ? text : "";
  tlFree(text);
  return copy;
}

[[noreturn]] static void fail(TlError *error) {
  setError(error);
  throw nb::python_error();
}

/// Returns the number of the first argument that is a lazy negation, or -1. For
/// calls that others make: nothing that they see of a tensor says so.
static Py_ssize_t findNegated(nb::tuple arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    int negated = isNegatedTensor(PyTuple_GetItem(arguments.ptr(), i));
    if (negated < 0)
      throw nb::python_error();
    if (negated)
      return static_cast<Py_ssize_t>(i);
  }
  return -1;
}

/// Reads an argument that is a tensor; false if it is none. Throws if it cannot
/// be read.
static bool readTensor(PyObject *object, const Parameter &parameter,
                       TlTensor &tensor, Holdings &holdings) {
  TlArgument value{TL_ARGUMENT_INT, {}};
  Argument argument(parameter, value, tensor, holdings);
  TypeInfo type = describeType(object);
  if (!argument.read(object, type) ||
      (type.origin == Origin::DLPack && !argument.readDLPack(object, nullptr)))
    throw nb::python_error();
  return value.kind == TL_ARGUMENT_TENSOR && value.value.tensor;
}

/// Returns the numbers of two arguments that share memory, of which the second
/// is written, or None. A parameter is its name, whether it is a tensor, and
/// whether it is written.
static nb::object findOverlap(nb::tuple arguments, nb::tuple parameters) {
  size_t count = std::min(arguments.size(), parameters.size());
  CallArray<TlTensor> tensors(count);
  Holdings holdings;
  std::vector<size_t> read, written;
  for (size_t i = 0; i < count; ++i) {
    auto [name, isTensor, isWritten] =
        nb::cast<std::tuple<const char *, bool, bool>>(parameters[i]);
    // Who calls next says what is wrong with an array that is read-only.
    Parameter parameter{name, isTensor, /*isWritten=*/false};
    if (!isTensor || !readTensor(PyTuple_GetItem(arguments.ptr(), i), parameter,
                                 tensors[i], holdings))
      continue;
    read.push_back(i);
    if (isWritten)
      written.push_back(i);
  }
  for (size_t i : written)
    for (size_t j : read)
      if (i != j && shareMemory(tensors[j], tensors[i]))
        return nb::make_tuple(j, i);
  return nb::none();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Returns (module or None, diagnostics as JSON).
static nb::tuple parseModule(const std::string &text, const std::string &name) {
  char *diagnostics = nullptr;
  auto module = std::make_unique<Module>();
  {
    ReleasedGIL release;
    module->handle.reset(
        tlModuleParse(text.data(), text.size(), name.c_str(), &diagnostics));
  }
  std::string messages = take(diagnostics);
  if (!module->handle)
    return nb::make_tuple(nb::none(), messages);
  return nb::make_tuple(std::move(module), messages);
}

/// Returns (compiled or None, diagnostics as JSON).
static nb::tuple
compileModule(const Module &module, const std::string &chip,
              const std::string &backend, const std::string &assembler,
              const std::string &cacheDir, bool useCache, bool requireCached,
              bool lineInfo, bool fastMath, bool checks,
              const std::optional<std::string> &dumpDir, bool dumpLocations,
              const PostProcessor *postProcessor) {
  TlCompileOptions options = {};
  options.chip = chip.c_str();
  options.backend = backend.c_str();
  options.assembler = assembler.c_str();
  options.cacheDir = cacheDir.c_str();
  options.useCache = useCache;
  options.requireCached = requireCached;
  options.lineInfo = lineInfo;
  options.fastMath = fastMath;
  options.checks = checks;
  options.dumpDir = dumpDir ? dumpDir->c_str() : nullptr;
  options.dumpLocations = dumpLocations;
  TlPostProcessor processor = {};
  if (postProcessor) {
    processor = postProcessor->handle();
    options.postProcessor = &processor;
  }
  char *diagnostics = nullptr;
  auto compiled = std::make_unique<Compiled>();
  {
    ReleasedGIL release;
    compiled->handle.reset(
        tlModuleCompile(module.handle.get(), &options, &diagnostics));
  }
  std::string messages = take(diagnostics);
  if (!compiled->handle && postProcessor)
    postProcessor->rethrow();
  if (!compiled->handle)
    return nb::make_tuple(nb::none(), messages);
  return nb::make_tuple(std::move(compiled), messages);
}

static nb::object readFile(const Compiled &compiled, const std::string &kernel,
                           const std::string &file) {
  size_t size = 0;
  const void *data = tlCompiledFile(compiled.handle.get(), kernel.c_str(),
                                    file.c_str(), &size);
  return data ? nb::object(nb::bytes(data, size)) : nb::none();
}

static std::unique_ptr<Executable> load(const Compiled &compiled,
                                        const std::string &function) {
  TlError *error = nullptr;
  auto executable = std::make_unique<Executable>();
  executable->handle.reset(
      tlCompiledLoad(compiled.handle.get(), function.c_str(), &error));
  if (!executable->handle)
    fail(error);
  return executable;
}

/// Loads a plan with kernels that another compiler made.
static std::unique_ptr<Executable> loadCuda(const std::string &plan,
                                            const nb::dict &images) {
  std::vector<std::string> names;
  std::vector<const char *> namePointers;
  std::vector<const void *> data;
  std::vector<size_t> sizes;
  for (auto [name, image] : images) {
    names.push_back(nb::cast<std::string>(name));
    auto bytes = nb::cast<nb::bytes>(image);
    data.push_back(bytes.data());
    sizes.push_back(bytes.size());
  }
  for (const std::string &name : names)
    namePointers.push_back(name.c_str());
  TlError *error = nullptr;
  auto executable = std::make_unique<Executable>();
  executable->handle.reset(tlExecutableLoadCuda(
      plan.data(), plan.size(), names.size(), namePointers.data(), data.data(),
      sizes.data(), &error));
  if (!executable->handle)
    fail(error);
  return executable;
}

static void bindCompiler(nb::module_ &m) {
  nb::class_<Module>(m, "Module")
      .def(
          "print",
          [](const Module &module, bool locations) {
            return take(tlModulePrint(module.handle.get(), locations));
          },
          nb::arg("locations") = false)
      .def("compile", compileModule, nb::kw_only(), nb::arg("chip"),
           nb::arg("backend"), nb::arg("assembler"), nb::arg("cache_dir"),
           nb::arg("use_cache"), nb::arg("require_cached"),
           nb::arg("line_info"), nb::arg("fast_math"), nb::arg("checks"),
           nb::arg("dump_dir").none(), nb::arg("dump_locations") = false,
           nb::arg("post_processor").none())
      .def("describe_tiles", [](const Module &module) {
        return take(tlModuleDescribeTiles(module.handle.get()));
      });
  nb::class_<PostProcessor>(m, "PostProcessor")
      .def(nb::init<std::string, nb::callable>(), nb::arg("identifier"),
           nb::arg("function"));
  nb::class_<Compiled>(m, "Compiled")
      .def("info",
           [](const Compiled &compiled) {
             return std::string(tlCompiledInfo(compiled.handle.get()));
           })
      .def("file", readFile, nb::arg("kernel"), nb::arg("file"))
      // Code of CPU kernels belongs to the compiled module.
      .def("load", load, nb::arg("function"), nb::keep_alive<0, 1>());
  nb::class_<Executable>(m, "Executable");
  m.def("load_cuda", loadCuda, nb::arg("plan"), nb::arg("images"));
  m.def("parse", parseModule, nb::arg("text"), nb::arg("name"));
  m.def("find_negated", findNegated, nb::arg("arguments"));
  m.def("find_overlap", findOverlap, nb::arg("arguments"),
        nb::arg("parameters"));
  m.def("version", tlVersion);
  m.def("build_id", tlBuildId);
  m.def("toolchain_info", [] { return take(tlToolchainInfo()); });
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

static void bindDriver(nb::module_ &m) {
  m.def("cuda_driver_version", [] {
    int version = 0;
    TlError *error = nullptr;
    if (!tlCudaDriverVersion(&version, &error))
      fail(error);
    return version;
  });
  m.def("cuda_device_count", [] {
    int count = 0;
    TlError *error = nullptr;
    if (!tlCudaDeviceCount(&count, &error))
      fail(error);
    return count;
  });
  m.def("cuda_device_info", [](int device) {
    TlError *error = nullptr;
    char *info = tlCudaDeviceInfo(device, &error);
    if (!info)
      fail(error);
    return take(info);
  });
  m.def("cuda_synchronize", [](int device) {
    TlError *error = nullptr;
    bool succeeded;
    {
      ReleasedGIL release;
      succeeded = tlCudaSynchronize(device, &error);
    }
    if (!succeeded)
      fail(error);
  });
  m.def("set_host_threads", tlHostSetThreadCount, nb::arg("count"));
  m.def("set_simulator_options", tlSimulatorSetOptions, nb::arg("seed"),
        nb::arg("checks"), nb::arg("shrinks"));
  m.def("begin_simulator_counts", tlSimulatorBeginCounts,
        nb::arg("most_blocks"));
  m.def("end_simulator_counts", [] { return take(tlSimulatorEndCounts()); });
  m.def("begin_simulator_timeline", tlSimulatorBeginTimeline, nb::arg("block"),
        nb::arg("line"));
  m.def("end_simulator_timeline",
        [] { return take(tlSimulatorEndTimeline()); });
  m.def("set_simulator_replay", tlSimulatorSetReplay, nb::arg("replay"));
  m.def("simulated_instructions", tlSimulatorInstructions);
}

NB_MODULE(_tl, m) {
  // Kernels live in tables of the package until the interpreter is gone.
  nb::set_leak_warnings(false);
  bindGIL(m);
  bindCompiler(m);
  bindCache(m);
  bindLibrary(m);
  bindDriver(m);
  bindArray(m);
  bindTiming(m);
  bindCallTable(m);
  bindContents(m);
  bindResultCall(m);
  if (!addFastCallable(m) || !addLauncher(m))
    throw nb::python_error();
}
