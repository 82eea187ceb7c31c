//===- tl-c/Cache.h - Look into the artifact cache --------------*- C -*-===//
//
// Open a cache directory, list and explain what is in it, verify, prune and
// clear it. `tl-cache` and `tilec.cache` are made of these functions. What an
// entry holds and what is promised of it is described in docs/cache.md.
//
// Functions that return a string return JSON that the caller frees with
// `tlFree`. Those with a `char **error` return NULL or false when they fail and
// store the reason there, which the caller frees with `tlFree` too; `error` may
// be NULL. All may be called from any thread.
//
//===----------------------------------------------------------------------===//

#ifndef TL_C_CACHE_H
#define TL_C_CACHE_H

#include "tl-c/Support.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TlCache TlCache;

/// A bound that does not bind.
#define TL_CACHE_UNBOUNDED UINT64_MAX

typedef struct TlCacheOptions {
  /// Bytes that the directory may hold; 0 for the default of 4 GiB.
  uint64_t maxBytes;
  /// Use a directory that a group may write, if this process belongs to the
  /// group; without, it is refused.
  bool allowGroupWritable;
  /// Use unsigned device code: import it, and load what was imported before.
  bool allowUnsigned;
  /// The secret that signs what is exported and checks what is imported, which
  /// then needs a signature; NULL for none.
  const char *keyFile;
  /// Bytes that are kept in memory; 0 for the default of 256 MiB.
  uint64_t memoryBytes;
  /// Hears of tiers that do not work, each trouble once, from any thread; NULL
  /// to have it printed to standard error.
  void (*warn)(const char *message, void *data);
  void *warnData;
} TlCacheOptions;

/// Where the cache is when nobody says: `$TL_CACHE_DIR`, else
/// `$XDG_CACHE_HOME/tilec`, else `~/.cache/tilec`. A path, not JSON.
TL_API char *tlCacheDefaultDirectory(char **error);

/// Opens the cache in `directory`, which is made if it is not there. With NULL,
/// or a directory that cannot be used, entries are kept in memory alone; the
/// latter is warned of. `options` may be NULL. Never NULL; the caller destroys
/// the cache.
TL_API TlCache *tlCacheOpen(const char *directory,
                            const TlCacheOptions *options);

/// Closes a cache that nobody is using; NULL is allowed.
TL_API void tlCacheDestroy(TlCache *cache);

/// What was counted since the cache was opened:
/// {"stored", "made", "shared", "failed", "tiers": [{"name", "hits", "misses",
/// "inserted", "bytes_read", "bytes_written", "quarantined", "evicted",
/// "failures", "dropped"}]}.
TL_API char *tlCacheStats(TlCache *cache);

/// All entries of the directory, sorted by key: [{"key", "directory", "size",
/// "last_use", "created", "creator", "components": [{"name", "digest",
/// "value"}], "files": [{"name", "size", "digest"}], "metadata"}]. Times are
/// UTC as `2026-01-31T12:00:00Z`; "value" is there if it is short.
TL_API char *tlCacheList(TlCache *cache, char **error);

/// Calls `visit` with one entry after the other, sorted by key, each as in the
/// list, and keeps none; it ends early if that returns false. With `isBrief` of
/// each no more than {"key", "size", "last_use", "created", "files": [names],
/// "kernel", "kind", "tuning"}, without checking that the entry is sound.
typedef bool (*TlVisitEntry)(const char *json, void *data);
TL_API bool tlCacheForEach(TlCache *cache, bool isBrief, TlVisitEntry visit,
                           void *data, char **error);

/// What the directory holds: {"entries", "bytes", "oldest_use", "newest_use"},
/// with null for the last two of an empty one.
TL_API char *tlCacheTotals(TlCache *cache, char **error);

/// One entry, as in the list. `key` may be the beginning of one key alone.
TL_API char *tlCacheShow(TlCache *cache, const char *key, char **error);

/// In which components two keys differ: {"first", "second", "differences":
/// [{"name", "first", "second"}], "input": {"line", "first", "second"}}, with
/// null on the side that lacks one. "input" is the first line in which the
/// kernels differ that the entries were made of, or null. Without `other` the
/// entry with the fewest differences is taken.
TL_API char *tlCacheExplain(TlCache *cache, const char *key, const char *other,
                            char **error);

/// Checks every byte of every entry: {"checked", "problems": [text]}. Damaged
/// entries are set aside.
TL_API char *tlCacheVerify(TlCache *cache, char **error);

/// Removes entries that were not used for `maxAgeSeconds`, then the least
/// recently used until at most `maxBytes` are left. Either may be
/// `TL_CACHE_UNBOUNDED`. {"removed_entries", "removed_bytes",
/// "remaining_entries", "remaining_bytes"}.
TL_API char *tlCachePrune(TlCache *cache, uint64_t maxBytes,
                          uint64_t maxAgeSeconds, char **error);

/// Writes entries of the directory to the file at `path`, from which
/// `tlCacheImport` reads them, on any machine: {"entries", "bytes"}. `keys` are
/// beginnings of keys; with none all entries are written. The file appears when
/// it is complete.
TL_API char *tlCacheExport(TlCache *cache, const char *path,
                           const char *const *keys, size_t numKeys,
                           char **error);

/// Verifies the entries of such a file and stores those that the directory has
/// not, except for those that may not be used, as docs/security.md says:
/// {"imported", "present", "refused", "bytes"}. When it fails, the entries
/// before the one that the error tells of are stored.
TL_API char *tlCacheImport(TlCache *cache, const char *path, char **error);

/// Removes all entries, from memory and from the directory if there is one:
/// {"removed"}, which counts those of the directory.
TL_API char *tlCacheClear(TlCache *cache, char **error);

#ifdef __cplusplus
}
#endif

#endif // TL_C_CACHE_H
