//===- SyncStep.h - Executing one op over a state ---------------*- C++ -*-===//
//
// What an op does to a state: its result as a number, its accesses, which are
// held against the records, and what it orders.
//
//===----------------------------------------------------------------------===//

#ifndef TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCSTEP_H
#define TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCSTEP_H

#include "SyncProof.h"

namespace tl::sync {

class SyncStep {
public:
  /// `op`, executed as `role`.
  SyncStep(SyncProof &proof, mlir::Operation *op, int role, State &state)
      : proof(proof), facts(proof.facts), op(op), role(role), state(state) {}

  /// False if no thread gets past the op in this state.
  bool execute();

private:
  void evaluate();
  void addRecord(const Access &access);
  std::optional<int64_t> getSlotNumber(mlir::Value view) const;
  Phase &getPhase(mlir::Value barrier, int64_t index);
  bool isOwn(const Record &record) const;
  unsigned getOwn() const { return facts.getBits(role); }
  /// The role that executes the op, in all other blocks of the cluster.
  unsigned getOthers() const { return facts.getOtherBits(role); }

  bool apply(const Sync &sync);
  bool isWaitedFor(const Record &record, const Sync &sync) const;
  void arrive(const Sync &sync, int64_t index);
  void tell(const Sync &sync, int64_t index);
  void checkArrival(const Sync &sync, int64_t index);
  bool waitPhase(const Sync &sync);
  bool waitTurn(const Sync &sync);
  void learn(const PhaseName &phase);
  void addWait(const Sync &sync, int64_t index);
  bool isHarmless(const Record &record) const;

  void check(const Record &earlier, const Access &access);
  bool mayMeet(const Record &earlier, const Access &access) const;
  void checkHandedToOthers(const Record &record);
  bool isOneThread(const Record &earlier, const Access &access) const;

  SyncProof &proof;
  SyncFacts &facts;
  mlir::Operation *op;
  int role;
  State &state;
};

} // namespace tl::sync

#endif // TL_LIB_DIALECT_TL_TRANSFORMS_SYNC_SYNCSTEP_H
