//===- SyncFlow.h - Executing control flow over states ----------*- C++ -*-===//
//
// Takes states through a kernel: loops until states repeat, both branches of
// what is not known, and roles in turns.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCFLOW_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCFLOW_H

#include "SyncConditions.h"
#include "SyncProof.h"

#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tl::sync {

class SyncFlow {
public:
  explicit SyncFlow(SyncProof &proof);

  /// Executes the kernel from `states` on.
  void execute(States &states) {
    execute(proof.facts.kernel.getBody().front(), kBlock, states);
  }

private:
  /// An op, or one of each role that are executed together, which are twins.
  using Ops = llvm::ArrayRef<mlir::Operation *>;

  bool isTold(const Access *access) const;

  void execute(mlir::Block &block, int role, States &states);
  void executeOp(mlir::Operation *op, int role, States &states);
  void executeRoles(RoleOp first, States &states);
  void executeTogether(llvm::ArrayRef<mlir::Block *> blocks, States &states);
  void executeFlow(Ops ops, int role, States &states);
  void executeRegions(Ops ops, unsigned number, int role, States &states);

  States executeFor(Ops ops, int role, States &starts);
  std::optional<Interval> countIterations(Ops ops, const State &start) const;
  Interval limit(Interval left) const;
  void leave(Ops loops, State &state) const;
  void goOn(Ops loops, State &state) const;
  States executeIf(Ops ops, int role, States &starts);
  States executeOther(Ops ops, int role, States &starts);

  void pass(State &state, mlir::ValueRange values, mlir::ValueRange arguments,
            mlir::Region *left) const;

  llvm::ArrayRef<mlir::Operation *> findUsers(mlir::Value value);
  bool isDead(mlir::Operation *op, bool inside, const void *pointer);
  void dropDead(mlir::Operation *op, States &states);

  /// What came of a loop.
  struct Execution {
    States starts, after;
  };

  SyncProof &proof;
  /// What loops were executed from: each iteration of a loop around them begins
  /// with the same few states, so that loops in each other would take time to
  /// the power of their number. To execute one again from the same states says
  /// nothing new: what is found on the way depends on these alone, and is only
  /// added to.
  llvm::DenseMap<mlir::Operation *, std::vector<Execution>> executed;
  /// What is around asynchronous ops: how often that is executed matters.
  llvm::DenseSet<mlir::Operation *> asynchronous;
  Leaders leaders;
  /// Of values: the ops that have to do with them.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> users;
};

} // namespace tl::sync

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCFLOW_H
