//===- VerifySync.cpp - Prove that conflicting accesses are ordered -------===//
//
// Executes a kernel over abstract states. A state knows
//
// - as numbers: the values that choose slots of rings, mbarriers and parities;
//   which phase each mbarrier is in and who has arrived; how many iterations of
//   a pipelined loop are left, as a range, which conditions on the loop's index
//   cut in two;
// - as records: the accesses that have happened and are not yet known to be
//   over by every thread that could come into conflict with them.
//
// Iterations are executed one by one until states repeat. They do, since slots
// and phases go round and ranges are cut at the number of slots. So it is seen
// that a slot is filled only after its last readers have passed a barrier and
// read only after the phase or group that filled it, whatever the trip count,
// without knowing how pipelines are made. States that differ in no number are
// joined.
//
// Every access is held against the records: two that may touch the same bytes,
// one of them writing, must be in order. Nothing is shared with
// `tl-insert-sync` but the events of ops and what footprints have in common.
//
// The kernel is executed once for each part of its numbers that has to do with
// itself only, such as slots and phases of one pipe; the others are unknown
// then, their mbarriers tell nothing, and waits for them let everybody pass.
// That allows more than can happen, so each execution is a proof of the pairs
// that it finds in order, and each pair needs but one. States of a part are
// few, where those of several pipes in one loop are multiplied. If a pair is
// left, it may take two parts together: then all numbers are known at once.
//
// What is proven is as good as the events. Waits that would block in a state
// end it: no thread gets further there.
//
// Roles (`tl.role`) run at the same time. They are executed in turns, loop by
// loop and iteration by iteration, which is one of the orders in which they
// may run; what each has done is known to another one only by way of a phase:
// arrive, complete, wait. One order stands for all of them, because
//
// - the roles take the same ways: loops and branches that have to do with
//   phases come in pairs, with equal bounds and conditions;
// - each wait is for the phase after that of the wait before, and whoever
//   arrives knows that the phase before his has been waited for. So in any
//   order a wait ends with the very arrivals with which it ends in this one,
//   and never by a later or an earlier phase of the same parity;
// - nothing else passes between roles, since what conflicts is ordered, by
//   these phases;
// - and none of the waits blocks in this order, so that none blocks for ever.
//
//===----------------------------------------------------------------------===//

#include "SyncStates.h"

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/RegionFlow.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/Analysis/RoleTwins.h"
#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tl {
#define GEN_PASS_DEF_VERIFYSYNCPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;
using namespace tl::sync;

/// More states of one loop than any pipeline has: numbers that do not repeat.
static constexpr size_t kMaxStates = 1024;
static constexpr StringRef kTooManyStates =
    "has more states of slots and phases than can be looked at";

namespace {

/// `base` (null for none) plus `constant`.
struct Linear {
  Value base;
  int64_t constant = 0;

  bool operator==(const Linear &) const = default;
};

} // namespace

/// Only sums that do not wrap are taken apart.
static Linear getLinear(Value value) {
  int64_t constant = 0;
  while (true) {
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return {Value(), constant + number.getSExtValue()};
    auto sum = value.getDefiningOp<arith::AddIOp>();
    if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&number)) ||
        !bitEnumContainsAll(sum.getOverflowFlags(),
                            arith::IntegerOverflowFlags::nsw))
      return {value, constant};
    constant += number.getSExtValue();
    value = sum.getLhs();
  }
}

//===----------------------------------------------------------------------===//
// The verifier
//===----------------------------------------------------------------------===//

namespace {

class SyncVerifier {
public:
  explicit SyncVerifier(gpu::GPUFuncOp kernel)
      : kernel(kernel), twins(kernel) {}

  LogicalResult run() {
    if (failed(checkBarriers()) || failed(checkDivergence()) ||
        failed(findRoles()))
      return failure();
    findNumbers();
    if (proveInParts())
      return success();
    relevant.insert(numbers.begin(), numbers.end());
    prove();
    return failure(hasFailed);
  }

private:
  /// Two accesses of which the second one comes later, null for the kernel's
  /// end.
  using Pair = std::pair<std::pair<Operation *, const Access *>,
                         std::pair<Operation *, const Access *>>;

  /// True if each pair is in order by what one part of the numbers tells.
  bool proveInParts() {
    SmallVector<DenseSet<Value>> parts = findParts();
    if (parts.size() < 2)
      return false;
    isTrial = true;
    DenseSet<Pair> left;
    for (auto [i, part] : llvm::enumerate(parts)) {
      relevant = std::move(part);
      open.clear();
      prove();
      DenseSet<Pair> common;
      for (const Pair &pair : open)
        if (i == 0 || left.contains(pair))
          common.insert(pair);
      left = std::move(common);
      if (hasFailed)
        break;
    }
    isTrial = false;
    relevant.clear();
    return !std::exchange(hasFailed, false) && left.empty();
  }

  /// Executes the kernel with the numbers that are `relevant`.
  void prove() {
    waits.clear();
    waiters.clear();
    asynchronous.clear();
    for (auto [op, access] : asynchronousOps)
      if (isTold(access))
        markParents(op);
    States start;
    start.add(State());
    execute(kernel.getBody().front(), start);
    for (State &state : start.states)
      checkEnd(state);
    checkWaits();
  }

  static bool isStep(Operation &op) {
    return op.getNumRegions() == 0 || isa<EventOpInterface>(op);
  }

