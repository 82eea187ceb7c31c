//===- tl-c/Support.h - What every C header needs ---------------*- C -*-===//
//
// Symbol visibility and the one function that frees what the C API returns.
//
//===----------------------------------------------------------------------===//

#ifndef TL_C_SUPPORT_H
#define TL_C_SUPPORT_H

#define TL_API __attribute__((visibility("default")))

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Frees memory that a function of this API returned and asked to be freed
/// with `tlFree`; NULL is allowed.
TL_API void tlFree(void *pointer);

/// `text` as it may be shown on a terminal, whoever wrote it: control
/// characters and marks of direction are `?`. With `keepLines` lines after the
/// first are indented, else line breaks are `?` too.
TL_API char *tlShowText(const char *text, size_t size, bool keepLines);

/// Why `text` is longer than `maxBytes`, nested too deeply or of too many
/// values to be parsed as JSON; NULL if it is not.
TL_API char *tlCheckJSON(const char *text, size_t size, uint64_t maxBytes);

/// Reads a number of bytes as people write it, `100K` or `1.5GiB`, with units
/// that are powers of 1024. False if the text is something else.
TL_API bool tlParseByteCount(const char *text, uint64_t *bytes);

/// Calls `visit` with each file of a ZIP archive that is not compressed, which
/// anyone may have made. False, with the reason, if it is not one.
typedef void (*TlVisitFile)(const char *name, size_t nameSize,
                            const void *bytes, size_t size, void *data);
TL_API bool tlReadStoredArchive(const void *bytes, size_t size,
                                TlVisitFile visit, void *data, char **error);

#ifdef __cplusplus
}
#endif

#endif // TL_C_SUPPORT_H
