//===- SyncFlow.cpp - Executing control flow over states ------------------===//

#include "SyncFlow.h"
#include "SyncStep.h"

#include "tl/Dialect/TL/Analysis/RegionFlow.h"
#include "tl/Dialect/TL/IR/Pipes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tl;
using namespace tl::sync;

/// More states of one loop than any pipeline has: numbers that do not repeat.
static constexpr size_t kMaxStates = 1024;
static constexpr StringRef kTooManyStates =
    "has more states of slots and phases than can be looked at";

SyncFlow::SyncFlow(SyncProof &proof) : proof(proof) {
  for (auto [op, access] : proof.facts.asynchronousOps)
    if (isTold(access))
      for (Operation *parent = op->getParentOp(); parent != proof.facts.kernel;
           parent = parent->getParentOp())
        asynchronous.insert(parent);
}

/// True if the execution knows where or when `access` happens, as far as
/// anyone does.
bool SyncFlow::isTold(const Access *access) const {
  Value ring = getSlot(access->buffer) ? getBuffer(access->buffer) : Value();
  bool hasPart = ring || access->barrier;
  return !hasPart || (ring && proof.isTold(ring)) ||
         (access->barrier && proof.isTold(access->barrier));
}

void SyncFlow::execute(Block &block, int role, States &states) {
  for (Operation &op : block) {
    if (proof.hasFailed())
      return;
    if (!isa<RoleOp>(op))
      executeOp(&op, role, states);
    else if (!isa_and_nonnull<RoleOp>(op.getPrevNode()))
      executeRoles(cast<RoleOp>(op), states);
    if (op.getNumRegions() != 0)
      dropDead(&op, states);
  }
}

void SyncFlow::executeOp(Operation *op, int role, States &states) {
  if (!isStep(op))
    return executeFlow({op}, role, states);
  llvm::erase_if(states.states, [&](State &state) {
    return !SyncStep(proof, op, role, state).execute();
  });
}

//===----------------------------------------------------------------------===//
// What is no longer asked for
//===----------------------------------------------------------------------===//

/// True if results of `op` are numbers of their own: whoever asks for them does
/// not look at what they were made of, as with views, sums and conditions.
static bool makesNumbers(Operation *op) {
  return op->getNumRegions() != 0 || isa<RotateOp, NextPhaseOp>(op);
}

/// The ops that have to do with the value, directly or by what is made of it: a
/// view, or a condition that is looked through when a branch asks for it.
ArrayRef<Operation *> SyncFlow::findUsers(Value value) {
  auto [place, isNew] = users.try_emplace(value);
  if (!isNew)
    return place->second;
  SetVector<Value> made;
  made.insert(value);
  SmallVector<Operation *> found;
  for (size_t i = 0; i < made.size(); ++i)
    for (Operation *user : made[i].getUsers()) {
      if (!makesNumbers(user))
        made.insert_range(user->getResults());
      found.push_back(user);
    }
  return users[value] = std::move(found);
}

/// True if what is in `block` may be executed again before control comes to the
/// start of `scope`, which is around it.
static bool mayRepeat(Block *block, Block *scope) {
  for (; block != scope; block = block->getParentOp()->getBlock())
    if (!isa<scf::IfOp, RoleOp>(block->getParentOp()))
      return true;
  return false;
}

/// True if `user` may be executed after `op`, or with `inside` from where
/// control has passed into the regions of `op` on, before control comes to the
/// start of `scope` again. An op with regions looks at its operands before it
/// executes these.
static bool mayFollow(Operation *op, bool inside, Operation *user,
                      Block *scope) {
  for (Operation *own = op;; own = own->getParentOp()) {
    Operation *other = own->getBlock()->findAncestorOpInBlock(*user);
    if (other && other != own)
      // Roles run at the same time.
      return own->isBeforeInBlock(other) || isa<RoleOp>(own) ||
             mayRepeat(own->getBlock(), scope);
    if (other && other != user && (own == op ? inside : !isa<scf::IfOp>(own)))
      return true;
    if (other)
      return mayRepeat(own->getBlock(), scope);
  }
}

