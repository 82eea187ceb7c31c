//===- Cache.cpp - The cache in Python ------------------------------------===//
//
// All functions speak of the cache that compilations of this process use for a
// directory. What makes an entry is called with the interpreter's lock, and
// nothing else is: another thread or process may be waited for.
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "Errors.h"
#include "GIL.h"
#include "tl-c/Compiler.h"
#include "tl-c/Entry.h"
#include "tl-c/Runtime.h"
#include <cstring>
#include <exception>
#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace tl::python;

namespace {
struct Destroy {
  void operator()(TlCache *cache) const { tlCacheDestroy(cache); }
  void operator()(TlEntry *entry) const { tlEntryDestroy(entry); }
  void operator()(TlCacheLock *lock) const { tlCacheUnlock(lock); }
  void operator()(TlCacheLookups *lookups) const { tlCacheEndLookups(lookups); }
  void operator()(char *text) const { tlFree(text); }
};

struct Lookups {
  std::unique_ptr<TlCacheLookups, Destroy> handle;
};

/// A lock of a race, until it is released or nobody refers to it.
struct Lock {
  std::unique_ptr<TlCacheLock, Destroy> handle;
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
    ReleasedGIL release;
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

/// The bytes of a file, or None.
static nb::object readFile(const TlEntry *entry, const std::string &name) {
  size_t size = 0;
  const void *bytes = tlEntryFile(entry, name.c_str(), &size);
  return bytes ? nb::object(nb::bytes(bytes, size)) : nb::none();
}

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

/// What makes an entry, what reads one that was found, and what either raised.
struct Maker {
  nb::object function;
  nb::object reader;
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
    AcquiredGIL acquire;
    try {
      maker->fill(entry);
      return true;
    } catch (std::exception &raised) {
      maker->raised = std::current_exception();
      *error = strdup(raised.what());
      return false;
    }
  }

  /// Has an entry read that was found; what that raises is why it is a miss.
  static bool read(const TlEntry *entry, void *data, char **error) {
    auto *maker = static_cast<Maker *>(data);
    AcquiredGIL acquire;
    try {
      maker->reader(nb::cpp_function(
          [entry](const std::string &name) { return readFile(entry, name); }));
      return true;
    } catch (nb::python_error &raised) {
      // What it says, and not where in our code.
      *error = strdup(nb::str(raised.value()).c_str());
      return false;
    } catch (std::exception &raised) {
      *error = strdup(raised.what());
      return false;
    }
  }
};
} // namespace

