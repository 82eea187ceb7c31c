//===- SyncFacts.cpp - What executions of a kernel have in common ---------===//

#include "SyncFacts.h"

#include "tl/Dialect/TL/Analysis/RegionFlow.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace tl;
using namespace tl::sync;

SyncFacts::SyncFacts(gpu::GPUFuncOp kernel) : kernel(kernel), twins(kernel) {
  findRoles();
  kernel.walk([&](Operation *op) {
    if (auto slot = dyn_cast<SlotOp>(op))
      findSlots(slot);
    if (isStep(op))
      findEvents(op);
  });
  connectSources();
}

static bool isOfPhase(const Event &event) {
  auto *sync = std::get_if<Sync>(&event);
  return sync && (sync->kind == Sync::Kind::Arrive ||
                  sync->kind == Sync::Kind::WaitPhase);
}

void SyncFacts::findRoles() {
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    roleThreads.push_back(role.getCount());
    role.walk([&](Operation *op) {
      if (!isStep(op) || llvm::none_of(events.of(op), isOfPhase))
        return;
      for (Operation *parent = op->getParentOp(); parent != role;
           parent = parent->getParentOp())
        joint.insert(parent);
    });
  }
  everyone = (1u << std::max<size_t>(1, roleThreads.size())) - 1;
}

void SyncFacts::findSlots(SlotOp slot) {
  auto ring = cast<MemRefType>(slot.getSource().getType());
  maxSlots = std::max(maxSlots, ring.getDimSize(0));
  connect(getBuffer(slot.getSource()), slot.getIndex());
}

void SyncFacts::findEvents(Operation *op) {
  for (const Event &event : events.of(op)) {
    if (auto *access = std::get_if<Access>(&event)) {
      if (isMulticast(op) && access->writes)
        inCluster.insert(getBuffer(access->buffer));
      if (access->writes)
        written.insert(getBuffer(access->buffer));
      if (access->proxy == Proxy::Async)
        asyncAccesses.push_back(access);
      if (access->completion != Completion::AtOp)
        asynchronousOps.push_back({op, access});
      if (!access->barrierIndex)
        continue;
      connect(access->barrier, access->barrierIndex);
      if (getSlot(access->buffer))
        connect(access->barrier, getBuffer(access->buffer));
      continue;
    }
    const Sync &sync = std::get<Sync>(event);
    maxPending = std::max(maxPending, sync.pending);
    if (reachesCluster(op) && sync.kind == Sync::Kind::Arrive)
      inCluster.insert(sync.barrier);
    for (Value value : {sync.index, sync.parity})
      if (value)
        connect(sync.barrier, value);
  }
}

/// Adds what `value` is computed from, also by way of control flow.
static void addSources(Value value, SetVector<Value> &worklist) {
  Operation *op = value.getDefiningOp();
  if (op && op->getNumRegions() == 0) {
    worklist.insert(op->operand_begin(), op->operand_end());
    return;
  }
  Operation *parent =
      op ? op : cast<BlockArgument>(value).getOwner()->getParentOp();
  if (!isa<RegionBranchOpInterface>(parent))
    return;
  for (const FlowEdge &edge : getFlow(parent))
    for (auto [source, argument] : llvm::zip(edge.values, edge.arguments))
      if (argument == value)
        worklist.insert(source);
}

void SyncFacts::connectSources() {
  for (size_t i = 0; i < numbers.size(); ++i) {
    SetVector<Value> sources;
    addSources(numbers[i], sources);
    for (Value source : sources)
      connect(numbers[i], source);
  }
}

/// What is known of `b` tells something of `a`.
void SyncFacts::connect(Value a, Value b) {
  if (!canBeKnown(b))
    return;
  numbers.insert(b);
  connected.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
}

/// Constants are known anyway, and arguments and indices of loops never.
bool SyncFacts::canBeKnown(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return !matchPattern(value, m_Constant());
  Operation *parent = argument.getOwner()->getParentOp();
  auto loop = dyn_cast<scf::ForOp>(parent);
  return parent != kernel && !(loop && loop.getInductionVar() == value);
}

SmallVector<DenseSet<Value>> SyncFacts::getParts() const {
  SmallVector<DenseSet<Value>> parts;
  for (const auto *part : connected) {
    if (!part->isLeader())
      continue;
    parts.emplace_back();
    for (const void *member : connected.members(*part))
      parts.back().insert(Value::getFromOpaquePointer(member));
  }
  return parts;
}

unsigned SyncFacts::getWitnesses(Value buffer) const {
  bool isInCluster = llvm::any_of(
      inCluster, [&](Value other) { return shareBytes(buffer, other); });
  return isInCluster ? everyone | getOtherBits(kBlock) : everyone;
}

bool SyncFacts::isOnlyRead(Value buffer) const {
  return llvm::none_of(written,
                       [&](Value other) { return shareBytes(buffer, other); });
}

const Access *SyncFacts::getWait(Operation *op, Value barrier) {
  std::unique_ptr<Access> &wait = waits[op];
  if (!wait)
    wait = std::make_unique<Access>(Access{.buffer = barrier});
  return wait.get();
}
