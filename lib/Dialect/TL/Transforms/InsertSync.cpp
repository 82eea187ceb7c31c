//===- InsertSync.cpp - Order conflicting accesses of memory --------------===//
//
// A forward dataflow analysis over the events of ops (`Events.h`) and over
// structured control flow, to a fixed point. It keeps the accesses that a later
// one may conflict with, each with how far it is:
//
//   under way   an asynchronous access that nobody has waited for
//   complete    the threads that took part are done with it
//   known       a barrier has told all threads; what ordinary instructions
//               wrote may still owe a fence to the async proxy
//
// An op whose accesses conflict with one of them gets what is missing in front:
// a wait for its group, a fence, a block barrier. A fence that is owed across a
// barrier that stands already goes before that one.
//
// Two accesses conflict if one writes and they may touch the same bytes, but
// for atomic operations whose order nobody sees: of shared memory, of a tensor
// (tensors do not overlap, docs/language/ semantics.md, M5), or of a fragment
// that a gemm still writes. They do not if each element belongs to one thread
// in both, or if they are at different slots of a buffer. A slot is known as a
// value and a distance from it, which are translated where control passes from
// region to region.
//
// What a loop needs of copies before it, and of writes that owe a fence, it
// gets once, in front of it, if it does not write there again itself.
//
// Where a block ends, its copies are complete, also those that nobody reads.
// Before a block arrives at the barrier of its cluster, what it has done to
// memory that other blocks reach is complete, and fenced if the async proxy
// will touch it; the barrier itself stands where the program has it, and where
// blocks begin and end to reach each other.
//
// Accesses that complete with a phase of an mbarrier are ordered by the pass
// that made the barrier; nothing that is inserted here could wait for them.
//
// Sound if the events are true. What is relied on is not trusted: the next
// pass, `tl-verify-sync`, proves the order by other means.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Footprints.h"
#include "tl/Dialect/TL/Analysis/KernelEvents.h"
#include "tl/Dialect/TL/Analysis/RegionFlow.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tl {
#define GEN_PASS_DEF_INSERTSYNCPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

namespace {

/// A slot of a ring: `offset` places after `base`, or slot `offset` if `base`
/// is null.
struct SlotPosition {
  Value base;
  int64_t offset = 0;

  bool operator==(const SlotPosition &) const = default;
};

/// Expresses the slots of rings by few values.
class SlotNumbers {
public:
  explicit SlotNumbers(gpu::GPUFuncOp kernel) {
    kernel.walk([&](SlotOp slot) {
      SlotPosition position = get(slot.getIndex(), getRingSize(slot));
      if (position.base)
        ringSizes[position.base] = getRingSize(slot);
    });
  }

  static int64_t getRingSize(SlotOp slot) {
    return cast<MemRefType>(slot.getSource().getType()).getDimSize(0);
  }

  /// The slot of its buffer that `view` is, or is in; none if it is the whole
  /// buffer.
  std::optional<SlotPosition> of(Value view) {
    Value slot = getSlot(view);
    if (!slot)
      return std::nullopt;
    return get(slot, cast<MemRefType>(getBuffer(view).getType()).getDimSize(0));
  }

  /// What `position`, one of a ring of `size`, is called after control has
  /// passed over `edge` of `op`. None if that is not known.
  std::optional<SlotPosition> pass(SlotPosition position, int64_t size,
                                   const FlowEdge &edge) {
    for (auto [value, argument] : llvm::zip(edge.values, edge.arguments)) {
      if (!value.getType().isIndex())
        continue;
      SlotPosition from = get(value, size), to = get(argument, size);
      auto used = ringSizes.find(to.base);
      if (from.base != position.base || used == ringSizes.end() ||
          used->second != size)
        continue;
      return SlotPosition{
          to.base, wrap(to.offset + position.offset - from.offset, size)};
    }
    if (edge.from && position.base &&
        edge.from->isAncestor(position.base.getParentRegion()))
      return std::nullopt;
    return position;
  }

private:
  static int64_t wrap(int64_t offset, int64_t size) {
    return ((offset % size) + size) % size;
  }