/// True if nothing asks for the value any more behind `op`, or with `inside`
/// from where control has passed into the regions of `op` on.
bool SyncFlow::isDead(Operation *op, bool inside, const void *pointer) {
  Value value = Value::getFromOpaquePointer(pointer);
  Block *scope = value.getParentBlock();
  if (!scope->findAncestorOpInBlock(*op))
    return false;
  return llvm::none_of(findUsers(value), [&](Operation *user) {
    return mayFollow(op, inside, user, scope);
  });
}

/// Forgets the numbers that nothing asks for behind `op`, by which states would
/// differ. The phases of pipes that follow each other would be multiplied.
void SyncFlow::dropDead(Operation *op, States &states) {
  if (states.states.size() < 2)
    return;
  States rest;
  for (State &state : states.states) {
    Numbers &numbers = state.numbers;
    auto drop = [&](const void *pointer) {
      return pointer && isDead(op, /*inside=*/false, pointer);
    };
    auto dropNamed = [&](const auto &entry) { return drop(entry.first.first); };
    std::erase_if(numbers.values,
                  [&](const auto &entry) { return drop(entry.first); });
    std::erase_if(numbers.phases, dropNamed);
    std::erase_if(numbers.turns, dropNamed);
    std::erase_if(numbers.differences, [&](const auto &entry) {
      return drop(entry.first.first) || drop(entry.first.second);
    });
    rest.add(std::move(state));
  }
  states = std::move(rest);
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void SyncFlow::executeRoles(RoleOp first, States &states) {
  SmallVector<Block *> blocks;
  for (Operation *next = first; isa<RoleOp>(next); next = next->getNextNode())
    blocks.push_back(&next->getRegion(0).front());
  executeTogether(blocks, states);
}

/// The blocks of all roles, null for one that has none: each goes as far as its
/// next loop or branch that has to do with phases, and all go through these
/// together.
void SyncFlow::executeTogether(ArrayRef<Block *> blocks, States &states) {
  SmallVector<Operation *> next = llvm::map_to_vector(
      blocks, [](Block *block) { return block ? &block->front() : nullptr; });
  while (!proof.hasFailed()) {
    SmallVector<Operation *> ops;
    for (auto [role, op] : llvm::enumerate(next)) {
      for (; op && !proof.facts.joint.contains(op) && !proof.hasFailed();
           op = op->getNextNode()) {
        executeOp(op, role, states);
        if (op->getNumRegions() != 0)
          dropDead(op, states);
      }
      if (op)
        ops.push_back(op);
    }
    if (ops.empty() || proof.hasFailed())
      return;
    if (ops.size() != next.size() || !proof.facts.twins.areTwins(ops))
      return proof.fail(ops.front(),
                        "has to do with phases of mbarriers, and what other "
                        "roles do at the same time is not known to go the same "
                        "ways");
    for (Operation *op : ops)
      leaders[op] = ops.front();
    executeFlow(ops, kBlock, states);
    for (Operation *op : ops)
      dropDead(op, states);
    for (Operation *&op : next)
      op = op->getNextNode();
  }
}

//===----------------------------------------------------------------------===//
// Structured control flow
//===----------------------------------------------------------------------===//

void SyncFlow::executeFlow(Ops ops, int role, States &states) {
  if (isa<scf::ForOp>(ops.front())) {
    for (const Execution &done : executed[ops.front()])
      if (done.starts == states) {
        states = done.after;
        return;
      }
    States starts = states;
    states = executeFor(ops, role, states);
    executed[ops.front()].push_back({std::move(starts), states});
    return;
  }
  states = isa<scf::IfOp>(ops.front()) ? executeIf(ops, role, states)
                                       : executeOther(ops, role, states);
}

/// Region `number` of each of `ops`.
void SyncFlow::executeRegions(Ops ops, unsigned number, int role,
                              States &states) {
  SmallVector<Block *> blocks = llvm::map_to_vector(ops, [&](Operation *op) {
    Region &region = op->getRegion(number);
    return region.empty() ? nullptr : &region.front();
  });
  if (blocks.size() > 1)
    return executeTogether(blocks, states);
  if (blocks.front())
    execute(*blocks.front(), role, states);
}

/// Drops what is known of the values of a region.
static void forget(State &state, Region &region) {
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

/// Hands values over an edge of control flow and forgets those of `left`.
void SyncFlow::pass(State &state, ValueRange values, ValueRange arguments,
                    Region *left) const {
  SmallVector<std::optional<int64_t>> numbers;
  for (Value value : values)
    numbers.push_back(proof.getNumber(state, value));
  if (left)
    forget(state, *left);
  for (auto [argument, number] : llvm::zip(arguments, numbers))
    proof.setNumber(state, argument, number);
}

/// Records that have become equal by what is forgotten.
static void dropTwins(State &state) {
  std::vector<Record> records;
  for (Record &record : state.records)
    if (!llvm::is_contained(records, record))
      records.push_back(std::move(record));
  state.records = std::move(records);
}

/// How many iterations of loops are to come, if that matters.
std::optional<Interval> SyncFlow::countIterations(Ops ops,
                                                  const State &start) const {
  auto loop = cast<scf::ForOp>(ops.front());
  bool matters = llvm::any_of(
      ops, [&](Operation *op) { return asynchronous.contains(op); });
  if (!matters || getConstantIntValue(loop.getStep()) != 1 ||
      loop.getUnsignedCmp())
    return std::nullopt;
  return limit(
      getDifference(start, loop.getUpperBound(), loop.getLowerBound()));
}

/// Iteration counts beyond what a pipeline looks ahead are all alike.
Interval SyncFlow::limit(Interval left) const {
  int64_t enough = proof.facts.maxSlots + 1;
  if (left.high > enough)
    left = {std::min(left.low, enough), INT64_MAX};
  left.low = std::max<int64_t>(left.low, 0);
  return left;
}

/// Lets `state`, at the head of `loops`, go on behind them.
void SyncFlow::leave(Ops loops, State &state) const {
  state.numbers.left.erase(loops.front());
  for (Operation *op : loops) {
    auto loop = cast<scf::ForOp>(op);
    SmallVector<Value> arguments(loop.getRegionIterArgs());
    pass(state, arguments, loop.getResults(), &loop.getRegion());
    for (Record &record : state.records)
      record.trace.leave(loop.getRegion());
  }
}

/// Lets `state`, at the end of an iteration of `loops`, begin the next one.
void SyncFlow::goOn(Ops loops, State &state) const {
  std::optional<int64_t> step =
      getConstantIntValue(cast<scf::ForOp>(loops.front()).getStep());
  for (Operation *op : loops) {
    auto loop = cast<scf::ForOp>(op);
    pass(state, loop.getYieldedValues(), loop.getRegionIterArgs(),
         &loop.getRegion());
    for (Record &record : state.records)
      record.trace.nextIteration(loop.getRegion(),
                                 step && *step > 0 ? loop.getInductionVar()
                                                   : Value(),
                                 step.value_or(0));
  }
  dropTwins(state);
}

/// Those of `states` that have one of `numbers`.
static States pick(const States &states, ArrayRef<Numbers> numbers) {
  States picked;
  for (const State &state : states.states)
    if (llvm::is_contained(numbers, state.numbers))
      picked.states.push_back(state);
  return picked;
}

/// The states behind loops, of which a state counts the iterations to come. All
/// states go through together, round by round: they tend to meet at the heads,
/// of this loop and of those in it. What happens to a record depends on no
/// other one, so that to join states there loses nothing.
States SyncFlow::executeFor(Ops ops, int role, States &starts) {
  Operation *loop = ops.front();
  States heads, after;
  for (State &start : starts.states) {
    if (std::optional<Interval> count = countIterations(ops, start))
      start.numbers.left[loop] = *count;
    for (Operation *op : ops) {
      auto each = cast<scf::ForOp>(op);
      pass(start, each.getInits(), each.getRegionIterArgs(), nullptr);
      // Else each iteration would be executed for every way to begin.
      std::erase_if(start.numbers.values, [&](const auto &entry) {
        return isDead(op, /*inside=*/true, entry.first);
      });
    }
    heads.add(std::move(start));
  }
  size_t mostStates = kMaxStates * starts.states.size();
  States round = heads;
  while (!round.states.empty() && !proof.hasFailed()) {
    States inside;
    for (State &head : round.states) {
      auto left = head.numbers.left.find(loop);
      bool isCounted = left != head.numbers.left.end();
      if (!isCounted || left->second.low <= 0) {
        State done = head;
        leave(ops, done);
        after.add(std::move(done));
      }
      if (isCounted) {
        left->second.low = std::max<int64_t>(left->second.low, 1);
        if (left->second.isEmpty())
          continue;
      }
      inside.add(std::move(head));
    }
    if (!inside.states.empty())
      executeRegions(ops, 0, role, inside);
    std::vector<Numbers> changed;
    for (State &state : inside.states) {
      if (auto left = state.numbers.left.find(loop);
          left != state.numbers.left.end())
        left->second = limit(left->second.plus(-1));
      goOn(ops, state);
      if (State *head = heads.add(std::move(state)))
        changed.push_back(head->numbers);
    }
    if (heads.states.size() > mostStates) {
      proof.fail(loop, kTooManyStates);
      break;
    }
    round = pick(heads, changed);
  }
  return after;
}

/// One or both of the branches.
States SyncFlow::executeIf(Ops ops, int role, States &starts) {
  Value condition = cast<scf::IfOp>(ops.front()).getCondition();
  bool matters = llvm::any_of(
      ops, [&](Operation *op) { return asynchronous.contains(op); });
  States after;
  for (bool holds : {true, false}) {
    States inside;
    for (State state : starts.states) {
      std::optional<int64_t> number = proof.getNumber(state, condition);
      if (number ? *number == holds
                 : !matters || assume(state, leaders, condition, holds))
        inside.add(std::move(state));
    }
    if (inside.states.empty())
      continue;
    unsigned taken = holds ? 0 : 1;
    executeRegions(ops, taken, role, inside);
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

/// Any other control flow: all of its edges are taken.
States SyncFlow::executeOther(Ops ops, int role, States &starts) {
  Operation *op = ops.front();
  // Ops of one kind have the same edges, in one order.
  SmallVector<SmallVector<FlowEdge>> flows =
      llvm::map_to_vector(ops, [](Operation *each) { return getFlow(each); });
  llvm::SmallMapVector<Region *, States, 2> heads;
  States after;
  llvm::SmallMapVector<Region *, std::vector<Numbers>, 2> changed;
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
      else if (State *head = heads[edge.to].add(std::move(next)))
        changed[edge.to].push_back(head->numbers);
    }
  };
  for (const State &start : starts.states)
    follow(nullptr, start);
  size_t mostStates = kMaxStates * starts.states.size();
  while (!changed.empty() && !proof.hasFailed()) {
    auto [region, numbers] = std::move(changed.back());
    changed.pop_back();
    if (heads[region].states.size() > mostStates) {
      proof.fail(op, kTooManyStates);
      break;
    }
    States inside = pick(heads[region], numbers);
    executeRegions(ops, region->getRegionNumber(), role, inside);
    for (const State &state : inside.states)
      follow(region, state);
  }
  return after;
}
