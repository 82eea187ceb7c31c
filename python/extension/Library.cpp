//===- Library.cpp - Libraries of compiled kernels ------------------------===//
//
// Functions take one function, compiled for one chip or several. Other threads
// run while a compiler does.
//
//===----------------------------------------------------------------------===//

#include "Library.h"
#include "Compiled.h"
#include "Errors.h"
#include "Executable.h"
#include "GIL.h"
#include "tl-c/Library.h"
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace tl::python;

namespace {
struct Free {
  void operator()(char *text) const { tlFree(text); }
};
} // namespace

using Text = std::unique_ptr<char, Free>;
using CompiledList = std::vector<const Compiled *>;

/// Calls a function of the C API, with the compiled functions, which stores its
/// reason where it fails; raises that.
template <typename Function>
static auto ask(const CompiledList &compiled, Function function) {
  std::vector<const TlCompiled *> handles;
  for (const Compiled *one : compiled)
    handles.push_back(one->handle.get());
  char *reason = nullptr;
  decltype(function(handles.data(), handles.size(), &reason)) result;
  {
    ReleasedGIL release;
    result = function(handles.data(), handles.size(), &reason);
  }
  if (Text error(reason); error) {
    setError("BackendError", error.get());
    throw nb::python_error();
  }
  return result;
}

static nb::object toPython(const Text &text) {
  return text ? nb::object(nb::str(text.get())) : nb::none();
}

static std::string getHostSource(const CompiledList &compiled,
                                 const std::string &function) {
  Text text(ask(compiled, [&](auto *handles, size_t count, char **error) {
    return tlHostSource(handles, count, function.c_str(), error);
  }));
  return text.get();
}

static void exportHostSources(const CompiledList &compiled,
                              const std::string &function,
                              const std::string &directory) {
  ask(compiled, [&](auto *handles, size_t count, char **error) {
    return tlHostSourcesExport(handles, count, function.c_str(),
                               directory.c_str(), error);
  });
}

/// Returns (bytes, warning or None).
static nb::tuple buildLibrary(const CompiledList &compiled,
                              const std::string &function,
                              const std::string &compiler,
                              const std::string &keepDirectory) {
  TlBuildOptions options = {compiler.c_str(), keepDirectory.c_str()};
  size_t size = 0;
  char *warning = nullptr;
  Text bytes(ask(compiled, [&](auto *handles, size_t count, char **error) {
    return tlLibraryBuild(handles, count, function.c_str(), &options, &size,
                          &warning, error);
  }));
  Text owned(warning);
  return nb::make_tuple(nb::bytes(bytes.get(), size), toPython(owned));
}

/// Returns a warning or None.
static nb::object exportLibrary(const CompiledList &compiled,
                                const std::string &function,
                                const std::string &directory,
                                const std::string &compiler,
                                const std::string &keepDirectory) {
  TlBuildOptions options = {compiler.c_str(), keepDirectory.c_str()};
  char *warning = nullptr;
  ask(compiled, [&](auto *handles, size_t count, char **error) {
    return tlLibraryExport(handles, count, function.c_str(), directory.c_str(),
                           &options, &warning, error);
  });
  return toPython(Text(warning));
}

static std::unique_ptr<Executable> openLibrary(const std::string &path,
                                               const std::string &function) {
  TlError *error = nullptr;
  auto executable = std::make_unique<Executable>();
  executable->handle.reset(
      tlExecutableLoadLibrary(path.c_str(), function.c_str(), &error));
  if (!executable->handle) {
    setError(error);
    throw nb::python_error();
  }
  return executable;
}

/// Returns the name in C++ that a symbol stands for, or the symbol.
static std::string demangle(const std::string &symbol) {
  int status = 0;
  std::unique_ptr<char, decltype(&free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), free);
  return status == 0 ? name.get() : symbol;
}

void tl::python::bindLibrary(nb::module_ &m) {
  m.def("host_source", getHostSource, nb::arg("compiled"), nb::arg("function"));
  m.def("export_host_sources", exportHostSources, nb::arg("compiled"),
        nb::arg("function"), nb::arg("directory"));
  m.def("build_library", buildLibrary, nb::arg("compiled"), nb::arg("function"),
        nb::kw_only(), nb::arg("compiler"), nb::arg("keep_dir"));
  m.def("export_library", exportLibrary, nb::arg("compiled"),
        nb::arg("function"), nb::arg("directory"), nb::kw_only(),
        nb::arg("compiler"), nb::arg("keep_dir"));
  m.def("demangle", demangle, nb::arg("symbol"));
  m.def("open_library", openLibrary, nb::arg("path"), nb::arg("function"));
}
