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

/// Reads an artifact that was found, all that will be used of it; anyone may
/// have made it. False if it is not what was stored under the key; the reason
/// goes to
/// `*error`, in memory of `malloc`.
typedef bool (*TlReadEntry)(const TlEntry *entry, void *data, char **error);

/// The artifact of the key that the components make: the stored one, else what
/// `make` makes, which is then stored. Of all threads and processes that ask at
/// once one makes it. Without `make` NULL means that there is none, unless
/// `*error` is set. What `read` refuses is a miss and is kept nowhere; it may
/// be NULL. The caller destroys the entry.
///
/// A component `use` says what is done with the files, and so who may have made
/// them: `device` (a GPU executes them), `ir` and `compile` (a compiler reads
/// them); a component `host_code` that the host executes them. Without these
/// they are read as data and no more. docs/security.md has the rule.
TL_API TlEntry *tlCacheFetch(TlCache *cache, const TlKeyComponent *components,
                             size_t componentCount, TlMakeEntry make,
                             TlReadEntry read, void *data, char **error);

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
/// one.
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

/// Removes entries from the directory: those of one `kind`, as their metadata
/// say, or with `isKind` false all others; `createdBefore` (UTC as in a list)
/// leaves younger ones. Both texts may be NULL. Returns false on an error.
TL_API bool tlCacheRemoveWhere(TlCache *cache, const char *kind, bool isKind,
                               const char *createdBefore, char **error);

/// Until it is ended, by the same thread, all lookups of this thread together
/// may take of servers what one alone may.
typedef struct TlCacheLookups TlCacheLookups;
TL_API TlCacheLookups *tlCacheBeginLookups(void);
TL_API void tlCacheEndLookups(TlCacheLookups *lookups);

/// A right that one process of the machine has at a time.
typedef struct TlCacheLock TlCacheLock;

/// Waits, at most so many milliseconds, for the right to hold the tuner's race
/// of this name. NULL if somebody else had it all the time, or on an error.
TL_API TlCacheLock *tlCacheLockRace(TlCache *cache, const char *name,
                                    uint64_t atMost, char **error);
TL_API void tlCacheUnlock(TlCacheLock *lock);

/// The lines of a race's journal, as text that the caller frees; NULL on an
/// error.
TL_API char *tlCacheReadJournal(TlCache *cache, const char *name, char **error);
TL_API bool tlCacheAppendJournal(TlCache *cache, const char *name,
                                 const char *line, char **error);
TL_API void tlCacheRemoveJournal(TlCache *cache, const char *name);
TL_API void tlCacheClearRaces(TlCache *cache);

/// Drops what the caches of this process keep in memory; directories keep what
/// they have.
TL_API void tlCacheForgetAll(void);

#ifdef __cplusplus
}
#endif

#endif // TL_C_ENTRY_H
