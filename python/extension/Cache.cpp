//===- Cache.cpp - The cache in Python ------------------------------------===//
//
// All functions speak of the cache that compilations of this process use for a
// directory. What makes an entry is called with the interpreter's lock, and
// nothing else is: another thread or process may be waited for.
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "Errors.h"
#include "tl-c/Compiler.h"
#include "tl-c/Entry.h"
#include <cstring>
#include <exception>
#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace tl::python;

namespace {
struct Destroy {
  void operator()(TlCache *cache) const { tlCacheDestroy(cache); }
  void operator()(TlEntry *entry) const { tlEntryDestroy(entry); }
  void operator()(char *text) const { tlFree(text); }
};

struct Entry {
  std::unique_ptr<TlEntry, Destroy> handle;
};
} // namespace

using Cache = std::unique_ptr<TlCache, Destroy>;
using Text = std::unique_ptr<char, Destroy>;

[[noreturn]] static void fail(const std::string &reason) {
  setError("CacheError", reason);
  throw nb::python_error();
}

/// Calls a function of the C API that stores its reason where it fails.
template <typename Function>
static auto ask(const std::string &directory, Function function) {
  char *reason = nullptr;
  decltype(function(nullptr, &reason)) result;
  {
    nb::gil_scoped_release release;
    Cache cache(tlCacheOfProcess(directory.c_str()));
    result = function(cache.get(), &reason);
  }
  if (Text error(reason); error)
    fail(error.get());
  return result;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

namespace {
/// The components of a key as the C API takes them; refers to the dictionary.
class Components {
public:
  explicit Components(nb::dict given) : given(std::move(given)) {
    for (auto [name, value] : this->given)
      list.push_back(component(nb::cast<const char *>(name), value));
  }

  const TlKeyComponent *data() const { return list.data(); }
  size_t size() const { return list.size(); }

private:
  static TlKeyComponent component(const char *name, nb::handle value) {
    if (nb::isinstance<nb::bytes>(value)) {
      auto bytes = nb::borrow<nb::bytes>(value);
      return {name, bytes.data(), bytes.size()};
    }
    Py_ssize_t size = 0;
    const char *text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (!text)
      throw nb::python_error();
    return {name, text, static_cast<size_t>(size)};
  }

  nb::dict given;
  std::vector<TlKeyComponent> list;
};

/// What makes an entry, and what it raised.
struct Maker {
  nb::object function;
  std::exception_ptr raised;

  /// Fills an entry with (files, metadata as JSON).
  void fill(TlEntry *entry) const {
    auto made = nb::cast<nb::tuple>(function());
    for (auto [name, value] : nb::cast<nb::dict>(made[0])) {
      auto bytes = nb::cast<nb::bytes>(value);
      const char *file = nb::cast<const char *>(name);
      if (!tlEntryAddFile(entry, file, bytes.data(), bytes.size()))
        fail("an entry of the cache cannot hold a file `" + std::string(file) +
             "`");
    }
    std::string metadata = nb::cast<std::string>(made[1]);
    if (!tlEntrySetMetadata(entry, metadata.c_str()))
      fail("the metadata of an entry is a JSON object, not `" + metadata + "`");
  }

  static bool call(TlEntry *entry, void *data, char **error) {
    auto *maker = static_cast<Maker *>(data);
    nb::gil_scoped_acquire acquire;
    try {
      maker->fill(entry);
      return true;
    } catch (std::exception &raised) {
      maker->raised = std::current_exception();
      *error = strdup(raised.what());
      return false;
    }
  }
};
} // namespace

/// Returns the entry, or None where there is none and nobody makes it.
static nb::object fetch(const std::string &directory, nb::dict given,
                        nb::object make) {
  Components components(std::move(given));
  Maker maker{make, nullptr};
  char *reason = nullptr;
  auto entry = std::make_unique<Entry>();
  {
    nb::gil_scoped_release release;
    Cache cache(tlCacheOfProcess(directory.c_str()));
    entry->handle.reset(
        tlCacheFetch(cache.get(), components.data(), components.size(),
                     make.is_none() ? nullptr : Maker::call, &maker, &reason));
  }
  Text error(reason);
  if (maker.raised)
    std::rethrow_exception(maker.raised);
  if (error)
    fail(error.get());
  if (!entry->handle)
    return nb::none();
  return nb::cast(std::move(entry));
}

/// Says why there is no entry.
static std::string explainMiss(const std::string &directory, nb::dict given) {
  Components components(std::move(given));
  nb::gil_scoped_release release;
  Cache cache(tlCacheOfProcess(directory.c_str()));
  return Text(tlCacheExplainMiss(cache.get(), components.data(),
                                 components.size()))
      .get();
}

static nb::object readFile(const Entry &entry, const std::string &name) {
  size_t size = 0;
  const void *bytes = tlEntryFile(entry.handle.get(), name.c_str(), &size);
  return bytes ? nb::object(nb::bytes(bytes, size)) : nb::none();
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

void tl::python::bindCache(nb::module_ &m) {
  nb::class_<Entry>(m, "Entry")
      .def("info",
           [](const Entry &entry) {
             return std::string(Text(tlEntryInfo(entry.handle.get())).get());
           })
      .def("file", readFile, nb::arg("name"));
  m.def("cache_fetch", fetch, nb::arg("directory"), nb::arg("components"),
        nb::arg("make").none());
  m.def("cache_explain_miss", explainMiss, nb::arg("directory"),
        nb::arg("components"));
  m.def(
      "cache_key",
      [](nb::dict given) {
        Components components(std::move(given));
        return std::string(
            Text(tlCacheKey(components.data(), components.size())).get());
      },
      nb::arg("components"));
  // What of the environment makes no sense, or None.
  m.def("cache_use_environment", []() -> std::optional<std::string> {
    Text trouble(tlCacheUseEnvironment());
    if (!trouble)
      return std::nullopt;
    return trouble.get();
  });
  m.def("cache_counters",
        [] { return std::string(Text(tlCacheCounters()).get()); });
  m.def(
      "cache_list",
      [](const std::string &directory) {
        return std::string(Text(ask(directory, tlCacheList)).get());
      },
      nb::arg("directory"));
  m.def(
      "cache_clear",
      [](const std::string &directory) {
        return std::string(Text(ask(directory, tlCacheClear)).get());
      },
      nb::arg("directory"));
  m.def(
      "cache_remove",
      [](const std::string &directory, const std::string &key) {
        ask(directory, [&](TlCache *cache, char **error) {
          return tlCacheRemove(cache, key.c_str(), error);
        });
      },
      nb::arg("directory"), nb::arg("key"));
  m.def("cache_forget", tlCacheForgetAll);
}
