//===- Cache.cpp - C API of the artifact cache ----------------------------===//
//
// Turns what the cache knows into JSON. Nothing is decided here.
//
//===----------------------------------------------------------------------===//

#include "tl-c/Cache.h"

#include "TlCache.h"

#include "tl/Cache/Bundle.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>

using namespace llvm;
using namespace tl::cache;

/// A copy of `text` for the caller to free.
static char *giveText(const std::string &text) { return strdup(text.c_str()); }

static char *giveJSON(json::Value value) {
  return giveText(formatv("{0:2}", value));
}

/// Stores the error's text for the caller and returns what failure returns.
static std::nullptr_t fail(Error error, char **result) {
  std::string message = toString(std::move(error));
  if (result)
    *result = giveText(message);
  return nullptr;
}

static json::Object describe(const DirectoryStore &store, EntryInfo entry) {
  // The manifest, less what only matters to who loads it.
  json::Object object = entry.manifest.toJSON();
  object.erase("format");
  object["directory"] = store.pathOf(entry.manifest.key.digest());
  object["size"] = entry.size;
  object["last_use"] = formatTime(entry.lastUse);
  return object;
}

static json::Object describe(const EntrySummary &entry) {
  json::Array files;
  for (const std::string &file : entry.files)
    files.push_back(json::fixUTF8(file));
  return json::Object{{"key", entry.name.hex()},
                      {"size", entry.size},
                      {"last_use", formatTime(entry.lastUse)},
                      {"created", json::fixUTF8(entry.created)},
                      {"files", std::move(files)},
                      {"kernel", json::fixUTF8(entry.kernel)},
                      {"kind", json::fixUTF8(entry.kind)},
                      {"tuning", json::fixUTF8(entry.tuning)}};
}

static json::Object describe(const ArtifactStore &tier) {
  StoreStats stats = tier.stats();
  return json::Object{{"name", tier.name().str()},
                      {"hits", stats.hits.get()},
                      {"misses", stats.misses.get()},
                      {"inserted", stats.inserted.get()},
                      {"bytes_read", stats.bytesRead.get()},
                      {"bytes_written", stats.bytesWritten.get()},
                      {"quarantined", stats.quarantined.get()},
                      {"evicted", stats.evicted.get()},
                      {"failures", stats.failures.get()},
                      {"dropped", stats.dropped.get()}};
}

static json::Object describe(const KeyDifference &difference) {
  json::Object object{
      {"name", difference.name}, {"first", nullptr}, {"second", nullptr}};
  if (difference.first)
    object["first"] = *difference.first;
  if (difference.second)
    object["second"] = *difference.second;
  return object;
}

/// The one entry whose key begins with `prefix`.
static Expected<EntryInfo> findInfo(const DirectoryStore &store,
                                    const char *prefix) {
  Expected<Digest> name = store.find(prefix);
  if (!name)
    return name.takeError();
  return store.info(*name);
}

char *tlCacheDefaultDirectory(char **error) {
  Expected<std::string> directory = defaultDirectory();
  return directory ? giveText(*directory) : fail(directory.takeError(), error);
}

TlCache *tlCacheOpen(const char *directory, const TlCacheOptions *given) {
  CacheOptions options;
  if (directory)
    options.directory = directory;
  if (given && given->maxBytes == TL_CACHE_UNBOUNDED)
    options.directoryOptions.limits.maxBytes.reset();
  else if (given && given->maxBytes)
    options.directoryOptions.limits.maxBytes = given->maxBytes;
  if (given) {
    options.directoryOptions.allowGroupWritable = given->allowGroupWritable;
    options.directoryOptions.allowUnsigned = given->allowUnsigned;
    options.shared.allowUnsigned = given->allowUnsigned;
  }
  if (given && given->memoryBytes)
    options.memoryBytes = given->memoryBytes;
  if (given && given->warn)
    options.warn = [warn = given->warn,
                    data = given->warnData](StringRef message) {
      warn(message.str().c_str(), data);
    };
  if (given && given->keyFile) {
    Expected<SigningKey> key = SigningKey::read(given->keyFile);
    if (key)
      options.shared.key = std::make_shared<const SigningKey>(std::move(*key));
    else
      Warnings(options.warn).report(key.takeError());
  }
  return new TlCache(std::make_unique<Cache>(std::move(options)));
}

void tlCacheDestroy(TlCache *cache) { delete cache; }

