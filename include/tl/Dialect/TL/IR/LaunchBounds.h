//===- LaunchBounds.h - What a kernel is compiled for -----------*- C++ -*-===//
#ifndef TL_DIALECT_TL_IR_LAUNCHBOUNDS_H
#define TL_DIALECT_TL_IR_LAUNCHBOUNDS_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tl {

/// On a `tl.kernel` and its function: so many blocks are to fit on a
/// multiprocessor. The assembler gives threads no more registers than that
/// leaves them (PTX ISA, ".minnctapersm").
inline constexpr llvm::StringLiteral kMinBlocksAttr = "tl.min_blocks";

/// On a `tl.kernel` and its function: the extents of the blocks that execute
/// it, if they are not as the program says. The function's known block size is
/// the program's until statements of threads are loops over them.
inline constexpr llvm::StringLiteral kLaunchedAttr = "tl.launched";

/// As many threads as the largest GPUs hold at once.
inline constexpr int64_t kThreadsOfGPU = int64_t(1) << 18;

} // namespace tl

#endif // TL_DIALECT_TL_IR_LAUNCHBOUNDS_H
