//===- Roles.cpp - Parts of a block that go their own ways ----------------===//
//
// Verifiers and interfaces of the ops of Roles.td, whose constraints the labels
// (C1) … name.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/IR/OpImplementation.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tl;

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Roles.cpp.inc"

static constexpr int64_t kWarp = 32;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// PTX ISA, "setmaxnreg": multiples of 8. Of a multiprocessor, and of a thread.
static constexpr int64_t kRegisterStep = 8, kRegisters = 65536,
                         kFewestRegisters = 24, kMostRegisters = 240;

int64_t tl::getFirstRegisters(int64_t threads) {
  return std::min<int64_t>(kRegisters / threads, 255) / kRegisterStep *
         kRegisterStep;
}

std::optional<RegisterBudget> tl::getRegisterBudget(int64_t threads) {
  assert(threads > 0 && threads % kWarpGroup == 0 && "of whole warp groups");
  int64_t groups = threads / kWarpGroup;
  int64_t first = getFirstRegisters(threads + kWarpGroup);
  int64_t all = first * (groups + 1);
  int64_t consumer = std::min((all - kFewestRegisters) / groups /
                                  kRegisterStep * kRegisterStep,
                              kMostRegisters);
  if (consumer <= first)
    return std::nullopt;
  return RegisterBudget{all - groups * consumer, consumer};
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// The first warp group of `role`, and the one behind its last one.
static std::pair<int64_t, int64_t> getWarpGroups(RoleOp role) {
  int64_t first = role.getFirst(), count = role.getCount();
  return {first / kWarpGroup, llvm::divideCeil(first + count, kWarpGroup)};
}

static LogicalResult verifyRegisters(RoleOp role, gpu::GPUFuncOp kernel) {
  int64_t registers = *role.getRegisters(), threads = getNumThreads(kernel);
  if (registers % kRegisterStep != 0 || registers < kFewestRegisters ||
      registers > kMostRegisters) // C6
    return role.emitOpError("expects a multiple of ")
           << kRegisterStep << " registers from " << kFewestRegisters << " to "
           << kMostRegisters << ", got " << registers;
  if (role.getFirst() % kWarpGroup != 0 || threads % kWarpGroup != 0) // C7
    return role.emitOpError("with registers expects to begin with a warp "
                            "group, in a block of whole ones");
  auto [begin, end] = getWarpGroups(role);
  int64_t all = 0, first = getFirstRegisters(threads),
          left = threads / kWarpGroup;
  for (auto other : kernel.getOps<RoleOp>()) {
    auto [otherBegin, otherEnd] = getWarpGroups(other);
    if (other != role && begin < otherEnd && otherBegin < end) // C7
      return role.emitOpError("with registers has a warp group in common with "
                              "another role");
    if (other.getRegisters()) {
      all +=
          (otherEnd - otherBegin) * static_cast<int64_t>(*other.getRegisters());
      left -= otherEnd - otherBegin;
    }
  }
  if (all + left * first > threads / kWarpGroup * first) // C8
    return role.emitOpError("expects roles to have no more registers than the "
                            "block begins with, ")
           << first << " for each thread";
  return success();
}

LogicalResult RoleOp::verify() {
  int64_t first = getFirst(), count = getCount(), barrier = getBarrier();
  if (first % kWarp != 0) // C1
    return emitOpError("expects to begin with a warp, got thread ") << first;
  if (count != 1 && (count < 1 || count % kWarp != 0)) // C2
    return emitOpError("expects one thread or whole warps, got ")
           << count << " threads";
  auto kernel = cast<gpu::GPUFuncOp>((*this)->getParentOp());
  if (!kernel.getKnownBlockSize())
    return emitOpError("expects a kernel with `known_block_size`");
  int64_t threads = getNumThreads(kernel);
  if (first < 0 || first + count > threads) // C3
    return emitOpError("expects threads of the block, which has ")
           << threads << ", got " << first << " to " << first + count;
  if (barrier < 1 || barrier >= kNumBarriers) // C4
    return emitOpError("expects a barrier from 1 to ")
           << kNumBarriers - 1 << ", got " << barrier;
  for (auto other : kernel.getOps<RoleOp>()) { // C5
    if (other == *this)
      break;
    int64_t begin = other.getFirst(), end = begin + other.getCount();
    if (first < end && begin < first + count)
      return emitOpError("has threads in common with another role");
    if (static_cast<int64_t>(other.getBarrier()) == barrier)
      return emitOpError("has barrier ")
             << barrier << " in common with another role";
  }
  return getRegisters() ? verifyRegisters(*this, kernel) : success();
}

static bool isTurn(Operation *op) {
  return isa<OpenTurnsOp, TakeTurnOp, PassTurnOp, CloseTurnsOp>(op);
}

/// Turns are opened once before all, and closed once behind all, each way.
LogicalResult RoleOp::verifyRegions() { // C9
  SmallVector<Operation *> turns;
  walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isTurn(op))
      turns.push_back(op);
  });
  for (Operation *op : turns) {
    bool isOpening = isa<OpenTurnsOp>(op), isClosing = isa<CloseTurnsOp>(op);
    if (isOpening != (op == turns.front()) ||
        isClosing != (op == turns.back()) ||
        ((isOpening || isClosing) && op->getParentOp() != *this) ||
        op->getAttr("barrier") != turns.front()->getAttr("barrier"))
      return op->emitOpError("does not stand between one opening and one "
                             "closing of the role's turns, of one barrier");
  }
  return success();
}

