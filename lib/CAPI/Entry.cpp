//===- Entry.cpp - C API of what the cache keeps --------------------------===//
//
// See tl-c/Entry.h. An entry is filled by its maker and immutable from the
// moment it is stored; one handle stands for both, so that callers have one
// thing to destroy.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Entry.h"

#include "TlCache.h"
#include "tl/Cache/Budget.h"
#include "tl/Pipeline/Miss.h"
#include "tl/Pipeline/Pipelines.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

using namespace llvm;
using namespace tl::cache;

struct TlEntry {
  /// What a maker fills.
  Entry made;
  /// What the cache returned.
  EntryPtr stored;
  std::string key;
  Origin origin = Origin::Made;
};

struct TlCacheLookups {
  BudgetScope budget;
};

TlCacheLookups *tlCacheBeginLookups(void) { return new TlCacheLookups; }

void tlCacheEndLookups(TlCacheLookups *lookups) { delete lookups; }

static char *giveText(const std::string &text) { return strdup(text.c_str()); }

/// Stores the error's text for the caller and returns what failure returns.
static std::nullptr_t fail(Error error, char **result) {
  std::string message = toString(std::move(error));
  if (result)
    *result = giveText(message);
  return nullptr;
}

static Key makeKey(const TlKeyComponent *components, size_t count) {
  KeyBuilder builder;
  for (const TlKeyComponent &component : ArrayRef(components, count))
    builder.add(
        component.name,
        StringRef(static_cast<const char *>(component.bytes), component.size));
  return builder.build();
}

TlCache *tlCacheOfProcess(const char *directory) {
  return new TlCache(tl::getCache(directory ? directory : ""));
}

char *tlCacheKey(const TlKeyComponent *components, size_t componentCount) {
  return giveText(makeKey(components, componentCount).hex());
}

/// Calls the C function that makes an entry.
static Expected<Entry> callMaker(TlMakeEntry make, void *data) {
  TlEntry entry;
  char *reason = nullptr;
  if (make(&entry, data, &reason))
    return std::move(entry.made);
  std::string message = reason ? reason : "the artifact cannot be made";
  free(reason);
  return createStringError(message);
}

/// Calls the C function that reads an entry that was found.
static Error callReader(TlReadEntry read, const Entry &found, const Key &key,
                        void *data) {
  TlEntry entry;
  // It lives as long as the call.
  entry.stored = EntryPtr(EntryPtr(), &found);
  entry.key = key.hex();
  entry.origin = Origin::Stored;
  char *reason = nullptr;
  if (read(&entry, data, &reason))
    return Error::success();
  std::string message = reason ? reason : "cannot be read";
  free(reason);
  return createStringError(message);
}

TlEntry *tlCacheFetch(TlCache *cache, const TlKeyComponent *components,
                      size_t componentCount, TlMakeEntry make, TlReadEntry read,
                      void *data, char **error) {
  Key key = makeKey(components, componentCount);
  auto entry = std::make_unique<TlEntry>();
  entry->key = key.hex();
  auto accept = [&](const Entry &found) -> Error {
    return read ? callReader(read, found, key, data) : Error::success();
  };
  if (!make) {
    entry->stored = cache->cache.lookup(key, accept);
    entry->origin = Origin::Stored;
    return entry->stored ? entry.release() : nullptr;
  }
  Expected<Fetched> fetched =
      cache->cache.withKey(key, [&] { return callMaker(make, data); }, accept);
  if (!fetched)
    return fail(fetched.takeError(), error);
  entry->stored = std::move(fetched->entry);
  entry->origin = fetched->origin;
  return entry.release();
}

char *tlCacheExplainMiss(TlCache *cache, const TlKeyComponent *components,
                         size_t componentCount) {
  return giveText(
      tl::explainMiss(cache->cache, makeKey(components, componentCount)));
}

void tlEntryDestroy(TlEntry *entry) { delete entry; }

bool tlEntryAddFile(TlEntry *entry, const char *name, const void *bytes,
                    size_t size) {
  if (!isValidFileName(name) || entry->made.file(name))
    return false;
  entry->made.addFile(name,
                      std::string(static_cast<const char *>(bytes), size));
  return true;
}

bool tlEntrySetMetadata(TlEntry *entry, const char *text) {
  Expected<json::Value> value = json::parse(text);
  if (!value) {
    consumeError(value.takeError());
    return false;
  }
  const json::Object *object = value->getAsObject();
  if (!object)
    return false;
  entry->made.setMetadata(*object);
  return true;
}

