//===- tl-c/Support.h - What every C header needs ---------------*- C -*-===//
//
// Symbol visibility and the one function that frees what the C API returns.
//
//===----------------------------------------------------------------------===//

#ifndef TL_C_SUPPORT_H
#define TL_C_SUPPORT_H

#define TL_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/// Frees memory that a function of this API returned and asked to be freed
/// with `tlFree`; NULL is allowed.
TL_API void tlFree(void *pointer);

#ifdef __cplusplus
}
#endif

#endif // TL_C_SUPPORT_H