char *tlCacheStats(TlCache *cache) {
  json::Array tiers;
  for (const std::unique_ptr<ArtifactStore> &tier : cache->cache.tiers())
    tiers.push_back(describe(*tier));
  const CacheStats &stats = cache->cache.stats();
  return giveJSON(json::Object{{"stored", stats.stored.get()},
                               {"made", stats.made.get()},
                               {"shared", stats.shared.get()},
                               {"failed", stats.failed.get()},
                               {"tiers", std::move(tiers)}});
}

char *tlCacheList(TlCache *cache, char **error) {
  Expected<DirectoryStore *> store = cache->cache.directory();
  if (!store)
    return fail(store.takeError(), error);
  Expected<std::vector<EntryInfo>> entries = (*store)->list();
  if (!entries)
    return fail(entries.takeError(), error);
  json::Array list;
  for (EntryInfo &entry : *entries)
    list.push_back(describe(**store, std::move(entry)));
  return giveJSON(std::move(list));
}

bool tlCacheForEach(TlCache *cache, bool isBrief, TlVisitEntry visit,
                    void *data, char **error) {
  auto give = [&](json::Object object) {
    json::Value value(std::move(object));
    // What is brief is for programs, the rest to be shown as it is.
    std::string text =
        isBrief ? formatv("{0}", value).str() : formatv("{0:2}", value).str();
    return visit(text.c_str(), data);
  };
  Expected<DirectoryStore *> store = cache->cache.directory();
  Error failure = store.takeError();
  if (!failure && isBrief)
    failure = (*store)->forEach(
        [&](const EntrySummary &entry) { return give(describe(entry)); });
  else if (!failure)
    failure = (*store)->forEachInfo([&](EntryInfo entry) {
      return give(describe(**store, std::move(entry)));
    });
  if (!failure)
    return true;
  fail(std::move(failure), error);
  return false;
}

char *tlCacheTotals(TlCache *cache, char **error) {
  Expected<DirectoryStore *> store = cache->cache.directory();
  if (!store)
    return fail(store.takeError(), error);
  Expected<DirectoryTotals> totals = (*store)->totals();
  if (!totals)
    return fail(totals.takeError(), error);
  json::Object object{{"entries", totals->entries},
                      {"bytes", totals->bytes},
                      {"oldest_use", nullptr},
                      {"newest_use", nullptr}};
  if (totals->entries) {
    object["oldest_use"] = formatTime(totals->oldestUse);
    object["newest_use"] = formatTime(totals->newestUse);
  }
  return giveJSON(std::move(object));
}

char *tlCacheShow(TlCache *cache, const char *key, char **error) {
  Expected<DirectoryStore *> store = cache->cache.directory();
  if (!store)
    return fail(store.takeError(), error);
  Expected<EntryInfo> entry = findInfo(**store, key);
  if (!entry)
    return fail(entry.takeError(), error);
  return giveJSON(describe(**store, std::move(*entry)));
}

/// More of what an entry was made of is not looked at.
static constexpr size_t maxInputBytes = 16 << 20;

/// What an entry was made of, but for the first line, which says what
/// components of their own say; empty if that is not there. The entry is read
/// as any other: what lies in its place may be a link, or have no end.
static std::string readInput(DirectoryStore &store, const Key &key) {
  Expected<EntryPtr> entry = store.read(key.digest());
  if (!entry) {
    consumeError(entry.takeError());
    return "";
  }
  StringRef text = (*entry)->file(inputFile).value_or("");
  return text.take_front(maxInputBytes).split('\n').second.str();
}

/// True for the components that are made of the input.
static bool isInput(const KeyDifference &difference) {
  StringRef kind = StringRef(difference.name).split(' ').first;
  return kind == "kernel" || kind == "source" || kind == "header";
}

/// The first lines in which the inputs of two entries differ; null if they do
/// not, or are not known.
static json::Value explainInput(DirectoryStore &store, const Key &first,
                                const Key &second) {
  std::string firstText = readInput(store, first),
              secondText = readInput(store, second);
  if (firstText.empty() || secondText.empty())
    return nullptr;
  StringRef lhs = firstText, rhs = secondText, left, right;
  unsigned line = 1;
  do {
    std::tie(left, lhs) = lhs.split('\n');
    std::tie(right, rhs) = rhs.split('\n');
    ++line;
  } while (left.trim() == right.trim() && (!lhs.empty() || !rhs.empty()));
  if (left.trim() == right.trim())
    return nullptr;
  std::string before = left.trim().str(), after = right.trim().str();
  elideCommonParts(before, after);
  return json::Object{{"line", line},
                      {"first", json::fixUTF8(before)},
                      {"second", json::fixUTF8(after)}};
}

