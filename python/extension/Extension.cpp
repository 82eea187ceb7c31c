//===- Extension.cpp - The module `tilec._tl` -----------------------------===//
//
// Python's door to the C API: parse, compile, load, call, and a few questions
// about the machine. What is convenient is written in Python, above this.
//
//===----------------------------------------------------------------------===//

#include "Array.h"
#include "Errors.h"
#include "Executable.h"
#include "Launcher.h"
#include "Timing.h"
#include "tl-c/Cache.h"
#include "tl-c/Compiler.h"
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <optional>
#include <string>

namespace nb = nanobind;
using namespace tl::python;

namespace {

struct ModuleDestroy {
  void operator()(TlModule *module) const { tlModuleDestroy(module); }
};
struct CompiledDestroy {
  void operator()(TlCompiled *compiled) const { tlCompiledDestroy(compiled); }
};

struct Module {
  std::unique_ptr<TlModule, ModuleDestroy> handle;
};
struct Compiled {
  std::unique_ptr<TlCompiled, CompiledDestroy> handle;
};

} // namespace

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

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Returns (module or None, diagnostics as JSON).
static nb::tuple parseModule(const std::string &text, const std::string &name) {
  char *diagnostics = nullptr;
  auto module = std::make_unique<Module>();
  {
    nb::gil_scoped_release release;
    module->handle.reset(
        tlModuleParse(text.data(), text.size(), name.c_str(), &diagnostics));
  }
  std::string messages = take(diagnostics);
  if (!module->handle)
    return nb::make_tuple(nb::none(), messages);
  return nb::make_tuple(std::move(module), messages);
}

/// Returns (compiled or None, diagnostics as JSON).
static nb::tuple compileModule(const Module &module, const std::string &chip,
                               const std::string &assembler,
                               const std::string &cacheDir, bool useCache,
                               bool lineInfo, bool fastMath,
                               const std::optional<std::string> &dumpDir) {
  TlCompileOptions options = {};
  options.chip = chip.c_str();
  options.assembler = assembler.c_str();
  options.cacheDir = cacheDir.c_str();
  options.useCache = useCache;
  options.lineInfo = lineInfo;
  options.fastMath = fastMath;
  options.dumpDir = dumpDir ? dumpDir->c_str() : nullptr;
  char *diagnostics = nullptr;
  auto compiled = std::make_unique<Compiled>();
  {
    nb::gil_scoped_release release;
    compiled->handle.reset(
        tlModuleCompile(module.handle.get(), &options, &diagnostics));
  }
  std::string messages = take(diagnostics);
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

static void bindCompiler(nb::module_ &m) {
  nb::class_<Module>(m, "Module")
      .def(
          "print",
          [](const Module &module, bool locations) {
            return take(tlModulePrint(module.handle.get(), locations));
          },
          nb::arg("locations") = false)
      .def("compile", compileModule, nb::kw_only(), nb::arg("chip"),
           nb::arg("assembler"), nb::arg("cache_dir"), nb::arg("use_cache"),
           nb::arg("line_info"), nb::arg("fast_math"),
           nb::arg("dump_dir").none());
  nb::class_<Compiled>(m, "Compiled")
      .def("info",
           [](const Compiled &compiled) {
             return std::string(tlCompiledInfo(compiled.handle.get()));
           })
      .def("file", readFile, nb::arg("kernel"), nb::arg("file"))
      // Code of CPU kernels belongs to the compiled module.
      .def("load", load, nb::arg("function"), nb::keep_alive<0, 1>());
  nb::class_<Executable>(m, "Executable");
  m.def("parse", parseModule, nb::arg("text"), nb::arg("name"));
  m.def("version", tlVersion);
  m.def("build_id", tlBuildId);
  m.def("toolchain_info", [] { return take(tlToolchainInfo()); });
}

//===----------------------------------------------------------------------===//
// The cache
//===----------------------------------------------------------------------===//

namespace {
struct CacheDestroy {
  void operator()(TlCache *cache) const { tlCacheDestroy(cache); }
};
} // namespace

using Cache = std::unique_ptr<TlCache, CacheDestroy>;

[[noreturn]] static void failCache(char *error) {
  setError("TLError", take(error));
  throw nb::python_error();
}

static std::string listCache(const std::string &directory) {
  nb::gil_scoped_release release;
  Cache cache(tlCacheOpen(directory.c_str(), nullptr));
  char *error = nullptr;
  char *list = tlCacheList(cache.get(), &error);
  if (list)
    return take(list);
  nb::gil_scoped_acquire acquire;
  failCache(error);
}

static void clearCache(const std::string &directory) {
  nb::gil_scoped_release release;
  Cache cache(tlCacheOpen(directory.c_str(), nullptr));
  char *error = nullptr;
  if (tlCacheClear(cache.get(), &error))
    return;
  nb::gil_scoped_acquire acquire;
  failCache(error);
}

static void bindCache(nb::module_ &m) {
  m.def("cache_counters", [] { return take(tlCacheCounters()); });
  m.def("cache_list", listCache, nb::arg("directory"));
  m.def("cache_clear", clearCache, nb::arg("directory"));
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
      nb::gil_scoped_release release;
      succeeded = tlCudaSynchronize(device, &error);
    }
    if (!succeeded)
      fail(error);
  });
  m.def("set_host_threads", tlHostSetThreadCount, nb::arg("count"));
}

NB_MODULE(_tl, m) {
  // Kernels live in tables of the package until the interpreter is gone.
  nb::set_leak_warnings(false);
  bindCompiler(m);
  bindCache(m);
  bindDriver(m);
  bindArray(m);
  bindTiming(m);
  if (!addLauncher(m))
    throw nb::python_error();
}