/// Returns the entry, or None where there is none and nobody makes it.
static nb::object fetch(const std::string &directory, nb::dict given,
                        nb::object make, nb::object read) {
  Components components(std::move(given));
  Maker maker{make, read, nullptr};
  char *reason = nullptr;
  auto entry = std::make_unique<Entry>();
  {
    ReleasedGIL release;
    Cache cache(tlCacheOfProcess(directory.c_str()));
    entry->handle.reset(
        tlCacheFetch(cache.get(), components.data(), components.size(),
                     make.is_none() ? nullptr : Maker::call,
                     read.is_none() ? nullptr : Maker::read, &maker, &reason));
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
  ReleasedGIL release;
  Cache cache(tlCacheOfProcess(directory.c_str()));
  return Text(tlCacheExplainMiss(cache.get(), components.data(),
                                 components.size()))
      .get();
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
      .def(
          "file",
          [](const Entry &entry, const std::string &name) {
            return readFile(entry.handle.get(), name);
          },
          nb::arg("name"));
  nb::class_<Lock>(m, "CacheLock").def("release", [](Lock &lock) {
    lock.handle.reset();
  });
  // `with _tl.CacheLookups():` lookups within share what one may take.
  nb::class_<Lookups>(m, "CacheLookups")
      .def(nb::init<>())
      .def(
          "__enter__",
          [](Lookups &lookups) { lookups.handle.reset(tlCacheBeginLookups()); })
      .def("__exit__",
           [](Lookups &lookups, nb::args) { lookups.handle.reset(); });
  m.def("cache_fetch", fetch, nb::arg("directory"), nb::arg("components"),
        nb::arg("make").none(), nb::arg("read").none());
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
      "cache_totals",
      [](const std::string &directory) {
        return std::string(Text(ask(directory, tlCacheTotals)).get());
      },
      nb::arg("directory"));
  // What a list shows of the tuner's records, each as JSON.
  m.def(
      "cache_tunings",
      [](const std::string &directory) {
        std::vector<std::string> found;
        ask(directory, [&](TlCache *cache, char **error) {
          auto add = [](const char *json, void *data) {
            if (strstr(json, "\"kind\":\"tuning\""))
              static_cast<std::vector<std::string> *>(data)->push_back(json);
            return true;
          };
          return tlCacheForEach(cache, /*isBrief=*/true, add, &found, error);
        });
        return found;
      },
      nb::arg("directory"));
  m.def(
      "cache_clear",
      [](const std::string &directory) {
        return std::string(Text(ask(directory, tlCacheClear)).get());
      },
      nb::arg("directory"));
  m.def(
      "cache_remove_where",
      [](const std::string &directory, std::optional<std::string> kind,
         bool isKind, std::optional<std::string> createdBefore) {
        ask(directory, [&](TlCache *cache, char **error) {
          return tlCacheRemoveWhere(
              cache, kind ? kind->c_str() : nullptr, isKind,
              createdBefore ? createdBefore->c_str() : nullptr, error);
        });
      },
      nb::arg("directory"), nb::arg("kind").none(), nb::arg("is_kind"),
      nb::arg("created_before").none());
  // None if somebody else has it for so many milliseconds.
  m.def(
      "cache_lock_race",
      [](const std::string &directory, const std::string &name,
         uint64_t atMost) -> nb::object {
        auto lock = std::make_unique<Lock>();
        lock->handle.reset(ask(directory, [&](TlCache *cache, char **error) {
          return tlCacheLockRace(cache, name.c_str(), atMost, error);
        }));
        return lock->handle ? nb::cast(std::move(lock)) : nb::none();
      },
      nb::arg("directory"), nb::arg("name"), nb::arg("at_most"));
  m.def(
      "cache_read_journal",
      [](const std::string &directory, const std::string &name) {
        Text text(ask(directory, [&](TlCache *cache, char **error) {
          return tlCacheReadJournal(cache, name.c_str(), error);
        }));
        return nb::bytes(text.get());
      },
      nb::arg("directory"), nb::arg("name"));
  m.def(
      "cache_append_journal",
      [](const std::string &directory, const std::string &name,
         const std::string &line) {
        ask(directory, [&](TlCache *cache, char **error) {
          return tlCacheAppendJournal(cache, name.c_str(), line.c_str(), error);
        });
      },
      nb::arg("directory"), nb::arg("name"), nb::arg("line"));
  m.def(
      "cache_remove_journal",
      [](const std::string &directory, const std::string &name) {
        ReleasedGIL release;
        tlCacheRemoveJournal(Cache(tlCacheOfProcess(directory.c_str())).get(),
                             name.c_str());
      },
      nb::arg("directory"), nb::arg("name"));
  m.def(
      "cache_clear_races",
      [](const std::string &directory) {
        ReleasedGIL release;
        tlCacheClearRaces(Cache(tlCacheOfProcess(directory.c_str())).get());
      },
      nb::arg("directory"));
  m.def(
      "show_text",
      [](nb::bytes text, bool keepLines) {
        return std::string(
            Text(tlShowText(text.c_str(), text.size(), keepLines)).get());
      },
      nb::arg("text"), nb::arg("keep_lines"));
  // Why a text is not to be parsed as JSON, or None.
  m.def(
      "check_json",
      [](nb::bytes text, uint64_t maxBytes) -> std::optional<std::string> {
        Text why(tlCheckJSON(text.c_str(), text.size(), maxBytes));
        if (!why)
          return std::nullopt;
        return why.get();
      },
      nb::arg("text"), nb::arg("max_bytes"));
  // A number of bytes as people write it, or None.
  m.def(
      "parse_byte_count",
      [](const std::string &text) -> std::optional<uint64_t> {
        uint64_t bytes;
        if (!tlParseByteCount(text.c_str(), &bytes))
          return std::nullopt;
        return bytes;
      },
      nb::arg("text"));
  // Why a text is not a launch plan, or None.
  m.def(
      "check_plan",
      [](nb::bytes text) -> std::optional<std::string> {
        Text why(tlCheckLaunchPlan(text.c_str(), text.size()));
        if (!why)
          return std::nullopt;
        return why.get();
      },
      nb::arg("text"));
  m.def(
      "read_archive",
      [](nb::bytes archive) {
        nb::dict files;
        char *reason = nullptr;
        tlReadStoredArchive(
            archive.c_str(), archive.size(),
            [](const char *name, size_t nameSize, const void *bytes,
               size_t size, void *data) {
              (*static_cast<nb::dict *>(data))[nb::str(name, nameSize)] =
                  nb::bytes(bytes, size);
            },
            &files, &reason);
        if (Text error(reason); error)
          fail(error.get());
        return files;
      },
      nb::arg("archive"));
  m.def("cache_forget", tlCacheForgetAll);
}