/// Seen from the block, the region is executed once: by threads that are known.
void RoleOp::getSuccessorRegions(RegionBranchPoint point,
                                 SmallVectorImpl<RegionSuccessor> &regions) {
  if (point.isParent())
    regions.push_back(RegionSuccessor(&getBody()));
  else
    regions.push_back(
        RegionSuccessor(getOperation(), getOperation()->getResults()));
}

//===----------------------------------------------------------------------===//
// Arrivals
//===----------------------------------------------------------------------===//

LogicalResult ArriveBarrierOp::verify() {
  auto type = cast<MemRefType>(getBarriers().getType());
  if (type.getRank() != 1 || !isa<MBarrierType>(type.getElementType()))
    return emitOpError("expects an array of mbarriers, got `") << type << "`";
  return success();
}

void ArriveBarrierOp::getEvents(SmallVectorImpl<Event> &events) {
  int64_t warps = (getThreads(*this).count + kWarp - 1) / kWarp;
  for (int64_t warp = 0; warp < warps; ++warp)
    events.push_back(Sync{.kind = Sync::Kind::Arrive,
                          .barrier = getBarriers(),
                          .index = getIndex()});
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

std::array<int64_t, 3> tl::getClusterExtents(gpu::GPUFuncOp kernel) {
  std::array<int64_t, 3> extents = {1, 1, 1};
  if (auto cluster = kernel->getAttrOfType<DenseI64ArrayAttr>(kClusterAttr))
    llvm::copy(cluster.asArrayRef(), extents.begin());
  return extents;
}

int64_t tl::getClusterSize(gpu::GPUFuncOp kernel) {
  return llvm::product_of(getClusterExtents(kernel));
}

bool tl::isMulticast(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  return copy && copy.getMulticast();
}

bool tl::reachesCluster(Operation *op) {
  auto arrive = dyn_cast<ArriveBarrierOp>(op);
  return isMulticast(op) || (arrive && arrive.getCluster());
}

void ClusterBarrierOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(Sync{.kind = Sync::Kind::Barrier});
}

/// What these order among the threads of the block is not relied on.
void ClusterArriveOp::getEvents(SmallVectorImpl<Event> &) {}
void ClusterWaitOp::getEvents(SmallVectorImpl<Event> &) {}

bool tl::arrivesAtCluster(Operation *op) {
  return isa<ClusterArriveOp, ClusterBarrierOp>(op);
}

bool tl::waitsForCluster(Operation *op) {
  return isa<ClusterWaitOp, ClusterBarrierOp>(op);
}

bool tl::isMapped(Value view) {
  return view.getDefiningOp<MapSharedRankOp>() != nullptr;
}

Value tl::getUnmapped(Value view) {
  auto mapped = view.getDefiningOp<MapSharedRankOp>();
  return mapped ? mapped.getSource() : view;
}

