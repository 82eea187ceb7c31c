//===- LaunchBounds.h - What a kernel is compiled for -----------*- C++ -*-===//
#ifndef TL_DIALECT_TL_IR_LAUNCHBOUNDS_H
#define TL_DIALECT_TL_IR_LAUNCHBOUNDS_H

#include "llvm/ADT/StringRef.h"

namespace tl {

/// On a `tl.kernel` and its function: so many blocks are to fit on a
/// multiprocessor. The assembler gives threads no more registers than that
/// leaves them (PTX ISA, ".minnctapersm").
inline constexpr llvm::StringLiteral kMinBlocksAttr = "tl.min_blocks";

} // namespace tl

#endif // TL_DIALECT_TL_IR_LAUNCHBOUNDS_H
