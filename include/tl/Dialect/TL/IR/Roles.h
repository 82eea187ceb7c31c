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
#include <array>
#include <optional>

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Roles.h.inc"

namespace tl {

/// On a kernel: one thread is to start the bulk copies of its pipelined loops,
/// while the threads of the program do all the rest. `tl-specialize-warps`
/// makes it so. What it holds is an array of the registers of both, in this
/// order, or nothing.
inline constexpr llvm::StringLiteral kSpecializeAttr = "tl.specialize";

/// Barriers that the hardware has for a block.
inline constexpr int64_t kNumBarriers = 16;

/// Threads that execute `wgmma`, and change their number of registers,
/// together.
inline constexpr int64_t kWarpGroup = 128;

/// Registers that each thread of a block of so many has when it begins.
int64_t getFirstRegisters(int64_t threads);

/// Registers of each thread of a role that only starts copies, and of the role
/// beside it that does the rest.
struct RegisterBudget {
  int64_t producer, consumer;
};

/// What `threads` threads, whole warp groups, can have if one more warp group
/// is there for copies; none if it is no more than they begin with.
std::optional<RegisterBudget> getRegisterBudget(int64_t threads);

/// The blocks of a cluster along x, y and z: `tl.cluster` of a kernel function,
/// or ones. And how many these are.
std::array<int64_t, 3> getClusterExtents(mlir::gpu::GPUFuncOp kernel);
int64_t getClusterSize(mlir::gpu::GPUFuncOp kernel);

/// True for what arrives at the barrier of the cluster, or waits there.
bool arrivesAtCluster(mlir::Operation *op);
bool waitsForCluster(mlir::Operation *op);

/// True if `view` is a shared tile of another block of the cluster
/// (`tl.map_shared_rank`).
bool isMapped(mlir::Value view);

/// What `view` is in the block itself, if it is a tile of another one.
mlir::Value getUnmapped(mlir::Value view);

/// True if other blocks of the cluster touch parts of `buffer`, a `tl.alloc`.
bool isReachedByOthers(mlir::Value buffer);

/// True for a copy with `multicast`.
bool isMulticast(mlir::Operation *op);

/// True if `op` touches shared memory of all blocks of the cluster: a copy that
/// they do together, or an arrival in each of them.
bool reachesCluster(mlir::Operation *op);

} // namespace tl

#endif // TL_DIALECT_TL_IR_ROLES_H