const void *tlEntryFile(const TlEntry *entry, const char *name, size_t *size) {
  std::optional<StringRef> bytes = entry->stored->file(name);
  if (!bytes)
    return nullptr;
  *size = bytes->size();
  return bytes->data();
}

static StringRef nameOf(Origin origin) {
  switch (origin) {
  case Origin::Stored:
    return "stored";
  case Origin::Made:
    return "made";
  case Origin::Shared:
    return "shared";
  }
  llvm_unreachable("all origins are handled");
}

char *tlEntryInfo(const TlEntry *entry) {
  json::Array files;
  for (const File &file : entry->stored->files())
    files.push_back(file.name);
  json::Object info{{"key", entry->key},
                    {"origin", nameOf(entry->origin)},
                    {"directory", nullptr},
                    {"files", std::move(files)},
                    {"metadata", json::Object(entry->stored->metadata())}};
  if (!entry->stored->directory.empty())
    info["directory"] = entry->stored->directory;
  return giveText(formatv("{0}", json::Value(std::move(info))));
}

bool tlCacheRemove(TlCache *cache, const char *key, char **error) {
  std::optional<Digest> name = Digest::fromHex(key);
  Error failure =
      name ? cache->cache.remove(*name)
           : createStringError("`" + std::string(key) + "` is not a key");
  if (!failure)
    return true;
  fail(std::move(failure), error);
  return false;
}

/// Calls a function with the directory; false, with the reason, if there is
/// none or it fails.
template <typename Function>
static bool withDirectory(TlCache *cache, char **error, Function function) {
  Expected<DirectoryStore *> store = cache->cache.directory();
  Error failure = store ? function(**store) : store.takeError();
  if (!failure)
    return true;
  fail(std::move(failure), error);
  return false;
}

bool tlCacheRemoveWhere(TlCache *cache, const char *kind, bool isKind,
                        const char *createdBefore, char **error) {
  cache->cache.forget();
  return withDirectory(cache, error, [&](DirectoryStore &store) -> Error {
    std::vector<Digest> chosen;
    if (Error failure = store.forEach([&](const EntrySummary &entry) {
          bool isChosen = (!kind || (entry.kind == kind) == isKind) &&
                          (!createdBefore || entry.created < createdBefore);
          if (isChosen)
            chosen.push_back(entry.name);
          return true;
        }))
      return failure;
    for (const Digest &name : chosen)
      if (Error failure = store.remove(name))
        return failure;
    return Error::success();
  });
}

struct TlCacheLock {
  std::unique_ptr<KeyLock> lock;
};

TlCacheLock *tlCacheLockRace(TlCache *cache, const char *name, uint64_t atMost,
                             char **error) {
  auto handle = std::make_unique<TlCacheLock>();
  bool succeeded =
      withDirectory(cache, error, [&](DirectoryStore &store) -> Error {
        auto lock = store.lockRace(name, std::chrono::milliseconds(atMost));
        if (!lock)
          return lock.takeError();
        handle->lock = std::move(*lock);
        return Error::success();
      });
  return succeeded && handle->lock ? handle.release() : nullptr;
}

void tlCacheUnlock(TlCacheLock *lock) { delete lock; }

char *tlCacheReadJournal(TlCache *cache, const char *name, char **error) {
  std::string text;
  bool succeeded =
      withDirectory(cache, error, [&](DirectoryStore &store) -> Error {
        Expected<std::string> read = store.readJournal(name);
        if (!read)
          return read.takeError();
        text = std::move(*read);
        return Error::success();
      });
  return succeeded ? giveText(text) : nullptr;
}

bool tlCacheAppendJournal(TlCache *cache, const char *name, const char *line,
                          char **error) {
  return withDirectory(cache, error, [&](DirectoryStore &store) {
    return store.appendJournal(name, line);
  });
}

void tlCacheRemoveJournal(TlCache *cache, const char *name) {
  withDirectory(cache, nullptr, [&](DirectoryStore &store) {
    store.removeJournal(name);
    return Error::success();
  });
}

void tlCacheClearRaces(TlCache *cache) {
  withDirectory(cache, nullptr, [&](DirectoryStore &store) {
    store.clearRaces();
    return Error::success();
  });
}

void tlCacheForgetAll(void) { tl::forgetCaches(); }
