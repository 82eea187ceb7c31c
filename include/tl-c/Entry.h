//===- tl-c/Entry.h - Keep artifacts in the cache ---------------*- C -*-===//
//
// Fetch an artifact from the cache, or make it once. This is how what is built
// above the compiler (a shared library of a backend, a tuning record) shares
// the keys, the verification, the single flight and the tiers of what the
// compiler itself keeps.
//
// The rules of tl-c/Cache.h hold: JSON and errors are freed with `tlFree`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_C_ENTRY_H
#define TL_C_ENTRY_H

#include "tl-c/Cache.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The cache that all compilations of this process use for a directory; for
/// memory alone if it is NULL or "". The handle is destroyed with
/// `tlCacheDestroy`, the cache lives on.
TL_API TlCache *tlCacheOfProcess(const char *directory);

/// One thing that an artifact depends on. Names are UTF-8 and unique in a key.
typedef struct TlKeyComponent {
  const char *name;
  const void *bytes;
  size_t size;
} TlKeyComponent;

/// An artifact: named files and a JSON object.
typedef struct TlEntry TlEntry;

/// Makes an artifact by adding to `entry`, which is empty. False if that is not
/// possible; the reason goes to `*error`, in memory of `malloc`.
typedef bool (*TlMakeEntry)(TlEntry *entry, void *data, char **error);

/// The artifact of the key that the components make: the stored one, else what
/// `make` makes, which is then stored. Of all threads and processes that ask at
/// once one makes it. Without `make` NULL means that there is none, unless
/// `*error` is set. The caller destroys the entry.
TL_API TlEntry *tlCacheFetch(TlCache *cache, const TlKeyComponent *components,
                             size_t componentCount, TlMakeEntry make,
                             void *data, char **error);

/// Why there is no artifact of the key that the components make, in words: in
/// what the nearest that the directory holds differs. Text, not JSON.
TL_API char *tlCacheExplainMiss(TlCache *cache,
                                const TlKeyComponent *components,
                                size_t componentCount);

/// The key of the components, in hexadecimal. Text, not JSON.
TL_API char *tlCacheKey(const TlKeyComponent *components,
                        size_t componentCount);

TL_API void tlEntryDestroy(TlEntry *entry);

/// Adds a file to an entry that is being made. False if the entry has one of
/// this name or cannot hold it: names are 1 to 128 of `A-Z a-z 0-9 . _ + -`,
/// without a dot in front.
TL_API bool tlEntryAddFile(TlEntry *entry, const char *name, const void *bytes,
                           size_t size);

/// Sets the JSON object of an entry that is being made. False if `json` is not
/// one. A `host_code` that is true says that the files hold machine code of the
/// host.
TL_API bool tlEntrySetMetadata(TlEntry *entry, const char *json);

/// The bytes of a file, which belong to the entry, or NULL.
TL_API const void *tlEntryFile(const TlEntry *entry, const char *name,
                               size_t *size);

/// {"key", "origin": "stored" | "made" | "shared" (by another thread or
/// process, while this one waited), "directory" or null, "files": [names],
/// "metadata"}.
TL_API char *tlEntryInfo(const TlEntry *entry);

/// Removes the entry of a key, given in full, from memory and from the
/// directory. That it is not there is no error.
TL_API bool tlCacheRemove(TlCache *cache, const char *key, char **error);

/// Drops what the caches of this process keep in memory; directories keep what
/// they have.
TL_API void tlCacheForgetAll(void);

#ifdef __cplusplus
}
#endif

#endif // TL_C_ENTRY_H