  ArrayRef<Event> getEventsOf(Operation *op) {
    auto [it, isNew] = events.try_emplace(op);
    if (isNew)
      it->second = std::make_unique<SmallVector<Event, 4>>(tl::getEvents(op));
    return *it->second;
  }

  //===--------------------------------------------------------------------===//
  // Before execution
  //===--------------------------------------------------------------------===//

  /// Barriers are set up once.
  LogicalResult checkBarriers() {
    WalkResult result = kernel.walk([&](AllocBarriersOp alloc) -> WalkResult {
      if (!alloc->getParentOfType<LoopLikeOpInterface>())
        return WalkResult::advance();
      return alloc.emitOpError("sets its barriers up again in each iteration "
                               "of a loop; this is a defect of the compiler");
    });
    return failure(result.wasInterrupted());
  }

  /// What all threads do together stands where all of them come by.
  LogicalResult checkDivergence() {
    ThreadDependence dependence(kernel.getBody());
    WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      // Loops over the threads are no place for barriers anyway.
      if (op != kernel && isStep(*op))
        return WalkResult::skip();
      if (op == kernel || !dependence.isDivergent(op))
        return WalkResult::advance();
      Operation *sync = findSync(op);
      if (!sync)
        return WalkResult::skip();
      InFlightDiagnostic diag =
          sync->emitOpError("is executed by all threads together, but stands "
                            "where only some threads come by; this is a defect "
                            "of the compiler");
      diag.attachNote(getReason(op)) << "the condition differs between threads";
      return WalkResult(diag);
    });
    return failure(result.wasInterrupted());
  }

  /// The first op in the regions of `op` that orders accesses, or null.
  Operation *findSync(Operation *op) {
    Operation *found = nullptr;
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      if (inner == op || !isStep(*inner))
        return WalkResult::advance();
      bool syncs =
          isa<OpenTurnsOp, TakeTurnOp, PassTurnOp, CloseTurnsOp>(inner) ||
          llvm::any_of(getEventsOf(inner), [](const Event &event) {
            return std::holds_alternative<Sync>(event);
          });
      if (!syncs)
        return WalkResult::skip();
      found = inner;
      return WalkResult::interrupt();
    });
    return found;
  }

  /// Where it is decided which part of `op` is executed.
  static Location getReason(Operation *op) {
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return branch.getCondition().getLoc();
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return loop.getConditionOp().getCondition().getLoc();
    return op->getLoc();
  }

  /// Finds the values that may be kept as numbers and what they are for, the
  /// asynchronous ops, and the accesses through the async proxy.
  void findNumbers() {
    kernel.walk([&](Operation *op) {
      if (auto slot = dyn_cast<SlotOp>(op)) {
        maxSlots = std::max(
            maxSlots,
            cast<MemRefType>(slot.getSource().getType()).getDimSize(0));
        connect(getBuffer(slot.getSource()), slot.getIndex());
      }
      if (!isStep(*op))
        return;
      for (const Event &event : getEventsOf(op)) {
        if (auto *access = std::get_if<Access>(&event)) {
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
        for (Value value : {sync.index, sync.parity})
          if (value)
            connect(sync.barrier, value);
      }
    });
    for (size_t i = 0; i < numbers.size(); ++i) {
      SetVector<Value> sources;
      addSources(numbers[i], sources);
      for (Value source : sources)
        connect(numbers[i], source);
    }
  }

  /// What is known of `b` tells something of `a`.
  void connect(Value a, Value b) {
    if (!canBeKnown(b))
      return;
    numbers.insert(b);
    connected.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  }

  /// Constants are known anyway, and arguments and indices of loops never.
  bool canBeKnown(Value value) const {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return !matchPattern(value, m_Constant());
    Operation *parent = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    return parent != kernel && !(loop && loop.getInductionVar() == value);
  }

  /// The sets of values, rings and mbarriers that have to do with each other.
  SmallVector<DenseSet<Value>> findParts() const {
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

  /// True if the slots of a ring, or the phases of an mbarrier, are known in
  /// this execution. Of those that only constants choose they always are.
  bool isTold(Value buffer) const {
    return !isTrial || relevant.contains(buffer) ||
           !connected.contains(buffer.getAsOpaquePointer());
  }

  /// True if this execution knows where or when `access` happens, as far as
  /// anyone does.
  bool isTold(const Access *access) const {
    Value ring = getSlot(access->buffer) ? getBuffer(access->buffer) : Value();
    bool hasPart = ring || access->barrier;
    return !hasPart || (ring && isTold(ring)) ||
           (access->barrier && isTold(access->barrier));
  }

  /// The ops around asynchronous accesses: how often they are executed matters.
  void markParents(Operation *op) {
    for (Operation *parent = op->getParentOp(); parent != kernel;
         parent = parent->getParentOp())
      asynchronous.insert(parent);
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

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  void execute(Block &block, States &states) {
    for (Operation &op : block) {
      if (hasFailed)
        return;
      if (!isa<RoleOp>(op))
        executeOps({&op}, states);
      else if (!isa_and_nonnull<RoleOp>(op.getPrevNode()))
        executeRoles(cast<RoleOp>(op), states);
    }
  }

  /// One op, or one of each role, that are executed together.
  void executeOps(ArrayRef<Operation *> ops, States &states) {
    Operation *op = ops.front();
    if (isa<scf::ForOp>(op))
      executeEach(states, [&](State &state) { return executeFor(ops, state); });
    else if (isa<scf::IfOp>(op))
      executeEach(states, [&](State &state) { return executeIf(ops, state); });
    else if (!isStep(*op))
      executeEach(states,
                  [&](State &state) { return executeFlow(ops, state); });
    else
      llvm::erase_if(states.states,
                     [&](State &state) { return !executeStep(op, state); });
  }

  /// Region `number` of each of `ops`.
  void executeRegions(ArrayRef<Operation *> ops, unsigned number,
                      States &states) {
    SmallVector<Block *> blocks = llvm::map_to_vector(ops, [&](Operation *op) {
      Region &region = op->getRegion(number);
      return region.empty() ? nullptr : &region.front();
    });
    if (blocks.size() > 1)
      return executeTogether(blocks, states);
    if (blocks.front())
      execute(*blocks.front(), states);
  }

  //===--------------------------------------------------------------------===//
  // Roles
  //===--------------------------------------------------------------------===//

  /// Finds the roles, which all run at the same time.
  LogicalResult findRoles() {
    RoleOp last;
    for (auto role : kernel.getBody().getOps<RoleOp>()) {
      if (last && role->getPrevNode() != last)
        return role.emitOpError("does not follow the role before it, so that "
                                "they cannot be executed together; this is a "
                                "defect of the compiler");
      last = role;
      roleThreads.push_back(role.getCount());
      role.walk([&](Operation *op) {
        if (!isStep(*op) || llvm::none_of(getEventsOf(op), isOfPhase))
          return;
        for (Operation *parent = op->getParentOp(); parent != role;
             parent = parent->getParentOp())
          joint.insert(parent);
      });
    }
    everyone = (1u << std::max<size_t>(1, roleThreads.size())) - 1;
    return success();
  }

  static bool isOfPhase(const Event &event) {
    auto *sync = std::get_if<Sync>(&event);
    return sync && (sync->kind == Sync::Kind::Arrive ||
                    sync->kind == Sync::Kind::WaitPhase);
  }

  /// The roles that those who execute an op now are part of.
  unsigned getOwn() const { return getBits(role); }

  unsigned getBits(int role) const { return role < 0 ? everyone : 1u << role; }

  void executeRoles(RoleOp first, States &states) {
    SmallVector<Block *> blocks;
    for (Operation *next = first; isa<RoleOp>(next); next = next->getNextNode())
      blocks.push_back(&next->getRegion(0).front());
    executeTogether(blocks, states);
    role = -1;
  }

  /// The blocks of all roles, null for one that has none: each goes as far as
  /// its next loop or branch that has to do with phases, and all go through
  /// these together.
  void executeTogether(ArrayRef<Block *> blocks, States &states) {
    SmallVector<Operation *> next = llvm::map_to_vector(
        blocks, [](Block *block) { return block ? &block->front() : nullptr; });
    while (!hasFailed) {
      SmallVector<Operation *> ops;
      for (auto [number, op] : llvm::enumerate(next)) {
        role = number;
        for (; op && !joint.contains(op) && !hasFailed; op = op->getNextNode())
          executeOps({op}, states);
        if (op)
          ops.push_back(op);
      }
      if (ops.empty() || hasFailed)
        return;
      if (ops.size() != next.size() || !twins.areTwins(ops)) {
        fail(ops.front(),
             "has to do with phases of mbarriers, and what other roles do at "
             "the same time is not known to go the same ways");
        return;
      }
      for (Operation *op : ops)
        leaders[op] = ops.front();
      executeOps(ops, states);
      for (Operation *&op : next)
        op = op->getNextNode();
    }
  }

  //===--------------------------------------------------------------------===//
  // Structured control flow
  //===--------------------------------------------------------------------===//

  void executeEach(States &states, function_ref<States(State &)> body) {
    States result;
    for (State &state : states.states)
      result.add(body(state));
    states = std::move(result);
  }

  std::optional<int64_t> getNumber(const State &state, Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return value.getType().isInteger(1) ? constant.getZExtValue()
                                          : constant.getSExtValue();
    auto it = state.numbers.values.find(value.getAsOpaquePointer());
    return it == state.numbers.values.end() ? std::nullopt
                                            : std::optional(it->second);
  }

  void setNumber(State &state, Value value, std::optional<int64_t> number) {
    if (number && relevant.contains(value))
      state.numbers.values[value.getAsOpaquePointer()] = *number;
    else
      state.numbers.values.erase(value.getAsOpaquePointer());
  }

  /// Hands values over an edge of control flow and forgets those of `left`.
  void pass(State &state, ValueRange values, ValueRange arguments,
            Region *left) {
    SmallVector<std::optional<int64_t>> numbers;
    for (Value value : values)
      numbers.push_back(getNumber(state, value));
    if (left)
      forget(state, *left);
    for (auto [argument, number] : llvm::zip(arguments, numbers))
      setNumber(state, argument, number);
  }

  /// Drops what is known of the values of a region.
  void forget(State &state, Region &region) {
    auto isInside = [&](const void *pointer) {
      return pointer &&
             region.isAncestor(
                 Value::getFromOpaquePointer(pointer).getParentRegion());
    };
    std::erase_if(state.numbers.values,
                  [&](const auto &entry) { return isInside(entry.first); });
    std::erase_if(state.numbers.differences, [&](const auto &entry) {
      return isInside(entry.first.first) || isInside(entry.first.second);
    });
  }

  /// The states behind a loop. `left` iterations are to come, which is the
  /// difference of the upper bound and the index.
  States executeFor(ArrayRef<Operation *> ops, State &start) {
    auto loop = cast<scf::ForOp>(ops.front());
    auto loops = llvm::map_to_vector(
        ops, [](Operation *op) { return cast<scf::ForOp>(op); });
    bool counts =
        llvm::any_of(
            ops, [&](Operation *op) { return asynchronous.contains(op); }) &&
        getConstantIntValue(loop.getStep()) == 1 && !loop.getUnsignedCmp();
    auto getLeft = [&](State &state) -> Interval & {
      return state.numbers.left[loop];
    };
    States heads, after;
    if (counts)
      getLeft(start) =
          limit(getDifference(start, getLinear(loop.getUpperBound()),
                              getLinear(loop.getLowerBound())));
    for (scf::ForOp each : loops)
      pass(start, each.getInits(), each.getRegionIterArgs(), nullptr);
    heads.add(start);
    std::vector<Numbers> worklist = {heads.states.front().numbers};
    while (!worklist.empty() && !hasFailed) {
      Numbers next = worklist.back();
      worklist.pop_back();
      State head = *llvm::find_if(heads.states, [&](const State &state) {
        return state.numbers == next;
      });
      if (heads.states.size() > kMaxStates) {
        fail(loop, kTooManyStates);
        break;
      }
      if (!counts || getLeft(head).low <= 0) {
        State done = head;
        done.numbers.left.erase(loop);
        for (scf::ForOp each : loops) {
          SmallVector<Value> arguments(each.getRegionIterArgs());
          pass(done, arguments, each.getResults(), &each.getRegion());
          for (Record &record : done.records)
            record.trace.leave(each.getRegion());
        }
        after.add(std::move(done));
      }
      if (counts) {
        getLeft(head).low = std::max<int64_t>(getLeft(head).low, 1);
        if (getLeft(head).isEmpty())
          continue;
      }
      States inside;
      inside.add(std::move(head));
      executeRegions(ops, 0, inside);
      for (State &state : inside.states) {
        if (counts)
          getLeft(state) = limit(getLeft(state).plus(-1));
        std::optional<int64_t> step = getConstantIntValue(loop.getStep());
        for (scf::ForOp each : loops) {
          pass(state, each.getYieldedValues(), each.getRegionIterArgs(),
               &each.getRegion());
          for (Record &record : state.records)
            record.trace.nextIteration(
                each.getRegion(),
                step && *step > 0 ? each.getInductionVar() : Value(),
                step.value_or(0));
        }
        dropTwins(state);
        if (State *changed = heads.add(std::move(state)))
          worklist.push_back(changed->numbers);
      }
    }
    return after;
  }

  /// Iteration counts beyond what a pipeline looks ahead are all alike.
  Interval limit(Interval left) const {
    int64_t enough = maxSlots + 1;
    if (left.high > enough)
      left = {std::min(left.low, enough), INT64_MAX};
    left.low = std::max<int64_t>(left.low, 0);
    return left;
  }

  /// `a` - `b`, as far as it is known.
  Interval getDifference(State &state, Linear a, Linear b) {
    if (a.base == b.base)
      return {a.constant - b.constant, a.constant - b.constant};
    auto it = state.numbers.differences.find(
        {a.base.getAsOpaquePointer(), b.base.getAsOpaquePointer()});
    Interval range =
        it == state.numbers.differences.end() ? Interval() : it->second;
    return range.plus(a.constant - b.constant);
  }

  /// One or both of the branches.
  States executeIf(ArrayRef<Operation *> ops, State &start) {
    auto branch = cast<scf::IfOp>(ops.front());
    bool matters = llvm::any_of(
        ops, [&](Operation *op) { return asynchronous.contains(op); });
    States after;
    std::optional<int64_t> number = getNumber(start, branch.getCondition());
    for (bool holds : {true, false}) {
      State state = start;
      if ((number && *number != holds) ||
          (!number && matters && !assume(state, branch.getCondition(), holds)))
        continue;
      States inside;
      inside.add(std::move(state));
      unsigned taken = holds ? 0 : 1;
      executeRegions(ops, taken, inside);
      for (Operation *op : ops) {
        Region &region = op->getRegion(taken);
        if (region.empty())
          continue;
        for (State &end : inside.states) {
          pass(end, region.front().getTerminator()->getOperands(),
               op->getResults(), &region);
          for (Record &record : end.records)
            record.trace.leave(region);
        }
      }
      after.add(std::move(inside));
    }
    return after;
  }

  /// True where `high` - `low` is at least `least`, and else false.
  struct Test {
    Linear low, high;
    int64_t least;
  };

  /// What `condition` tests, if it is something of the kind.
  std::optional<Test> getTest(State &state, Value condition) {
    if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
      // `low` < `high`, and the distance of the two is more than a constant.
      auto order = both.getLhs().getDefiningOp<arith::CmpIOp>();
      std::optional<Test> distance = getDistanceTest(both.getRhs());
      if (!order || !distance ||
          order.getPredicate() != arith::CmpIPredicate::slt ||
          getLinear(order.getLhs()) != distance->low ||
          getLinear(order.getRhs()) != distance->high)
        return std::nullopt;
      return distance;
    }
    if (std::optional<Test> distance = getDistanceTest(condition)) {
      // As it has no sign, `high` must not be less than `low`.
      int64_t shift = distance->high.constant - distance->low.constant;
      Interval &known =
          getKnown(state, distance->low.base, distance->high.base, shift);
      return known.plus(shift).low >= 0 ? distance : std::nullopt;
    }
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return std::nullopt;
    Linear a = getLinear(compare.getLhs()), b = getLinear(compare.getRhs());
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::slt:
      return Test{a, b, 1};
    case arith::CmpIPredicate::sle:
      return Test{a, b, 0};
    case arith::CmpIPredicate::sgt:
      return Test{b, a, 1};
    case arith::CmpIPredicate::sge:
      return Test{b, a, 0};
    default:
      return std::nullopt;
    }
  }

  /// `high` - `low` > constant, without a sign.
  static std::optional<Test> getDistanceTest(Value condition) {
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    APInt constant;
    if (!compare || compare.getPredicate() != arith::CmpIPredicate::ugt ||
        !matchPattern(compare.getRhs(), m_ConstantInt(&constant)) ||
        constant.isNegative())
      return std::nullopt;
    auto distance = compare.getLhs().getDefiningOp<arith::SubIOp>();
    if (!distance)
      return std::nullopt;
    return Test{getLinear(distance.getRhs()), getLinear(distance.getLhs()),
                constant.getSExtValue() + 1};
  }

  /// Takes for granted that `condition` is or is not true, as far as that says
  /// something. False if it cannot be.
  bool assume(State &state, Value condition, bool holds) {
    std::optional<Test> test = getTest(state, condition);
    if (!test)
      return true;
    auto [low, high, least] = *test;
    if (low.base == high.base)
      return (high.constant - low.constant >= least) == holds;
    // What is known is of the values without their constants.
    int64_t shift = high.constant - low.constant;
    Interval &known = getKnown(state, low.base, high.base, shift);
    Interval range = known.plus(shift);
    if (holds)
      range.low = std::max(range.low, least);
    else
      range.high = std::min(range.high, least - 1);
    known = range.plus(-shift);
    return !range.isEmpty();
  }

  /// What is known of the difference of two values. If one is a loop's index
  /// and the other its upper bound up to a constant, the constant is taken off
  /// `shift`.
  Interval &getKnown(State &state, Value low, Value high, int64_t &shift) {
    if (auto index = dyn_cast_or_null<BlockArgument>(low))
      if (auto loop = dyn_cast<scf::ForOp>(index.getOwner()->getParentOp())) {
        Linear upper = getLinear(loop.getUpperBound());
        auto leader = leaders.find(loop);
        auto left = state.numbers.left.find(
            leader == leaders.end() ? loop.getOperation() : leader->second);
        if (index == loop.getInductionVar() && upper.base == high &&
            left != state.numbers.left.end()) {
          shift -= upper.constant;
          return left->second;
        }
      }
    return state.numbers
        .differences[{high.getAsOpaquePointer(), low.getAsOpaquePointer()}];
  }

  /// Any other control flow: all of its edges are taken.
  States executeFlow(ArrayRef<Operation *> ops, State &start) {
    Operation *op = ops.front();
    // Ops of one kind have the same edges, in one order.
    SmallVector<SmallVector<FlowEdge>> flows =
        llvm::map_to_vector(ops, [](Operation *each) { return getFlow(each); });
    llvm::SmallMapVector<Region *, States, 2> heads;
    States after;
    SmallVector<std::pair<Region *, Numbers>> worklist;
    auto follow = [&](Region *from, const State &state) {
      for (auto [number, edge] : llvm::enumerate(flows.front())) {
        if (edge.from != from)
          continue;
        State next = state;
        for (auto [each, edges] : llvm::zip_equal(ops, flows)) {
          const FlowEdge &own = edges[number];
          pass(next, own.values, own.arguments, own.from);
          for (Record &record : next.records) {
            if (own.from && own.to)
              record.trace.nextIteration(*own.to, Value(), 0);
            else if (own.from)
              for (Region &region : each->getRegions())
                record.trace.leave(region);
          }
        }
        dropTwins(next);
        if (!edge.to)
          after.add(std::move(next));
        else if (State *changed = heads[edge.to].add(std::move(next)))
          worklist.push_back({edge.to, changed->numbers});
      }
    };
    follow(nullptr, start);
    while (!worklist.empty() && !hasFailed) {
      auto [region, numbers] = worklist.pop_back_val();
      States &known = heads[region];
      if (known.states.size() > kMaxStates) {
        fail(op, kTooManyStates);
        break;
      }
      States inside;
      inside.add(*llvm::find_if(known.states, [&](const State &state) {
        return state.numbers == numbers;
      }));
      executeRegions(ops, region->getRegionNumber(), inside);
      for (const State &state : inside.states)
        follow(region, state);
    }
    return after;
  }

  /// Records that have become equal by what is forgotten.
  static void dropTwins(State &state) {
    std::vector<Record> records;
    for (Record &record : state.records)
      if (!llvm::is_contained(records, record))
        records.push_back(std::move(record));
    state.records = std::move(records);
  }

  //===--------------------------------------------------------------------===//
  // One op
  //===--------------------------------------------------------------------===//

  /// False if no thread gets past `op` in this state.
  bool executeStep(Operation *op, State &state) {
    evaluate(op, state);
    size_t earlier = state.records.size();
    for (const Event &event : getEventsOf(op)) {
      if (auto *access = std::get_if<Access>(&event)) {
        for (size_t i = 0; i < earlier; ++i)
          check(state, state.records[i], op, *access);
        addRecord(op, *access, state);
        continue;
      }
      if (!applySync(op, std::get<Sync>(event), state))
        return false;
      earlier = state.records.size();
    }
    return true;
  }

  /// Computes the result of `op` as a number.
  void evaluate(Operation *op, State &state) {
    if (op->getNumResults() != 1 || !relevant.contains(op->getResult(0)))
      return;
    SmallVector<int64_t> in;
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> number = getNumber(state, operand);
      if (!number)
        return setNumber(state, op->getResult(0), std::nullopt);
      in.push_back(*number);
    }
    setNumber(state, op->getResult(0), compute(op, in));
  }

  static std::optional<int64_t> compute(Operation *op, ArrayRef<int64_t> in) {
    if (auto rotate = dyn_cast<RotateOp>(op))
      return (in[0] + rotate.getBy()) % rotate.getOf();
    if (auto next = dyn_cast<NextPhaseOp>(op))
      return in[1] == static_cast<int64_t>(next.getOf()) - 1 ? in[0] ^ 1
                                                             : in[0];
    if (isa<arith::AddIOp>(op))
      return in[0] + in[1];
    if (isa<arith::SubIOp>(op))
      return in[0] - in[1];
    if (isa<arith::XOrIOp>(op))
      return in[0] ^ in[1];
    if (isa<arith::SelectOp>(op))
      return in[0] ? in[1] : in[2];
    if (auto compare = dyn_cast<arith::CmpIOp>(op))
      return arith::applyCmpPredicate(compare.getPredicate(),
                                      APInt(64, in[0], /*isSigned=*/true),
                                      APInt(64, in[1], /*isSigned=*/true));
    return std::nullopt;
  }

  void addRecord(Operation *op, const Access &access, State &state) {
    std::optional<Space> space =
        getSpace(cast<MemRefType>(access.buffer.getType()));
    bool isOver = access.completion == Completion::AtOp;
    // What a thread does with its own memory is in its own order.
    if (!space || *space == Space::Private ||
        (*space == Space::Fragment && isOver))
      return;
    Record record{.op = op,
                  .access = &access,
                  .trace = Trace(access.footprint),
                  .slot = getSlotNumber(state, access.buffer),
                  .isOver = isOver,
                  .role = role};
    if (access.completion == Completion::Phase && access.barrierIndex)
      if (std::optional<int64_t> index = getNumber(state, access.barrierIndex))
        record.phase = {*index, getPhase(state, access.barrier, *index).parity};
    if (!llvm::is_contained(state.records, record))
      state.records.push_back(std::move(record));
  }

  std::optional<int64_t> getSlotNumber(const State &state, Value view) {
    Value slot = getSlot(view);
    return slot ? getNumber(state, slot) : std::nullopt;
  }

  static Phase &getPhase(State &state, Value barrier, int64_t index) {
    return state.numbers.phases[{barrier.getAsOpaquePointer(), index}];
  }

  /// False if the state ends here.
  bool applySync(Operation *op, const Sync &sync, State &state) {
    switch (sync.kind) {
    case Sync::Kind::Barrier:
      for (Record &record : state.records) {
        if (!isOwn(record))
          continue;
        if (record.isOver)
          record.known |= getOwn();
        record.isVisible |= record.isFenced;
      }
      break;
    case Sync::Kind::Fence:
      for (Record &record : state.records)
        record.isFenced |= isOwn(record) && record.isOver &&
                           (sync.device || isShared(record.access->buffer));
      break;
    case Sync::Kind::Commit:
      for (Record &record : state.records)
        if (isOwn(record) && record.access->completion == sync.group &&
            !record.isOver)
          record.groups = std::min(record.groups + 1, maxPending + 1);
      break;
    case Sync::Kind::WaitGroups:
      for (Record &record : state.records)
        record.isOver |= isOwn(record) && isWaitedFor(record, sync);
      break;
    case Sync::Kind::Arrive:
      if (!isTold(sync.barrier))
        break;
      if (std::optional<int64_t> index = getNumber(state, sync.index))
        arrive(op, sync, *index, state);
      else if (role >= 0)
        fail(op, "arrives at an mbarrier that is not known");
      break;
    case Sync::Kind::WaitPhase:
      if (!isTold(sync.barrier))
        break;
      if (!(role < 0 ? waitPhase(op, sync, state) : waitTurn(op, sync, state)))
        return false;
      break;
    }
    llvm::erase_if(state.records,
                   [&](const Record &record) { return isHarmless(record); });
    return true;
  }

  /// True if those who execute an op now are those who did this.
  bool isOwn(const Record &record) const {
    return role < 0 || record.role == role;
  }

  void arrive(Operation *op, const Sync &sync, int64_t index, State &state) {
    Phase &phase = getPhase(state, sync.barrier, index);
    if (role >= 0) {
      checkArrival(op, sync, index, state);
      PhaseName name{sync.barrier.getAsOpaquePointer(), index, phase.parity};
      // One thread does not know what the others of its role have done.
      bool isOne =
          sync.participants == Participants::One && roleThreads[role] > 1;
      for (Record &record : state.records) {
        bool isMine = isOwn(record) && (!isOne || record.access->participants ==
                                                      Participants::One);
        bool mayTell = (isMine && record.isOver) || (record.known & getOwn());
        bool isNews = (record.known | getOwn()) != everyone;
        if (mayTell && isNews && !llvm::is_contained(record.told, name))
          record.told.push_back(name);
      }
    }
    ++phase.arrivals;
  }

  /// Who arrives must know that the phase before has been waited for.
  void checkArrival(Operation *op, const Sync &sync, int64_t index,
                    State &state) {
    auto alloc = sync.barrier.getDefiningOp<AllocBarriersOp>();
    bool isLate = !alloc || getPhase(state, sync.barrier, index).arrivals >=
                                static_cast<int64_t>(alloc.getArrivals());
    for (const Record &record : state.records)
      isLate |= record.slot == index && record.access->buffer == sync.barrier &&
                waitAccesses.contains(record.op) && record.role != role &&
                !(record.known & getOwn());
    if (isLate && !hasFailed)
      fail(op, "may arrive before the phase before has been waited for");
  }

  /// A wait of a role. False if the state ends here.
  bool waitTurn(Operation *op, const Sync &sync, State &state) {
    std::optional<int64_t> index = getNumber(state, sync.index);
    std::optional<int64_t> parity = getNumber(state, sync.parity);
    if (!index || !parity) {
      fail(op, "waits for a phase that is not known");
      return false;
    }
    auto [waiter, isNew] = waiters.try_emplace(sync.barrier, role);
    std::pair<const void *, int64_t> key = {sync.barrier.getAsOpaquePointer(),
                                            *index};
    auto last = state.numbers.turns.find(key);
    if (waiter->second != role ||
        (last != state.numbers.turns.end() && last->second == *parity)) {
      fail(op, "does not wait for one phase after the other");
      return false;
    }
    if (!waitPhase(op, sync, state)) {
      fail(op, "waits for a phase that nothing completes");
      return false;
    }
    state.numbers.turns[key] = *parity;
    PhaseName name{key.first, *index, *parity};
    for (Record &record : state.records) {
      auto told = llvm::find(record.told, name);
      if (told == record.told.end())
        continue;
      record.known |= getOwn();
      record.told.erase(told);
      if ((record.known | getBits(record.role)) == everyone)
        record.told.clear();
    }
    // That it has waited, others must know before they arrive again.
    auto [access, isFirst] = waitAccesses.try_emplace(op);
    if (isFirst)
      access->second = std::make_unique<Access>(Access{.buffer = sync.barrier});
    Record record{.op = op,
                  .access = access->second.get(),
                  .trace = Trace(std::nullopt),
                  .slot = index,
                  .isOver = true,
                  .known = getOwn(),
                  .role = role};
    if (!llvm::is_contained(state.records, record))
      state.records.push_back(std::move(record));
    return true;
  }

  bool isWaitedFor(const Record &record, const Sync &sync) {
    Value buffer = record.access->buffer;
    if (record.access->completion != sync.group ||
        record.groups <= sync.pending ||
        (sync.readsOnly && record.access->writes))
      return false;
    return !isInSpace(buffer, Space::Fragment) ||
           llvm::is_contained(sync.fragments, buffer);
  }

  bool waitPhase(Operation *op, const Sync &sync, State &state) {
    std::optional<int64_t> index = getNumber(state, sync.index);
    std::optional<int64_t> parity = getNumber(state, sync.parity);
    bool &passes = waits[op];
    // Without the numbers nothing is known to be complete.
    if (!index || !parity) {
      passes = true;
      return true;
    }
    Phase &phase = getPhase(state, sync.barrier, *index);
    if (phase.parity != *parity) { // The phase before.
      passes = true;
      return true;
    }
    auto alloc = sync.barrier.getDefiningOp<AllocBarriersOp>();
    if (!alloc || phase.arrivals < static_cast<int64_t>(alloc.getArrivals()))
      return false;
    passes = true;
    for (Record &record : state.records)
      if (record.phase == std::pair(*index, *parity) &&
          record.access->barrier == sync.barrier) {
        record.isOver = true;
        record.known |= getOwn();
      }
    phase = {1 - phase.parity, 0};
    return true;
  }

  static bool isShared(Value buffer) {
    return isInSpace(buffer, Space::Shared);
  }

  static bool isGenericWrite(const Record &record) {
    return record.access->writes && record.access->proxy == Proxy::Generic;
  }

  /// True if nothing can come into conflict with it any more.
  bool isHarmless(const Record &record) {
    if (!record.isOver)
      return false;
    if (isInSpace(record.access->buffer, Space::Fragment))
      return true;
    bool isKnown = record.known == everyone;
    if (!isKnown || !isGenericWrite(record) || record.isVisible)
      return isKnown;
    return llvm::none_of(asyncAccesses, [&](const Access *other) {
      return shareBytes(record.access->buffer, other->buffer);
    });
  }

  //===--------------------------------------------------------------------===//
  // The proof
  //===--------------------------------------------------------------------===//

  /// Where a buffer lies in shared memory.
  static std::pair<int64_t, int64_t> getBytes(Value buffer) {
    auto type = cast<MemRefType>(buffer.getType());
    if (auto barriers = buffer.getDefiningOp<AllocBarriersOp>())
      return {*barriers.getOffset(),
              *barriers.getOffset() + type.getDimSize(0) * 8};
    auto alloc = buffer.getDefiningOp<AllocOp>();
    return {*alloc.getOffset(), *alloc.getOffset() + getSharedBytes(alloc)};
  }

  static bool shareBytes(Value viewA, Value viewB) {
    Value a = getBuffer(viewA), b = getBuffer(viewB);
    if (a == b)
      return true;
    if (!isShared(a) || !isShared(b))
      return false;
    auto [beginA, endA] = getBytes(a);
    auto [beginB, endB] = getBytes(b);
    return beginA < endB && beginB < endA;
  }

  /// True if coordinates in two views of one buffer are comparable: both are
  /// slots, as deep in the buffer as each other, or all of it.
  static bool areAlike(Value a, Value b) {
    return cast<MemRefType>(a.getType()).getRank() ==
           cast<MemRefType>(b.getType()).getRank();
  }

  bool mayMeet(const State &state, const Record &earlier,
               const Access &access) {
    Value a = earlier.access->buffer, b = access.buffer;
    if (!shareBytes(a, b))
      return false;
    if (getBuffer(a) != getBuffer(b))
      return true;
    std::optional<int64_t> slot = getSlotNumber(state, b);
    if (slot && earlier.slot && *slot != *earlier.slot)
      return false;
    return !areAlike(a, b) || !access.footprint ||
           earlier.trace.mayMeet(*access.footprint);
  }

  /// True if each byte that both touch is touched by one thread only.
  bool isOneThread(const State &state, const Record &earlier,
                   const Access &access) {
    const Access &before = *earlier.access;
    if (earlier.role != role)
      return false;
    if (before.participants == Participants::One &&
        access.participants == Participants::One)
      return before.proxy == access.proxy;
    if (before.proxy != Proxy::Generic || access.proxy != Proxy::Generic ||
        access.completion != Completion::AtOp ||
        getBuffer(before.buffer) != getBuffer(access.buffer) ||
        earlier.slot != getSlotNumber(state, access.buffer) ||
        !areAlike(before.buffer, access.buffer) || !access.footprint)
      return false;
    bool isReadBack = before.writes && !access.writes &&
                      before.participants == Participants::Each &&
                      access.participants == Participants::Each &&
                      earlier.trace.isSameElement(*access.footprint);
    return isReadBack || earlier.trace.hasSameOwners(*access.footprint);
  }

  void check(const State &state, const Record &earlier, Operation *op,
             const Access &access) {
    if (hasFailed || (!earlier.access->writes && !access.writes) ||
        !mayMeet(state, earlier, access))
      return;
    // The tensor core executes gemms on one accumulator in their order. It does
    // not have A, if that is in registers, wait for anything.
    bool isFragment = isInSpace(access.buffer, Space::Fragment);
    if (isFragment && access.completion == Completion::GemmGroup &&
        access.proxy == earlier.access->proxy)
      return;
    if (!earlier.isOver)
      return report(earlier, op, access, "nothing waits until it is complete");
    bool isProxyChange =
        isGenericWrite(earlier) && access.proxy == Proxy::Async;
    if (isProxyChange && !earlier.isVisible)
      return report(earlier, op, access,
                    "no fence and barrier show it to the async proxy");
    bool isKnown = (earlier.known & getOwn()) == getOwn();
    if (!isKnown && !isOneThread(state, earlier, access))
      return report(earlier, op, access,
                    earlier.role == role
                        ? "no barrier stands between them"
                        : "no phase of an mbarrier stands between the roles");
  }

  void report(const Record &earlier, Operation *op, const Access &access,
              StringRef why) {
    if (isTrial) {
      open.insert({{earlier.op, earlier.access}, {op, &access}});
      return;
    }
    InFlightDiagnostic diag =
        op->emitOpError(access.writes ? "writes" : "reads")
        << " memory that `" << earlier.op->getName() << "` "
        << (earlier.access->writes ? "writes" : "reads") << ", and " << why
        << "; this is a defect of the compiler";
    diag.attachNote(earlier.op->getLoc()) << "the earlier access is here";
    hasFailed = true;
  }

  /// Shared memory must be left alone when the block ends.
  void checkEnd(const State &state) {
    for (const Record &record : state.records) {
      if (hasFailed || record.isOver || !isShared(record.access->buffer))
        continue;
      if (isTrial)
        open.insert({{record.op, record.access}, {nullptr, nullptr}});
      else
        fail(record.op,
             "may be under way in shared memory when the block ends");
    }
  }

  /// A wait that no state passes waits for ever.
  void checkWaits() {
    for (auto [op, passes] : waits)
      if (!passes && !hasFailed)
        fail(op, "waits for a phase that nothing completes");
  }

  void fail(Operation *op, StringRef what) {
    if (!isTrial)
      op->emitOpError(what) << "; this is a defect of the compiler";
    hasFailed = true;
  }

  gpu::GPUFuncOp kernel;
  DenseMap<Operation *, std::unique_ptr<SmallVector<Event, 4>>> events;
  RoleTwins twins;
  SetVector<Value> numbers; ///< values that may be known
  llvm::EquivalenceClasses<const void *> connected; ///< these, and what for
  DenseSet<Value> relevant; ///< those of `numbers` that this execution knows
  SmallVector<std::pair<Operation *, const Access *>> asynchronousOps;
  DenseSet<Operation *> asynchronous; ///< what is around them
  SmallVector<const Access *> asyncAccesses;
  bool isTrial = false; ///< of a part of the numbers: errors are kept back
  DenseSet<Pair> open;  ///< not in order by what this execution knows
  llvm::MapVector<Operation *, bool> waits;
  SmallVector<int64_t> roleThreads;
  int role = -1;               ///< that executes; -1 for the block
  unsigned everyone = 1;       ///< a bit for each role
  DenseSet<Operation *> joint; ///< loops and branches with phases inside
  DenseMap<Operation *, Operation *> leaders; ///< of ops executed together
  DenseMap<Value, int> waiters;               ///< the role that waits
  DenseMap<Operation *, std::unique_ptr<Access>> waitAccesses;
  int64_t maxSlots = 1;   ///< of any ring
  int64_t maxPending = 0; ///< groups that a wait leaves under way
  bool hasFailed = false;
};

struct VerifySyncPass : tl::impl::VerifySyncPassBase<VerifySyncPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(requirePlainLoops(kernel)) || failed(requireOffsets(kernel)) ||
          failed(SyncVerifier(kernel).run()))
        return signalPassFailure();
  }
};

} // namespace
