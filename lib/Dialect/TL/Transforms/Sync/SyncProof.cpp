//===- SyncProof.cpp - One execution of a kernel by tl-verify-sync --------===//

#include "SyncProof.h"
#include "SyncFlow.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tl;
using namespace tl::sync;

void SyncProof::run() {
  States states;
  states.add(State());
  SyncFlow(*this).execute(states);
  for (State &state : states.states)
    checkEnd(state);
  checkWaits();
}

std::optional<int64_t> SyncProof::getNumber(const State &state,
                                            Value value) const {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return value.getType().isInteger(1) ? constant.getZExtValue()
                                        : constant.getSExtValue();
  auto it = state.numbers.values.find(value.getAsOpaquePointer());
  return it == state.numbers.values.end() ? std::nullopt
                                          : std::optional(it->second);
}

void SyncProof::setNumber(State &state, Value value,
                          std::optional<int64_t> number) const {
  if (number && keeps(value))
    state.numbers.values[value.getAsOpaquePointer()] = *number;
  else
    state.numbers.values.erase(value.getAsOpaquePointer());
}

void SyncProof::report(const Record &earlier, Operation *op,
                       const Access &access, StringRef why) {
  if (part) {
    open.insert({{earlier.op, earlier.access}, {op, &access}});
    return;
  }
  InFlightDiagnostic diag = op->emitOpError(access.writes ? "writes" : "reads")
                            << " memory that `" << earlier.op->getName() << "` "
                            << (earlier.access->writes ? "writes" : "reads")
                            << ", and " << why
                            << "; this is a defect of the compiler";
  diag.attachNote(earlier.op->getLoc()) << "the earlier access is here";
  failed = true;
}

void SyncProof::reportHandover(const Record &earlier, Operation *op,
                               StringRef why) {
  if (part) {
    open.insert({{earlier.op, earlier.access}, {op, nullptr}});
    return;
  }
  if (failed)
    return;
  InFlightDiagnostic diag =
      op->emitOpError("lets other blocks of the cluster touch memory that `")
      << earlier.op->getName() << "` "
      << (earlier.access->writes ? "writes" : "reads") << ", and " << why
      << "; this is a defect of the compiler";
  diag.attachNote(earlier.op->getLoc()) << "the earlier access is here";
  failed = true;
}

/// Shared memory must be left alone when the block ends.
void SyncProof::checkEnd(const State &state) {
  for (const Record &record : state.records) {
    if (failed || record.isOver ||
        !isInSpace(record.access->buffer, Space::Shared))
      continue;
    if (part)
      open.insert({{record.op, record.access}, {nullptr, nullptr}});
    else
      fail(record.op, "may be under way in shared memory when the block ends");
  }
}

/// A wait that no state passes waits for ever.
void SyncProof::checkWaits() {
  for (auto [op, passes] : waits)
    if (!passes && !failed)
      fail(op, "waits for a phase that nothing completes");
}

void SyncProof::fail(Operation *op, StringRef what) {
  if (!part)
    op->emitOpError(what) << "; this is a defect of the compiler";
  failed = true;
}