  /// Takes rotations off `value`.
  static SlotPosition strip(Value value, int64_t size) {
    int64_t offset = 0;
    while (auto rotate = value.getDefiningOp<RotateOp>()) {
      if (static_cast<int64_t>(rotate.getOf()) != size)
        break;
      value = rotate.getSlot();
      offset += rotate.getBy();
    }
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return {Value(), wrap(offset + constant.getSExtValue(), size)};
    return {value, wrap(offset, size)};
  }

  /// `value` in terms of the first value that stays at the same distance from
  /// it.
  SlotPosition get(Value value, int64_t size) {
    SlotPosition position = strip(value, size);
    auto loop = position.base ? getLoop(position.base) : nullptr;
    if (!loop)
      return position;
    unsigned own = getNumber(position.base);
    SlotPosition start = get(loop.getInits()[own], size);
    std::optional<int64_t> move = getMovement(loop, own, size);
    for (unsigned other = 0; other < own && move; ++other) {
      if (!loop.getRegionIterArgs()[other].getType().isIndex() ||
          getMovement(loop, other, size) != move)
        continue;
      SlotPosition otherStart = get(loop.getInits()[other], size);
      if (otherStart.base != start.base)
        continue;
      Value leader = isa<BlockArgument>(position.base)
                         ? Value(loop.getRegionIterArgs()[other])
                         : Value((*loop.getLoopResults())[other]);
      return {leader,
              wrap(position.offset + start.offset - otherStart.offset, size)};
    }
    return position;
  }

  /// The loop that carries `value` from iteration to iteration, or null.
  static LoopLikeOpInterface getLoop(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop =
          dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
      return loop && llvm::is_contained(loop.getRegionIterArgs(), argument)
                 ? loop
                 : nullptr;
    }
    auto loop = dyn_cast<LoopLikeOpInterface>(value.getDefiningOp());
    return loop && loop.getLoopResults() &&
                   loop.getInits().size() == loop->getNumResults()
               ? loop
               : nullptr;
  }

  /// Which of the values carried by its loop `value` is.
  static unsigned getNumber(Value value) {
    if (auto result = dyn_cast<OpResult>(value))
      return result.getResultNumber();
    auto argument = cast<BlockArgument>(value);
    auto loop = cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    return argument.getArgNumber() -
           loop.getRegionIterArgs().front().getArgNumber();
  }

  /// By how many slots each iteration moves a carried value.
  static std::optional<int64_t> getMovement(LoopLikeOpInterface loop,
                                            unsigned number, int64_t size) {
    Value yielded = loop.getYieldedValues()[number];
    SlotPosition end = strip(yielded, size);
    if (end.base != loop.getRegionIterArgs()[number])
      return std::nullopt;
    return end.offset;
  }

  DenseMap<Value, int64_t> ringSizes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Pending accesses
//===----------------------------------------------------------------------===//

namespace {

/// How far an access is.
enum class Progress { UnderWay, Complete, Known };

/// An access that a later one may conflict with, or several that it conflicts
/// with alike: the statements of an unrolled loop tend to touch the same
/// elements.
struct Pending {
  /// The op, if barriers are among its events.
  Operation *op;
  const Access *access;
  Value buffer; ///< behind slots
  Space space;
  Trace trace;
  std::optional<SlotPosition> slot;
  Progress progress;
  /// Its threads have executed a fence since it was complete.
  bool fenced = false;
  /// Groups closed since it was started.
  int64_t age = 0;
  /// The ops with the barriers that made it known.
  SmallVector<Operation *, 1> barriers = {};

  bool operator==(const Pending &) const = default;

  bool isGenericWrite() const {
    return access->writes && access->proxy == Proxy::Generic;
  }

  /// True if the two are the same but for what `merge` puts together.
  bool isLike(const Pending &other) const {
    return progress == other.progress && fenced == other.fenced &&
           (access == other.access || isAsGood(other)) && slot == other.slot &&
           trace == other.trace;
  }

  /// Whether another access was a different one, but nobody will ask which. How
  /// long ago an access was started counts while it is under way.
  bool isAsGood(const Pending &other) const {
    return progress != Progress::UnderWay && op == other.op &&
           buffer == other.buffer && access->writes == other.access->writes &&
           access->proxy == other.access->proxy &&
           access->completion == other.access->completion &&
           access->combines == other.access->combines &&
           access->participants == other.access->participants;
  }

