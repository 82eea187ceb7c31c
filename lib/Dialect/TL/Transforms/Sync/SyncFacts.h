//===- SyncFacts.h - What executions of a kernel have in common -*- C++ -*-===//
//
// What `tl-verify-sync` finds out about a kernel before it executes it: events,
// roles, and the values that states may know as numbers, in the parts that have
// to do with themselves only.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCFACTS_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCFACTS_H

#include "tl/Dialect/TL/Analysis/KernelEvents.h"
#include "tl/Dialect/TL/Analysis/RoleTwins.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"

namespace tl::sync {

/// The role of what all threads of a block execute.
inline constexpr int kBlock = -1;

class SyncFacts {
public:
  explicit SyncFacts(mlir::gpu::GPUFuncOp kernel);

  /// The values that may be known as numbers, with the rings and mbarriers that
  /// they are for, in sets that have nothing to do with each other.
  llvm::SmallVector<llvm::DenseSet<mlir::Value>> getParts() const;

  /// True if `buffer`, a ring or mbarriers, is in one of the parts. Others are
  /// chosen by constants only.
  bool isInPart(mlir::Value buffer) const {
    return connected.contains(buffer.getAsOpaquePointer());
  }

  /// True if `value` may be known as a number.
  bool isNumber(mlir::Value value) const { return numbers.contains(value); }

  /// The bits of those who execute as `role`: of one role, or of all.
  unsigned getBits(int role) const {
    return role == kBlock ? everyone : 1u << role;
  }

  /// The bits of the same roles of all other blocks of the cluster.
  unsigned getOtherBits(int role) const {
    return getBits(role) << roleThreads.size();
  }

  /// Everybody who may come into conflict with an access of `buffer`: with
  /// those that other blocks touch too, the roles of these.
  unsigned getWitnesses(mlir::Value buffer) const;

  /// True if nothing in the kernel writes what `buffer` holds.
  bool isOnlyRead(mlir::Value buffer) const;

  /// That `op` has waited at mbarriers of `barrier`, as an access of them.
  const Access *getWait(mlir::Operation *op, mlir::Value barrier);

  mlir::gpu::GPUFuncOp kernel;
  KernelEvents events;
  RoleTwins twins;
  llvm::SmallVector<int64_t> roleThreads; ///< of each role
  unsigned everyone = 1;                  ///< a bit for each role
  /// Loops and branches of roles with phases inside.
  llvm::DenseSet<mlir::Operation *> joint;
  llvm::SmallVector<std::pair<mlir::Operation *, const Access *>>
      asynchronousOps;
  /// Accesses through the async proxy.
  llvm::SmallVector<const Access *> asyncAccesses;
  /// Buffers that all blocks of a cluster write, and mbarriers that all of them
  /// arrive at.
  llvm::SetVector<mlir::Value> inCluster;
  int64_t maxSlots = 1;   ///< of any ring
  int64_t maxPending = 0; ///< groups that a wait leaves under way

private:
  void findRoles();
  void findSlots(SlotOp slot);
  void findEvents(mlir::Operation *op);
  void connectSources();
  void connect(mlir::Value a, mlir::Value b);
  bool canBeKnown(mlir::Value value) const;

  llvm::SetVector<mlir::Value> numbers;
  llvm::SetVector<mlir::Value> written; ///< buffers
  llvm::EquivalenceClasses<const void *> connected;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Access>> waits;
};

} // namespace tl::sync

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCFACTS_H
