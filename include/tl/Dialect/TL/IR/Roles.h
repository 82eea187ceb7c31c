//===- Roles.h - Parts of a block that go their own ways --------*- C++ -*-===//
//
// The ops of Roles.td, and the attribute by which `tl-assign-stages` records
// that the copies of a kernel's loops get a thread of their own.
//
//===----------------------------------------------------------------------===//

#ifndef TL_DIALECT_TL_IR_ROLES_H
#define TL_DIALECT_TL_IR_ROLES_H

#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Roles.h.inc"

namespace tl {

/// On a kernel: one thread is to start the bulk copies of its pipelined loops,
/// while the threads of the program do all the rest. `tl-specialize-warps`
/// makes it so.
inline constexpr llvm::StringLiteral kSpecializeAttr = "tl.specialize";

/// Barriers that the hardware has for a block.
inline constexpr int64_t kNumBarriers = 16;

} // namespace tl

#endif // TL_DIALECT_TL_IR_ROLES_H