char *tlCacheExplain(TlCache *cache, const char *key, const char *other,
                     char **error) {
  Expected<DirectoryStore *> store = cache->cache.directory();
  if (!store)
    return fail(store.takeError(), error);
  Expected<EntryInfo> first = findInfo(**store, key);
  if (!first)
    return fail(first.takeError(), error);
  Expected<EntryInfo> second =
      other ? findInfo(**store, other) : (*store)->nearest(first->manifest.key);
  if (!second)
    return fail(second.takeError(), error);

  const Key &firstKey = first->manifest.key, &secondKey = second->manifest.key;
  json::Array differences;
  json::Value input = nullptr;
  for (const KeyDifference &difference : explain(firstKey, secondKey)) {
    differences.push_back(describe(difference));
    if (isInput(difference))
      input = explainInput(**store, firstKey, secondKey);
  }
  return giveJSON(json::Object{{"first", firstKey.hex()},
                               {"second", secondKey.hex()},
                               {"differences", std::move(differences)},
                               {"input", std::move(input)}});
}

char *tlCacheVerify(TlCache *cache, char **error) {
  Expected<DirectoryStore *> store = cache->cache.directory();
  if (!store)
    return fail(store.takeError(), error);
  Expected<std::vector<Digest>> names = (*store)->names();
  if (!names)
    return fail(names.takeError(), error);
  json::Array problems;
  for (const Digest &name : *names)
    if (Error problem = (*store)->verify(name))
      problems.push_back(toString(std::move(problem)));
  return giveJSON(json::Object{{"checked", names->size()},
                               {"problems", std::move(problems)}});
}

char *tlCachePrune(TlCache *cache, uint64_t maxBytes, uint64_t maxAgeSeconds,
                   char **error) {
  Expected<DirectoryStore *> store = cache->cache.directory();
  if (!store)
    return fail(store.takeError(), error);
  PruneLimits limits;
  if (maxBytes != TL_CACHE_UNBOUNDED)
    limits.maxBytes = maxBytes;
  if (maxAgeSeconds != TL_CACHE_UNBOUNDED)
    limits.maxAge = std::chrono::seconds(maxAgeSeconds);
  Expected<PruneResult> result = (*store)->prune(limits);
  if (!result)
    return fail(result.takeError(), error);
  return giveJSON(json::Object{{"removed_entries", result->removedEntries},
                               {"removed_bytes", result->removedBytes},
                               {"remaining_entries", result->remainingEntries},
                               {"remaining_bytes", result->remainingBytes}});
}

/// The entries whose keys begin as given; all, if none is given.
static Expected<std::vector<Digest>> findAll(const DirectoryStore &store,
                                             ArrayRef<const char *> prefixes) {
  if (prefixes.empty())
    return store.names();
  std::vector<Digest> names;
  for (const char *prefix : prefixes) {
    Expected<Digest> name = store.find(prefix);
    if (!name)
      return name.takeError();
    names.push_back(*name);
  }
  // Each once, however often it was named.
  sort(names);
  names.erase(llvm::unique(names), names.end());
  return names;
}

char *tlCacheExport(TlCache *cache, const char *path, const char *const *keys,
                    size_t numKeys, char **error) {
  Expected<DirectoryStore *> store = cache->cache.directory();
  if (!store)
    return fail(store.takeError(), error);
  Expected<std::vector<Digest>> names =
      findAll(**store, ArrayRef(keys, numKeys));
  if (!names)
    return fail(names.takeError(), error);
  Expected<ExportResult> result =
      exportBundle(**store, *names, path, cache->cache.sharing().key.get());
  if (!result)
    return fail(result.takeError(), error);
  return giveJSON(
      json::Object{{"entries", result->entries}, {"bytes", result->bytes}});
}

char *tlCacheImport(TlCache *cache, const char *path, char **error) {
  Expected<DirectoryStore *> store = cache->cache.directory();
  if (!store)
    return fail(store.takeError(), error);
  const SharedTiers &sharing = cache->cache.sharing();
  Expected<ImportResult> result =
      importBundle(**store, path, {sharing.key.get(), sharing.allowUnsigned});
  if (!result)
    return fail(result.takeError(), error);
  return giveJSON(json::Object{{"imported", result->imported},
                               {"present", result->present},
                               {"refused", result->refused},
                               {"bytes", result->bytes}});
}

char *tlCacheClear(TlCache *cache, char **error) {
  Expected<uint64_t> removed = cache->cache.clear();
  if (!removed)
    return fail(removed.takeError(), error);
  return giveJSON(json::Object{{"removed", *removed}});
}
