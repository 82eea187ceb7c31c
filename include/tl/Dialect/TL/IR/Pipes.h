//===- Pipes.h - Slots between copies and their users -----------*- C++ -*-===//
//
// The ops of Pipes.td, and the attributes by which `tl-assign-stages` records
// which copies of a loop run ahead, from which pipes are made.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_PIPES_H
#define TL_DIALECT_TL_IR_PIPES_H

#include "tl/Dialect/TL/IR/TL.h"

#include "tl/Dialect/TL/IR/PipeEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tl/Dialect/TL/IR/PipeTypes.h.inc"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Pipes.h.inc"

namespace tl {

/// On a `tl.pipelined`: what carries out its copies that run ahead, "bulk" or
/// "groups". There are two stages or more, and one such copy at least.
inline constexpr llvm::StringLiteral kEngineAttr = "tl.engine";
/// On a `tl.copy` directly in such a loop, from device memory to the whole of a
/// `tl.alloc` in workgroup memory: it may be started in an earlier iteration.
inline constexpr llvm::StringLiteral kAheadAttr = "tl.ahead";

/// On a `tl.pipelined` of one iteration: a guard in a loop that was pipelined
/// stands around it, and it is to run ahead through that loop.
inline constexpr llvm::StringLiteral kGuardedAttr = "tl.guarded";

/// The engine of a loop, or none.
std::optional<CopyEngine> getEngine(PipelinedOp loop);

/// True if the copy is marked to run ahead.
bool runsAhead(CopyOp copy);

/// True if the copy gives every element of its target a new value.
bool fillsTarget(CopyOp copy);

} // namespace tl

#endif // TL_DIALECT_TL_IR_PIPES_H
