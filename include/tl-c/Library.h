//===- tl-c/Library.h - Libraries of compiled kernels -----------*- C -*-===//
//
// Turns a compiled function into C++, and that into a shared library that needs
// neither this library nor Python (docs/AOT.md).
//
// Functions take one function of a module that was compiled for `count` chips:
// one, or several GPUs, among which calls of the library choose. They return
// NULL or false on error, with the reason in `*error`, which is freed with
// `tlFree`.
//
//===----------------------------------------------------------------------===//

#ifndef TL_C_LIBRARY_H
#define TL_C_LIBRARY_H

#include "tl-c/Compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How libraries are built.
typedef struct TlBuildOptions {
  const char *compiler; ///< null or "": `$CXX`, `c++`, `g++` or `clang++`
  const char *keepDir;  ///< null or "", or where what the compiler reads stays
} TlBuildOptions;

/// The host side as C++: the text of `host_kernel.cpp`; free it with `tlFree`.
TL_API char *tlHostSource(const TlCompiled *const *compiled, size_t count,
                          const char *function, char **error);

/// Writes `host_kernel.cpp`, the headers that it includes, and the kernels'
/// code to `directory`, which is created.
TL_API bool tlHostSourcesExport(const TlCompiled *const *compiled, size_t count,
                                const char *function, const char *directory,
                                char **error);

/// Builds the shared library. Returns its bytes, `*size` many, to be freed with
/// `tlFree`. `*warning` is set if what was written for the compiler cannot be
/// removed; free it.
TL_API char *tlLibraryBuild(const TlCompiled *const *compiled, size_t count,
                            const char *function, const TlBuildOptions *options,
                            size_t *size, char **warning, char **error);

/// Builds the shared library and installs it in `directory`, with its header
/// and a package for CMake.
TL_API bool tlLibraryExport(const TlCompiled *const *compiled, size_t count,
                            const char *function, const char *directory,
                            const TlBuildOptions *options, char **warning,
                            char **error);

#ifdef __cplusplus
}
#endif

#endif // TL_C_LIBRARY_H
