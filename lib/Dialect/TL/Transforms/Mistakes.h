//===- Mistakes.h - Programs that cannot be what was meant ------*- C++ -*-===//
//
// Warnings about programs that have a meaning, but hardly the intended one.
// Each ends in its name in brackets, by which users silence it
// (docs/language/warnings.md).
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_MISTAKES_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_MISTAKES_H

#include <cstdint>

namespace mlir {
class Region;
} // namespace mlir

namespace tl {

/// Warns of on-chip memory that is read before anything is written to it.
void warnOfUnwritten(mlir::Region &kernel);

/// Warns of stores by which iterations or threads write one element.
void warnOfRaces(mlir::Region &kernel);

/// Warns if no tile op of a kernel has work for all `numThreads` threads.
void warnOfIdleThreads(mlir::Region &kernel, int64_t numThreads);

} // namespace tl

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_MISTAKES_H
