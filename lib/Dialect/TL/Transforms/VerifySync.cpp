//===- VerifySync.cpp - Prove that conflicting accesses are ordered -------===//
//
// Executes a kernel over abstract states. A state knows
//
// - as numbers: the values that choose slots of rings, mbarriers and parities;
//   which phase each mbarrier is in and who has arrived; how many iterations of
//   a pipelined loop are left, as a range, which conditions on the loop's index
//   cut in two;
// - as records: the accesses that have happened and are not yet known to be
// over
//   by every thread that could come into conflict with them.
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
// What is proven is as good as the events. Waits that would block in a state
// end it: no thread gets further there.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Footprints.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/Analysis/RegionFlow.h"
#include "tl/Dialect/TL/Analysis/Requirements.h"
#include "tl/Dialect/TL/Analysis/ThreadDependence.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace tl {
#define GEN_PASS_DEF_VERIFYSYNCPASS
#include "tl/Dialect/TL/Transforms/Passes.h.inc"
} // namespace tl

using namespace mlir;
using namespace tl;

/// More states of one loop than any pipeline has: numbers that do not repeat.
static constexpr size_t kMaxStates = 1024;

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {

/// An access that has happened.
struct Record {
  Operation *op;
  const Access *access;
  Trace trace;
  std::optional<int64_t> slot; ///< none: any, or the whole buffer
  bool isOver;                 ///< for the threads that took part
  bool isKnown = false;        ///< to all threads that it is over
  bool isFenced = false;       ///< by the threads that took part
  bool isVisible = false;      ///< to the async proxy of any thread
  int64_t groups = 0;          ///< closed since, as far as waits tell
  /// The barrier's index and the parity of the phase that it is part of.
  std::optional<std::pair<int64_t, int64_t>> phase = std::nullopt;

  bool operator==(const Record &) const = default;
};

/// Numbers from `low` to `high`.
struct Range {
  int64_t low = INT64_MIN, high = INT64_MAX;

  bool isEmpty() const { return low > high; }
  Range plus(int64_t amount) const {
    return {low == INT64_MIN ? low : low + amount,
            high == INT64_MAX ? high : high + amount};
  }
  bool operator==(const Range &) const = default;
};

/// One `mbarrier`: the parity of its current phase, and the arrivals on it.
struct Phase {
  int64_t parity = 0, arrivals = 0;
  bool operator==(const Phase &) const = default;
};

/// What is the same in all executions that a state stands for.
struct Numbers {
  std::map<const void *, int64_t> values;
  std::map<std::pair<const void *, int64_t>, Phase> phases;
  /// How much the first value is greater than the second.
  std::map<std::pair<const void *, const void *>, Range> differences;
  /// How many iterations of a loop are to come, this one included.
  std::map<Operation *, Range> left;

  bool operator==(const Numbers &) const = default;
};

struct State {
  Numbers numbers;
  std::vector<Record> records;
};

/// States, no two of which have the same numbers.
class States {
public:
  /// The state that `state` became part of, if that says something new.
  State *add(State state) {
    for (State &own : states) {
      if (own.numbers != state.numbers)
        continue;
      bool isNew = false;
      for (Record &record : state.records)
        if (!llvm::is_contained(own.records, record)) {
          own.records.push_back(std::move(record));
          isNew = true;
        }
      return isNew ? &own : nullptr;
    }
    states.push_back(std::move(state));
    return &states.back();
  }
  void add(States &&other) {
    for (State &state : other.states)
      add(std::move(state));
  }

  std::vector<State> states;
};

/// `base` (null for none) plus `constant`.
struct Linear {
  Value base;
  int64_t constant = 0;
};

} // namespace