  /// True if that changed something.
  bool merge(const Pending &other) {
    bool changed = other.age < age;
    age = std::min(age, other.age);
    for (Operation *barrier : other.barriers)
      if (!llvm::is_contained(barriers, barrier)) {
        barriers.push_back(barrier);
        changed = true;
      }
    return changed;
  }
};

/// Pending accesses in order of insertion, so that output is deterministic.
class PendingSet {
public:
  bool operator==(const PendingSet &) const = default;

  bool add(const Pending &pending) {
    for (Pending &own : accesses)
      if (own.isLike(pending))
        return own.merge(pending);
    accesses.push_back(pending);
    return true;
  }
  bool add(const PendingSet &other) {
    bool changed = false;
    for (const Pending &pending : other.accesses)
      changed |= add(pending);
    return changed;
  }

  SmallVector<Pending, 0> accesses;
};

/// What has to stand before an op.
struct Need {
  bool barrier = false;
  bool fence = false, deviceFence = false;
  bool commitCopies = false, waitCopies = false;
  bool waitGemms = false;
  bool waitStores = false, waitWrites = false;
  llvm::SmallSetVector<Value, 2> fragments;
  /// Ops that want a fence before them.
  llvm::SmallSetVector<Operation *, 2> fenceBefore;
  bool deviceFenceBefore = false;

