//===- SyncProof.h - One execution of a kernel by tl-verify-sync *- C++ -*-===//
//
// What an execution may know, what it has seen, and whether that is a proof.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCPROOF_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCPROOF_H

#include "SyncFacts.h"
#include "SyncStates.h"

#include "llvm/ADT/MapVector.h"

namespace tl::sync {

class SyncProof {
public:
  /// Two accesses of which the second one comes later, null for the kernel's
  /// end.
  using Pair = std::pair<std::pair<mlir::Operation *, const Access *>,
                         std::pair<mlir::Operation *, const Access *>>;

  /// A proof that knows all numbers, and says at the ops what is wrong.
  explicit SyncProof(SyncFacts &facts) : facts(facts) {}

  /// A trial that knows the numbers of `part` only, and says nothing.
  SyncProof(SyncFacts &facts, const llvm::DenseSet<mlir::Value> &part)
      : facts(facts), part(&part) {}

  /// Executes the kernel.
  void run();

  /// True if something is wrong, whatever else were known.
  bool hasFailed() const { return failed; }

  /// What a trial has not seen in order.
  const llvm::DenseSet<Pair> &getOpen() const { return open; }

  //===--------------------------------------------------------------------===//
  // What it knows
  //===--------------------------------------------------------------------===//

  /// True if the slots of a ring, or the phases of mbarriers, are known. Of
  /// those that only constants choose they always are.
  bool isTold(mlir::Value buffer) const {
    return !part || part->contains(buffer) || !facts.isInPart(buffer);
  }

  std::optional<int64_t> getNumber(const State &state, mlir::Value value) const;
  void setNumber(State &state, mlir::Value value,
                 std::optional<int64_t> number) const;

  /// True if this execution keeps `value` as a number.
  bool keeps(mlir::Value value) const {
    return part ? part->contains(value) : facts.isNumber(value);
  }

  //===--------------------------------------------------------------------===//
  // What it has seen
  //===--------------------------------------------------------------------===//

  /// `access` of `op` comes later than `earlier`, and is not known to do so.
  void report(const Record &earlier, mlir::Operation *op, const Access &access,
              llvm::StringRef why);

  /// Behind `op` other blocks of the cluster touch what `earlier` does, which
  /// is not known to be ready for them.
  void reportHandover(const Record &earlier, mlir::Operation *op,
                      llvm::StringRef why);

  void fail(mlir::Operation *op, llvm::StringRef what);

  SyncFacts &facts;
  /// Waits for phases, and whether any state gets past them.
  llvm::MapVector<mlir::Operation *, bool> waits;
  /// The role that waits at mbarriers.
  llvm::DenseMap<mlir::Value, int> waiters;

private:
  void checkEnd(const State &state);
  void checkWaits();

  const llvm::DenseSet<mlir::Value> *part = nullptr;
  llvm::DenseSet<Pair> open;
  bool failed = false;
};

} // namespace tl::sync

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCPROOF_H