static Linear getLinear(Value value) {
  int64_t constant = 0;
  while (true) {
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number)))
      return {Value(), constant + number.getSExtValue()};
    auto sum = value.getDefiningOp<arith::AddIOp>();
    if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&number)))
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
  explicit SyncVerifier(gpu::GPUFuncOp kernel) : kernel(kernel) {}

  LogicalResult run() {
    if (failed(checkBarriers()) || failed(checkDivergence()))
      return failure();
    findRelevant();
    States start;
    start.add(State());
    execute(kernel.getBody().front(), start);
    for (State &state : start.states)
      checkEnd(state);
    checkWaits();
    return failure(hasFailed);
  }

private:
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
      bool syncs = llvm::any_of(getEventsOf(inner), [](const Event &event) {
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

  /// Finds the values that are kept as numbers, the branches whose conditions
  /// matter, and the accesses through the async proxy.
  void findRelevant() {
    SetVector<Value> worklist;
    kernel.walk([&](Operation *op) {
      if (auto slot = dyn_cast<SlotOp>(op)) {
        worklist.insert(slot.getIndex());
        maxSlots = std::max(
            maxSlots,
            cast<MemRefType>(slot.getSource().getType()).getDimSize(0));
      }
      if (!isStep(*op))
        return;
      for (const Event &event : getEventsOf(op)) {
        if (auto *access = std::get_if<Access>(&event)) {
          if (access->proxy == Proxy::Async)
            asyncAccesses.push_back(access);
          if (access->barrierIndex)
            worklist.insert(access->barrierIndex);
          if (access->completion != Completion::AtOp)
            markParents(op);
          continue;
        }
        const Sync &sync = std::get<Sync>(event);
        maxPending = std::max(maxPending, sync.pending);
        for (Value value : {sync.index, sync.parity})
          if (value)
            worklist.insert(value);
      }
    });
    for (size_t i = 0; i < worklist.size(); ++i)
      addSources(worklist[i], worklist);
    relevant.insert(worklist.begin(), worklist.end());
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
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        executeEach(states,
                    [&](State &state) { return executeFor(loop, state); });
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        executeEach(states,
                    [&](State &state) { return executeIf(branch, state); });
      } else if (!isStep(op)) {
        executeEach(states,
                    [&](State &state) { return executeFlow(&op, state); });
      } else {
        llvm::erase_if(states.states,
                       [&](State &state) { return !executeStep(&op, state); });
      }
    }
  }

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
  States executeFor(scf::ForOp loop, State &start) {
    bool counts =
        asynchronous.contains(loop) && getConstantIntValue(loop.getStep()) == 1;
    Region &body = loop.getRegion();
    auto getLeft = [&](State &state) -> Range & {
      return state.numbers.left[loop];
    };
    States heads, after;
    if (counts)
      getLeft(start) =
          limit(getDifference(start, getLinear(loop.getUpperBound()),
                              getLinear(loop.getLowerBound())));
    pass(start, loop.getInits(), loop.getRegionIterArgs(), nullptr);
    heads.add(start);
    std::vector<Numbers> worklist = {heads.states.front().numbers};
    while (!worklist.empty() && !hasFailed) {
      Numbers next = worklist.back();
      worklist.pop_back();
      State head = *llvm::find_if(heads.states, [&](const State &state) {
        return state.numbers == next;
      });
      if (heads.states.size() > kMaxStates) {
        fail(loop.emitOpError("chooses slots by values that do not repeat"));
        break;
      }
      if (!counts || getLeft(head).low <= 0) {
        State done = head;
        done.numbers.left.erase(loop);
        SmallVector<Value> arguments(loop.getRegionIterArgs());
        pass(done, arguments, loop.getResults(), &body);
        for (Record &record : done.records)
          record.trace.leave(body);
        after.add(std::move(done));
      }
      if (counts) {
        getLeft(head).low = std::max<int64_t>(getLeft(head).low, 1);
        if (getLeft(head).isEmpty())
          continue;
      }
      States inside;
      inside.add(std::move(head));
      execute(body.front(), inside);
      for (State &state : inside.states) {
        pass(state, loop.getYieldedValues(), loop.getRegionIterArgs(), &body);
        if (counts)
          getLeft(state) = limit(getLeft(state).plus(-1));
        std::optional<int64_t> step = getConstantIntValue(loop.getStep());
        for (Record &record : state.records)
          record.trace.nextIteration(
              body, step && *step > 0 ? loop.getInductionVar() : Value(),
              step.value_or(0));
        dropTwins(state);
        if (State *changed = heads.add(std::move(state)))
          worklist.push_back(changed->numbers);
      }
    }
    return after;
  }

  /// Iteration counts beyond what a pipeline looks ahead are all alike.
  Range limit(Range left) const {
    int64_t enough = maxSlots + 1;
    if (left.high > enough)
      left = {std::min(left.low, enough), INT64_MAX};
    left.low = std::max<int64_t>(left.low, 0);
    return left;
  }

  /// `a` - `b`, as far as it is known.
  Range getDifference(State &state, Linear a, Linear b) {
    if (a.base == b.base)
      return {a.constant - b.constant, a.constant - b.constant};
    auto it = state.numbers.differences.find(
        {a.base.getAsOpaquePointer(), b.base.getAsOpaquePointer()});
    Range range = it == state.numbers.differences.end() ? Range() : it->second;
    return range.plus(a.constant - b.constant);
  }

  /// One or both of the branches.
  States executeIf(scf::IfOp branch, State &start) {
    States after;
    std::optional<int64_t> number = getNumber(start, branch.getCondition());
    for (bool holds : {true, false}) {
      State state = start;
      if ((number && *number != holds) ||
          (!number && asynchronous.contains(branch) &&
           !assume(state, branch.getCondition(), holds)))
        continue;
      Region &region = holds ? branch.getThenRegion() : branch.getElseRegion();
      States inside;
      inside.add(std::move(state));
      if (!region.empty()) {
        execute(region.front(), inside);
        for (State &end : inside.states) {
          pass(end, region.front().getTerminator()->getOperands(),
               branch.getResults(), &region);
          for (Record &record : end.records)
            record.trace.leave(region);
        }
      }
      after.add(std::move(inside));
    }
    return after;
  }

  /// Takes for granted that `condition` is or is not true, as far as that says
  /// something. False if it cannot be.
  bool assume(State &state, Value condition, bool holds) {
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return true;
    Linear low = getLinear(compare.getLhs()),
           high = getLinear(compare.getRhs());
    int64_t least; // of high - low, if the condition is true
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::slt:
      least = 1;
      break;
    case arith::CmpIPredicate::sle:
      least = 0;
      break;
    case arith::CmpIPredicate::sgt:
      std::swap(low, high);
      least = 1;
      break;
    case arith::CmpIPredicate::sge:
      std::swap(low, high);
      least = 0;
      break;
    default:
      return true;
    }
    if (low.base == high.base)
      return (high.constant - low.constant >= least) == holds;
    // What is known is of the values without their constants.
    int64_t shift = high.constant - low.constant;
    Range &known = getKnown(state, low.base, high.base, shift);
    Range range = known.plus(shift);
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
  Range &getKnown(State &state, Value low, Value high, int64_t &shift) {
    if (auto index = dyn_cast_or_null<BlockArgument>(low))
      if (auto loop = dyn_cast<scf::ForOp>(index.getOwner()->getParentOp())) {
        Linear upper = getLinear(loop.getUpperBound());
        auto left = state.numbers.left.find(loop);
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
  States executeFlow(Operation *op, State &start) {
    SmallVector<FlowEdge> edges = getFlow(op);
    llvm::SmallMapVector<Region *, States, 2> heads;
    States after;
    SmallVector<std::pair<Region *, Numbers>> worklist;
    auto follow = [&](Region *from, const State &state) {
      for (const FlowEdge &edge : edges) {
        if (edge.from != from)
          continue;
        State next = state;
        pass(next, edge.values, edge.arguments, edge.from);
        for (Record &record : next.records) {
          if (edge.from && edge.to)
            record.trace.nextIteration(*edge.to, Value(), 0);
          else if (edge.from)
            for (Region &region : op->getRegions())
              record.trace.leave(region);
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
        fail(op->emitOpError("chooses slots by values that do not repeat"));
        break;
      }
      States inside;
      inside.add(*llvm::find_if(known.states, [&](const State &state) {
        return state.numbers == numbers;
      }));
      execute(region->front(), inside);
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
                  .isOver = isOver};
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
        record.isKnown |= record.isOver;
        record.isVisible |= record.isFenced;
      }
      break;
    case Sync::Kind::Fence:
      for (Record &record : state.records)
        record.isFenced |=
            record.isOver && (sync.device || isShared(record.access->buffer));
      break;
    case Sync::Kind::Commit:
      for (Record &record : state.records)
        if (record.access->completion == sync.group && !record.isOver)
          record.groups = std::min(record.groups + 1, maxPending + 1);
      break;
    case Sync::Kind::WaitGroups:
      for (Record &record : state.records)
        record.isOver |= isWaitedFor(record, sync);
      break;
    case Sync::Kind::Arrive:
      if (std::optional<int64_t> index = getNumber(state, sync.index))
        ++getPhase(state, sync.barrier, *index).arrivals;
      break;
    case Sync::Kind::WaitPhase:
      if (!waitPhase(op, sync, state))
        return false;
      break;
    }
    llvm::erase_if(state.records,
                   [&](const Record &record) { return isHarmless(record); });
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
          record.access->barrier == sync.barrier)
        record.isOver = record.isKnown = true;
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
    if (!record.isKnown || !isGenericWrite(record) || record.isVisible)
      return record.isKnown;
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
    bool areAlike = bool(getSlot(a)) == bool(getSlot(b));
    return !areAlike || !access.footprint ||
           earlier.trace.mayMeet(*access.footprint);
  }

  /// True if each byte that both touch is touched by one thread only.
  bool isOneThread(const State &state, const Record &earlier,
                   const Access &access) {
    const Access &before = *earlier.access;
    if (before.participants == Participants::One &&
        access.participants == Participants::One)
      return before.proxy == access.proxy;
    if (before.proxy != Proxy::Generic || access.proxy != Proxy::Generic ||
        access.completion != Completion::AtOp ||
        getBuffer(before.buffer) != getBuffer(access.buffer) ||
        earlier.slot != getSlotNumber(state, access.buffer) ||
        !access.footprint)
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
    if (!earlier.isKnown && !isOneThread(state, earlier, access))
      return report(earlier, op, access, "no barrier stands between them");
  }

  void report(const Record &earlier, Operation *op, const Access &access,
              StringRef why) {
    InFlightDiagnostic diag =
        op->emitOpError(access.writes ? "writes" : "reads")
        << " memory that `" << earlier.op->getName() << "` "
        << (earlier.access->writes ? "writes" : "reads") << ", and " << why
        << "; this is a defect of the compiler";
    diag.attachNote(earlier.op->getLoc()) << "the earlier access is here";
    fail(std::move(diag));
  }

  /// Shared memory must be left alone when the block ends.
  void checkEnd(const State &state) {
    for (const Record &record : state.records)
      if (!hasFailed && !record.isOver && isShared(record.access->buffer))
        fail(record.op->emitOpError("may be under way in shared memory when "
                                    "the block ends; this is a defect of the "
                                    "compiler"));
  }

  /// A wait that no state passes waits for ever.
  void checkWaits() {
    for (auto [op, passes] : waits)
      if (!passes && !hasFailed)
        fail(op->emitOpError("waits for a phase that nothing completes; this "
                             "is a defect of the compiler"));
  }

  void fail(InFlightDiagnostic &&) { hasFailed = true; }

  gpu::GPUFuncOp kernel;
  DenseMap<Operation *, std::unique_ptr<SmallVector<Event, 4>>> events;
  DenseSet<Value> relevant;
  DenseSet<Operation *> asynchronous;
  SmallVector<const Access *> asyncAccesses;
  llvm::MapVector<Operation *, bool> waits;
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