  bool isAny() const {
    return barrier || fence || waitCopies || waitGemms || waitStores ||
           !fenceBefore.empty();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// The analysis
//===----------------------------------------------------------------------===//

namespace {

/// Walks a kernel, inserting what is missing, or only looking whether anything
/// is.
class SyncInserter {
public:
  explicit SyncInserter(gpu::GPUFuncOp kernel) : kernel(kernel), slots(kernel) {
    kernel.walk([&](Operation *op) {
      for (const Event &event : events.of(op))
        if (auto *access = std::get_if<Access>(&event))
          if (access->proxy == Proxy::Async)
            asyncAccesses.push_back(access);
    });
  }

  void run() {
    do {
      mustRestart = false;
      walk();
    } while (mustRestart);
    simplify();
  }

private:
  /// True if nothing was missing.
  bool walk() {
    isComplete = true;
    visits.clear();
    PendingSet pending;
    walkBlock(kernel.getBody().front(), pending);
    return isComplete;
  }

  void walkBlock(Block &block, PendingSet &pending) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (statesInFront && inserted.contains(&op))
        (*statesInFront)[&op] = pending;
      if (isStep(&op))
        visitStep(&op, pending);
      else
        visitFlow(&op, pending);
    }
  }

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  /// To visit `op` again with the same accesses gives the same. Rounds of the
  /// loops around it do: without their memory, loops in each other would take
  /// time to the power of their number.
  void visitFlow(Operation *op, PendingSet &pending) {
    if (auto last = visits.find(op); last != visits.end() &&
                                     last->second.inserted == inserted.size() &&
                                     last->second.before == pending) {
      pending = last->second.after;
      return;
    }
    if (isa<LoopLikeOpInterface>(op) && !isCheck)
      settleBefore(op, pending);
    SmallVector<FlowEdge> edges = getFlow(op);
    PendingSet after;
    // What is inserted on the way may make the states before it too large:
    // the last round inserts nothing.
    size_t before;
    do {
      before = inserted.size();
      after = {};
      llvm::SmallMapVector<Region *, PendingSet, 2> starts, ends;
      bool changed = true;
      while (changed) {
        changed = false;
        for (const FlowEdge &edge : edges)
          changed |=
              (edge.to ? starts[edge.to] : after)
                  .add(pass(edge.from ? ends[edge.from] : pending, op, edge));
        for (Region &region : op->getRegions()) {
          if (region.empty())
            continue;
          PendingSet inside = starts[&region];
          walkBlock(region.front(), inside);
          changed |= ends[&region].add(inside);
        }
      }
    } while (inserted.size() != before);
    visits[op] = {pending, after, before};
    pending = after;
  }

  /// Waits in front of `loop`, and fences, for what its iterations would each
  /// wait for.
  void settleBefore(Operation *loop, PendingSet &pending) {
    while (true) {
      Need need;
      for (const Pending &before : pending.accesses)
        if (isOwed(before) && !isWrittenIn(loop, before.buffer))
          forAccesses(loop, [&](const Access &access) {
            compare(before, access, need);
          });
      if (!need.waitCopies && !need.fence)
        return;
      isComplete = false;
      insert(loop, need, pending);
    }
  }

  /// True if whoever meets `before` has to wait for copies, or may have to
  /// execute a fence.
  static bool isOwed(const Pending &before) {
    if (before.space != Space::Shared)
      return false;
    if (before.progress == Progress::UnderWay)
      return before.access->completion == Completion::CopyGroup;
    return before.progress == Progress::Complete && before.isGenericWrite() &&
           !before.fenced;
  }

  bool isWrittenIn(Operation *loop, Value buffer) {
    bool isWritten = false;
    forAccesses(loop, [&](const Access &access) {
      isWritten |=
          access.writes && shareBytes(buffer, getBuffer(access.buffer));
    });
    return isWritten;
  }

  void forAccesses(Operation *loop,
                   llvm::function_ref<void(const Access &)> use) {
    loop->walk([&](Operation *op) {
      if (isStep(op))
        for (const Event &event : events.of(op))
          if (auto *access = std::get_if<Access>(&event))
            use(*access);
    });
  }

  /// The accesses as they are seen behind `edge`.
  PendingSet pass(const PendingSet &pending, Operation *op,
                  const FlowEdge &edge) {
    PendingSet result;
    for (Pending access : pending.accesses) {
      if (edge.from && edge.from == edge.to) {
        auto [index, step] = getIndexOf(op);
        access.trace.nextIteration(*edge.to, index, step);
      } else if (edge.from && edge.to) {
        access.trace.nextIteration(*edge.to, Value(), 0);
      } else if (edge.from) {
        for (Region &region : op->getRegions())
          access.trace.leave(region);
      }
      if (access.slot) {
        int64_t size = cast<MemRefType>(access.buffer.getType()).getDimSize(0);
        access.slot = slots.pass(*access.slot, size, edge);
      }
      result.add(access);
    }
    return result;
  }

  /// The index of a loop and how much an iteration adds to it.
  static std::pair<Value, int64_t> getIndexOf(Operation *op) {
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    if (!loop)
      return {};
    std::optional<Value> index = loop.getSingleInductionVar();
    std::optional<OpFoldResult> step = loop.getSingleStep();
    std::optional<int64_t> amount =
        step ? getConstantIntValue(*step) : std::nullopt;
    if (!index || !amount || *amount <= 0)
      return {};
    return {*index, *amount};
  }

  //===--------------------------------------------------------------------===//
  // One op
  //===--------------------------------------------------------------------===//

  void visitStep(Operation *op, PendingSet &pending) {
    while (true) {
      PendingSet after = pending;
      Need need = apply(op, after);
      isComplete &= !need.isAny();
      if (!need.isAny() || isCheck) {
        pending = std::move(after);
        return;
      }
      insert(op, need, pending);
    }
  }

  /// Lets the events of `op` happen, and returns what they miss.
  Need apply(Operation *op, PendingSet &pending) {
    Need need;
    if (arrivesAtCluster(op))
      for (const Pending &before : pending.accesses)
        handToOthers(before, need);
    if (isa<gpu::ReturnOp>(op))
      for (const Pending &before : pending.accesses)
        endBlock(before, need);
    PendingSet started;
    auto start = [&] {
      pending.add(started);
      started = {};
    };
    for (const Event &event : events.of(op)) {
      if (auto *access = std::get_if<Access>(&event)) {
        for (const Pending &before : pending.accesses)
          compare(before, *access, need);
        addAccess(op, *access, started);
        continue;
      }
      // Accesses up to here happen in any order.
      start();
      applySync(op, std::get<Sync>(event), pending);
    }
    start();
    return need;
  }

  bool hasBarrier(Operation *op) {
    return llvm::any_of(events.of(op), [](const Event &event) {
      auto *sync = std::get_if<Sync>(&event);
      return sync && sync->kind == Sync::Kind::Barrier;
    });
  }

  void addAccess(Operation *op, const Access &access, PendingSet &started) {
    Value buffer = getBuffer(access.buffer);
    std::optional<Space> space = getSpace(cast<MemRefType>(buffer.getType()));
    bool isImmediate = access.completion == Completion::AtOp;
    // A thread's own memory is in its own order, but for a gemm under way.
    // Others wait for phases.
    if (!space || *space == Space::Private ||
        (*space == Space::Fragment && isImmediate) ||
        access.completion == Completion::Phase)
      return;
    started.add(Pending{.op = hasBarrier(op) ? op : nullptr,
                        .access = &access,
                        .buffer = buffer,
                        .space = *space,
                        .trace = Trace(access.footprint),
                        .slot = slots.of(access.buffer),
                        .progress = isImmediate ? Progress::Complete
                                                : Progress::UnderWay});
  }

  void applySync(Operation *op, const Sync &sync, PendingSet &pending) {
    PendingSet result;
    for (Pending access : pending.accesses)
      if (survives(op, sync, access))
        result.add(access);
    pending = std::move(result);
  }

  /// Lets `access` know of `sync`. False if nothing can conflict with it then.
  bool survives(Operation *op, const Sync &sync, Pending &access) {
    switch (sync.kind) {
    case Sync::Kind::Barrier:
      if (access.progress == Progress::UnderWay)
        return true;
      if (!access.isGenericWrite() || access.fenced || !meetsAsyncProxy(access))
        return false;
      if (access.progress == Progress::Complete)
        access.barriers = {op};
      access.progress = Progress::Known;
      return true;
    case Sync::Kind::Fence:
      if (access.progress != Progress::UnderWay && access.isGenericWrite() &&
          (sync.device || isOfOwnMemory(access)))
        access.fenced = true;
      return true;
    case Sync::Kind::Commit:
      if (access.progress == Progress::UnderWay &&
          access.access->completion == sync.group)
        ++access.age;
      return true;
    case Sync::Kind::WaitGroups:
      if (access.progress != Progress::UnderWay ||
          access.access->completion != sync.group ||
          access.age <= sync.pending ||
          (sync.readsOnly && access.access->writes))
        return true;
      if (access.space == Space::Fragment)
        return !llvm::is_contained(sync.fragments, access.buffer);
      access.progress = Progress::Complete;
      access.age = 0;
      return true;
    case Sync::Kind::Arrive:
    case Sync::Kind::WaitPhase:
      return true;
    }
    llvm_unreachable("all kinds are handled");
  }

  /// True if a fence for the block's shared memory is enough.
  static bool isOfOwnMemory(const Pending &access) {
    return access.space == Space::Shared && !isMapped(access.access->buffer);
  }

  /// True if bytes of the access are ever reached through the async proxy.
  bool meetsAsyncProxy(const Pending &access) {
    return llvm::any_of(asyncAccesses, [&](const Access *other) {
      return shareBytes(access.buffer, other->buffer);
    });
  }

  //===--------------------------------------------------------------------===//
  // Conflicts
  //===--------------------------------------------------------------------===//

  /// True if coordinates of the two are comparable: those of a whole ring and
  /// of a slot, or of a slot and of one in it, are not.
  static bool areAlike(const Pending &before, const Access &after) {
    auto rank = [](Value view) {
      return cast<MemRefType>(view.getType()).getRank();
    };
    return rank(before.access->buffer) == rank(after.buffer);
  }

  bool mayMeet(const Pending &before, const Access &after) {
    Value buffer = getBuffer(after.buffer);
    if (!shareBytes(before.buffer, buffer))
      return false;
    if (before.buffer != buffer)
      return true;
    std::optional<SlotPosition> slot = slots.of(after.buffer);
    if (slot && before.slot && slot->base == before.slot->base &&
        slot->offset != before.slot->offset)
      return false;
    return !after.footprint || slot.has_value() != before.slot.has_value() ||
           !areAlike(before, after) || before.trace.mayMeet(*after.footprint);
  }

  /// True if each thread is ordered with itself, which is enough.
  bool isOwnOrder(const Pending &before, const Access &after) {
    bool isOne = before.access->participants == Participants::One &&
                 after.participants == Participants::One;
    if (isOne && before.access->proxy == after.proxy)
      return true;
    if (before.access->proxy == Proxy::Async || after.proxy == Proxy::Async ||
        before.buffer != getBuffer(after.buffer) || !after.footprint ||
        before.slot != slots.of(after.buffer) || !areAlike(before, after) ||
        after.completion != Completion::AtOp)
      return false;
    if (before.trace.hasSameOwners(*after.footprint))
      return true;
    // All threads write one value, and each reads it back.
    return before.access->writes && !after.writes &&
           before.access->participants == Participants::Each &&
           after.participants == Participants::Each &&
           before.trace.isSameElement(*after.footprint);
  }

  /// Adds to `need` what must stand before the block arrives at the barrier of
  /// its cluster, if others may touch next what `before` has.
  void handToOthers(const Pending &before, Need &need) {
    if (!isReachedByOthers(before.buffer))
      return;
    if (before.progress == Progress::UnderWay)
      return needWait(before, Access{.buffer = before.buffer}, need);
    if (!before.isGenericWrite() || before.fenced || !meetsAsyncProxy(before))
      return;
    need.fence = true;
    need.deviceFence |= !isOfOwnMemory(before);
  }

  /// Adds to `need` what must stand before the block ends: a copy that nobody
  /// reads is under way until then.
  void endBlock(const Pending &before, Need &need) {
    if (before.progress == Progress::UnderWay &&
        before.access->completion == Completion::CopyGroup)
      needWait(before, Access{.buffer = before.buffer}, need);
  }

  /// Adds to `need` what must stand between the two.
  void compare(const Pending &before, const Access &after, Need &need) {
    if ((!before.access->writes && !after.writes) ||
        commute(*before.access, after) || !mayMeet(before, after))
      return;
    bool isDevice = !isOfOwnMemory(before);
    bool owesFence = before.isGenericWrite() && !before.fenced &&
                     after.proxy == Proxy::Async;
    switch (before.progress) {
    case Progress::UnderWay:
      return needWait(before, after, need);
    case Progress::Complete:
      if (isOwnOrder(before, after))
        return;
      need.barrier = true;
      need.fence |= owesFence;
      need.deviceFence |= owesFence && isDevice;
      return;
    case Progress::Known:
      if (after.proxy != Proxy::Async)
        return;
      if (!owesFence || llvm::is_contained(before.barriers, before.op)) {
        need.barrier = true;
        need.fence |= owesFence;
        need.deviceFence |= owesFence && isDevice;
        return;
      }
      need.fenceBefore.insert(before.barriers.begin(), before.barriers.end());
      need.deviceFenceBefore |= isDevice;
      return;
    }
  }

  void needWait(const Pending &before, const Access &after, Need &need) {
    switch (before.access->completion) {
    case Completion::CopyGroup:
      need.waitCopies = true;
      need.commitCopies |= before.age == 0;
      return;
    case Completion::StoreGroup:
      need.waitStores = true;
      need.waitWrites |= before.access->writes;
      return;
    case Completion::GemmGroup:
      // Gemms on one accumulator follow each other in the tensor core, which
      // does not have A, if that is in registers, wait for anything.
      if (before.space == Space::Fragment &&
          after.completion == Completion::GemmGroup &&
          after.proxy == before.access->proxy)
        return;
      need.waitGemms = true;
      if (before.space == Space::Fragment)
        need.fragments.insert(before.buffer);
      return;
    case Completion::AtOp:
    case Completion::Phase:
      break;
    }
    llvm_unreachable("these are not under way here");
  }

  //===--------------------------------------------------------------------===//
  // Insertion
  //===--------------------------------------------------------------------===//

  /// Inserts what `need` says before `op`, and lets it happen.
  void insert(Operation *op, const Need &need, PendingSet &pending) {
    for (Operation *barrier : need.fenceBefore) {
      insertFence(barrier, need.deviceFenceBefore);
      mustRestart = true;
    }
    // The walk goes on as if those fences had been there.
    for (Pending &access : pending.accesses)
      if (access.progress == Progress::Known &&
          llvm::any_of(access.barriers, [&](Operation *barrier) {
            return need.fenceBefore.contains(barrier);
          }))
        access.fenced = true;
    llvm::erase_if(pending.accesses, [](const Pending &access) {
      return access.progress == Progress::Known && access.fenced;
    });

    OpBuilder builder(op);
    Location loc = op->getLoc();
    auto add = [&](Operation *made) {
      inserted.insert(made);
      apply(made, pending);
    };
    if (need.waitCopies) {
      if (need.commitCopies)
        add(CommitCopiesOp::create(builder, loc));
      add(WaitCopiesOp::create(builder, loc, 0));
    }
    if (need.waitGemms)
      add(WaitGemmOp::create(builder, loc, 0, need.fragments.getArrayRef()));
    if (need.waitStores)
      add(WaitStoresOp::create(builder, loc, 0, /*read=*/!need.waitWrites));
    if (need.fence)
      add(FenceAsyncOp::create(builder, loc, need.deviceFence));
    if (need.barrier)
      add(gpu::BarrierOp::create(builder, loc));
  }

  /// A fence before `barrier`; one that is there does.
  void insertFence(Operation *barrier, bool device) {
    visits.clear();
    auto fence = dyn_cast_or_null<FenceAsyncOp>(barrier->getPrevNode());
    if (!fence) {
      OpBuilder builder(barrier);
      fence = FenceAsyncOp::create(builder, barrier->getLoc(), device);
      inserted.insert(fence);
    } else if (device) {
      fence.setDevice(true);
      events.forget(fence);
    }
  }

  /// What was inserted first may have become superfluous by what came later,
  /// and what stands in a loop may do before it, if only accesses before the
  /// loop want it.
  void simplify() {
    isCheck = true;
    learnStates();
    SmallVector<Operation *> fences, barriers;
    for (Operation *op : inserted) {
      if (isa<FenceAsyncOp>(op))
        fences.push_back(op);
      else if (isa<gpu::BarrierOp>(op) &&
               op->getParentOfType<LoopLikeOpInterface>())
        barriers.push_back(op);
    }
    for (Operation *barrier : barriers)
      if (isMissed(barrier, states.lookup(barrier)) || !tryErase(barrier))
        tryHoist(barrier);
    llvm::erase_if(fences, [&](Operation *fence) {
      return isMissed(fence, states.lookup(fence));
    });
    eraseSuperfluous(fences);
  }

  /// Finds the accesses in front of each inserted op, and those that are left
  /// if a barrier stands in front of the innermost loop around it.
  void learnStates() {
    states.clear();
    statesBehindHoist.clear();
    statesInFront = &statesBehindHoist;
    // Outer loops first, so that the innermost has the last word.
    kernel.walk<WalkOrder::PreOrder>([&](LoopLikeOpInterface loop) {
      if (isStep(loop))
        return WalkResult::skip();
      visits.clear();
      PendingSet nothing;
      visitFlow(loop, nothing);
      return WalkResult::advance();
    });
    statesInFront = &states;
    walk();
    statesInFront = nullptr;
  }

  /// True if something is missing without `op` behind the accesses `pending`,
  /// as far as ops behind it in its block show.
  ///
  /// That spares a walk of the kernel, which most ops would fail, at the cost
  /// of the square of their number. `states` may be older than what has been
  /// erased: no less is pending since.
  bool isMissed(Operation *op, PendingSet pending) {
    for (Operation *next = op->getNextNode(); next && isStep(next);
         next = next->getNextNode())
      if (apply(next, pending).isAny())
        return true;
    return false;
  }

  /// Erases `ops` if nothing is missing without them.
  bool tryErase(ArrayRef<Operation *> ops) {
    SmallVector<std::pair<Block *, Block::iterator>> places;
    for (Operation *op : ops) {
      places.push_back({op->getBlock(), std::next(op->getIterator())});
      op->remove();
    }
    if (!walk()) {
      for (auto [op, place] : llvm::reverse(llvm::zip_equal(ops, places)))
        place.first->getOperations().insert(place.second, op);
      return false;
    }
    for (Operation *op : ops) {
      events.forget(op);
      inserted.remove(op);
      op->destroy();
    }
    return true;
  }

  /// Erases those of `ops`, one after another, without which nothing is
  /// missing. All of them if it can, then halves: what is left out makes no
  /// other op superfluous, so that it comes to the same.
  void eraseSuperfluous(ArrayRef<Operation *> ops) {
    if (ops.empty() || tryErase(ops) || ops.size() == 1)
      return;
    size_t half = ops.size() / 2;
    eraseSuperfluous(ops.take_front(half));
    eraseSuperfluous(ops.drop_front(half));
  }

  /// Moves `barrier`, with a fence right before it, out of as many loops as
  /// nothing is missing then. What an iteration starts alone is there wherever
  /// the barrier goes.
  void tryHoist(Operation *barrier) {
    if (isMissed(barrier, statesBehindHoist.lookup(barrier)))
      return;
    SmallVector<Operation *, 2> moved = {barrier};
    Operation *fence = barrier->getPrevNode();
    if (isa_and_nonnull<FenceAsyncOp>(fence) && inserted.contains(fence))
      moved.insert(moved.begin(), fence);
    Operation *next = barrier->getNextNode();
    SmallVector<Operation *> loops;
    for (Operation *parent = barrier->getParentOp(); parent != kernel;
         parent = parent->getParentOp())
      if (isa<LoopLikeOpInterface>(parent))
        loops.push_back(parent);
    for (Operation *loop : llvm::reverse(loops)) {
      for (Operation *op : moved)
        op->moveBefore(loop);
      if (walk()) {
        learnStates();
        return;
      }
    }
    for (Operation *op : moved)
      op->moveBefore(next);
  }

  /// What came of an op with regions the last time.
  struct Visit {
    PendingSet before, after;
    size_t inserted;
  };

  gpu::GPUFuncOp kernel;
  SlotNumbers slots;
  KernelEvents events;
  llvm::DenseMap<Operation *, Visit> visits;
  SmallVector<const Access *> asyncAccesses;
  llvm::SetVector<Operation *> inserted;
  /// What is pending in front of inserted ops; and where it is kept in a walk.
  using States = llvm::DenseMap<Operation *, PendingSet>;
  States states, statesBehindHoist;
  States *statesInFront = nullptr;
  bool isCheck = false, isComplete = true, mustRestart = false;
};

/// True if `op`, or an op in it, touches shared memory of other blocks.
bool reachesOthers(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return llvm::any_of(inner->getOperands(), isMapped)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// True if in `op` the block arrives where the cluster meets, and may go on
/// without waiting.
bool hasArrival(Operation *op) {
  return op->walk([](ClusterArriveOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Has the cluster meet before a block first touches memory of another one,
/// which may not run before that, and behind the last time, since the other one
/// must not have ended; unless it meets there already. A block that has arrived
/// and not waited cannot meet others, so that the first meeting comes before
/// what the block does at the cluster's barrier.
void addMeetings(gpu::GPUFuncOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *first = nullptr, *last = nullptr;
  bool hasMet = false, meetsBehind = false;
  for (Operation &op : body) {
    if (reachesOthers(&op)) {
      if (!first && !hasMet)
        first = &op;
      last = &op;
      meetsBehind = false;
    } else if (waitsForCluster(&op)) {
      hasMet |= !first;
    }
    meetsBehind |= arrivesAtCluster(&op);
  }
  if (first) {
    Operation *begin = &*llvm::find_if(
        body, [&](Operation &op) { return &op == first || hasArrival(&op); });
    OpBuilder builder(begin);
    ClusterBarrierOp::create(builder, first->getLoc());
  }
  if (last && !meetsBehind) {
    OpBuilder builder(body.getTerminator());
    ClusterBarrierOp::create(builder, last->getLoc());
  }
}

struct InsertSyncPass : tl::impl::InsertSyncPassBase<InsertSyncPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>()) {
      if (failed(requirePlainLoops(kernel)) || failed(requireOffsets(kernel)))
        return signalPassFailure();
      addMeetings(kernel);
      SyncInserter(kernel).run();
    }
  }
};

} // namespace