bool tl::isReachedByOthers(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    auto slot = dyn_cast<SlotOp>(user);
    return isa<MapSharedRankOp>(user) ||
           (slot && isReachedByOthers(slot.getView()));
  });
}

/// True for what may be done to memory of another block.
static bool canReach(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  return isa<LoadOp, StoreOp>(op) ||
         (copy && !copy.getAsync() && !copy.getBulk());
}

LogicalResult MapSharedRankOp::verify() {
  if (!isInSpace(getSource(), Space::Shared) || isMapped(getSource())) // C1
    return emitOpError("expects a buffer in workgroup memory of the block "
                       "itself, got `")
           << getSource().getType() << "`";
  for (Operation *user : getView().getUsers())
    if (!canReach(user)) { // C2
      InFlightDiagnostic diag = emitOpError(
          "expects to be used by `tl.load`, `tl.store` and copies that the "
          "threads carry out");
      diag.attachNote(user->getLoc()) << "used here";
      return diag;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

static LogicalResult verifyTurn(Operation *op, int64_t barrier) {
  auto role = op->getParentOfType<RoleOp>();
  int64_t count = role ? static_cast<int64_t>(role.getCount()) : 0;
  if (count < 2 * kWarpGroup || count % kWarpGroup != 0 ||
      role.getFirst() % kWarpGroup != 0) // C1
    return op->emitOpError("expects a role of two whole warp groups or more");
  int64_t last = barrier + count / kWarpGroup - 1;
  if (barrier < 1 || last >= kNumBarriers) // C2
    return op->emitOpError("expects barriers from 1 to ")
           << kNumBarriers - 1 << ", got " << barrier << " to " << last;
  for (auto other : role->getParentOfType<gpu::GPUFuncOp>().getOps<RoleOp>()) {
    int64_t taken = other.getBarrier();
    if (barrier <= taken && taken <= last) // C2
      return op->emitOpError("takes barrier ") << taken << ", which a role has";
  }
  return success();
}

/// True if others of the role wait for what `op` does itself: for its threads
/// to meet, for an arrival at an mbarrier, or for a turn.
static bool isWaitedForByOthers(Operation *op) {
  return isTurn(op) || llvm::any_of(getEvents(op), [](const Event &event) {
           auto *sync = std::get_if<Sync>(&event);
           return sync && (sync->kind == Sync::Kind::Barrier ||
                           sync->kind == Sync::Kind::Arrive);
         });
}

LogicalResult OpenTurnsOp::verify() { return verifyTurn(*this, getBarrier()); }

LogicalResult TakeTurnOp::verify() {
  if (failed(verifyTurn(*this, getBarrier())))
    return failure();
  for (Operation *op = (*this)->getNextNode(); op; op = op->getNextNode()) {
    if (isa<PassTurnOp>(op))
      return success();
    WalkResult result = op->walk([&](Operation *inner) -> WalkResult { // C4
      if (!isWaitedForByOthers(inner))
        return WalkResult::advance();
      InFlightDiagnostic diag =
          emitOpError("begins a turn in which others may be waiting");
      diag.attachNote(inner->getLoc()) << "they wait for this";
      return diag;
    });
    if (result.wasInterrupted())
      return failure();
  }
  return emitOpError("begins a turn that does not end in its block"); // C3
}

LogicalResult PassTurnOp::verify() {
  if (failed(verifyTurn(*this, getBarrier())))
    return failure();
  for (Operation *op = (*this)->getPrevNode(); op && !isa<PassTurnOp>(op);
       op = op->getPrevNode())
    if (isa<TakeTurnOp>(op))
      return success();
  return emitOpError("ends a turn that has not begun"); // C3
}

LogicalResult CloseTurnsOp::verify() { return verifyTurn(*this, getBarrier()); }

/// Turns order no accesses.
void OpenTurnsOp::getEvents(SmallVectorImpl<Event> &) {}
void TakeTurnOp::getEvents(SmallVectorImpl<Event> &) {}
void PassTurnOp::getEvents(SmallVectorImpl<Event> &) {}
void CloseTurnsOp::getEvents(SmallVectorImpl<Event> &) {}
