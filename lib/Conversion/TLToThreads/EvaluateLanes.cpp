//===- EvaluateLanes.cpp - All iterations of a thread at once -------------===//
//
// Every value of the body becomes a vector with one lane for each iteration of
// the thread, in the order of the loop's layout, so that a fragment with the
// same layout is read and written as the vector it already is. Arithmetic on
// indices is kept as scalars too, one for each group of neighbouring lanes,
// from which addresses are made. A variable of the body is a slot that holds
// one vector for each of its elements. A loop may have more iterations than
// registers unless it goes through fragments, which are in registers: it is cut
// into rounds of a few vectors each, or of one where the body is long.
//
// Ops are done in program order, each for all lanes, which no iteration can
// tell from its own order: it sees its own writes, and those of others only in
// a race. What else must hold, and what checks it:
//
// - A round is a loop's body, written once for all rounds: it reads registers
//   only that are the same ones in every round, and writes none
//   (`readsTheSameIn`).
// - A lane that is off touches no memory: every access stands behind the lane's
//   guard (`getLaneGuard`), which joins the conditions around it, the padding
//   of the layout and, in device memory, the bounds.
// - A lane that is off does not trap: it divides by one, and calls no function
//   of a user's source (`evaluateElementwise`).
// - One access for several lanes: their indices are neighbours in the last
//   dimension and equal in the others (slopes of `ParallelBody`); the first of
//   them is a multiple of the width, as are the strides, the extent of a row
//   and the base (`ThreadLowering::getAccessWidth`); no condition tells them
//   apart (`ParallelBody::countReachedTogether`), so that the guard of the
//   first of them is that of all. Where the index is a quotient (`W[n, j //
//   2]`), as many lanes as the divisor read one element: groups begin at
//   multiples of it
//   (`beginsAtMultiples`).
// - What neighbours have in common (a slope of zero) is a scalar for each of
//   their groups. Groups share it if their loop indices agree, of those that
//   the value depends on, or whether its op runs (`evaluateJointly`). So what a
//   row says of itself is loaded and computed once, and addresses can be made
//   of it (`T[ids[i], j]`).
// - Where an index is moved to, and whether it is inside of a buffer, is worked
//   out once and remembered in the region where that was, and in those inside
//   of it: its value is seen there (`remember`, `evaluateInto`).
// - What is computed once for all lanes gives the same in all of them, and may
//   be done although some of them are off (`ParallelBody::isUniform`).
// - Threads that run copies of the same iterations write the same values, since
//   all that they read is the same. Memory that the body reads back is not,
//   once one of them has written it, and what it changes twice is not the same
//   in between: then one writes, and block barriers keep what is read back by
//   the copies apart from what is written (`orderCopies`).
// - An atomic operation is done once for each iteration: by the lane, behind
//   its guard, of the one copy that runs (`lowerParallel`). Sums of neighbours
//   are one operation under the conditions of one access for several lanes; or
//   if an iteration does them one after the other, with nothing between them
//   that could see that the first ones are late (`findNeighbours`).
//
//===----------------------------------------------------------------------===//

#include "ParallelBody.h"

#include "tl/Dialect/TL/Analysis/FragmentAccess.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/Calls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopedHashTable.h"
#include <map>
#include <numeric>

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

/// Loads of vectors that one round has in flight, and vectors of each side that
/// it has at least; and registers of what is loaded and stored as it is, of
/// which narrow loads fill one each.
static constexpr int64_t kRoundLoads = 8, kRoundVectors = 4,
                         kRoundRegisters = 32;
/// No access is wider than 16 bytes.
static constexpr int64_t kMaxGroup = 16;
/// Instructions that the lanes of one round make, about: so many keep a thread
/// busy, and more only take time to compile.
static constexpr int64_t kRoundInstructions = 1024;

/// The bytes of the widest element that the body reads or writes, a power of
/// two.
static int64_t getWidestElement(const ParallelBody &body) {
  int64_t bytes = 1;
  body.getLoop().getBody().walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp>(op)) {
      Value buffer = op->getOperand(isa<StoreOp>(op) ? 1 : 0);
      Type type = cast<MemRefType>(buffer.getType()).getElementType();
      bytes = std::max<int64_t>(bytes, type.getIntOrFloatBitWidth() / 8);
    }
  });
  return bytes;
}

/// True if the lanes of all rounds touch the same registers, and only read
/// them. Fails as `findRegisters` does.
static FailureOr<bool> readsTheSameIn(const Rounds &rounds,
                                      const ParallelBody &body,
                                      ThreadLowering &lowering) {
  if (rounds.getCount() == 1 || !body.touchesFragments())
    return true;
  if (body.writesFragments())
    return false;
  bool isSame = true;
  WalkResult walk = body.getLoop().getBody().walk([&](LoadOp load) {
    if (!isInSpace(load.getSource(), Space::Fragment))
      return WalkResult::advance();
    FailureOr<SmallVector<int64_t>> registers = findRegisters(
        load, body, lowering, load.getSource(), load.getIndices());
    if (failed(registers))
      return WalkResult::interrupt();
    ArrayRef<int64_t> all = *registers;
    isSame &= all.drop_back(rounds.getNumValues()) ==
              all.drop_front(rounds.getNumValues());
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return isSame;
}

/// The vectors of one round, of so many bytes: those of several loads are in
/// flight together. One load from device memory to shared memory has nothing
/// beside it that takes registers, and waits for memory once a round.
static int64_t getRoundVectors(const ParallelBody &body, int64_t bytes) {
  int64_t loads = 0, fromDevice = 0;
  body.getLoop().getBody().walk([&](LoadOp load) {
    loads += !isInSpace(load.getSource(), Space::Fragment);
    fromDevice += isInSpace(load.getSource(), Space::Global);
  });
  if (loads == 1 && fromDevice == 1 && !body.touchesFragments())
    return std::max(kRoundRegisters /
                        static_cast<int64_t>(llvm::divideCeil(bytes, 4)),
                    kRoundLoads);
  return std::max(kRoundLoads / std::max(loads, int64_t(1)), kRoundVectors);
}

FailureOr<Rounds> tl::chooseRounds(const ParallelBody &body,
                                   ThreadLowering &lowering) {
  const FragmentLayout &layout = body.getLayout();
  // Groups of lanes do not reach from round to round.
  int64_t unit = layout.contiguousValues(body.getLastDim()), vector = unit;
  // What lies side by side may be all of a thread's values: many vectors.
  if (unit > kMaxGroup) {
    unit = kMaxGroup;
    vector = kMaxGroup / getWidestElement(body);
  }
  int64_t bytes = vector * getWidestElement(body);
  int64_t lanes = std::max(getRoundVectors(body, bytes) * vector, unit);
  // A long body is busy with few lanes, but accesses stay as wide as they are.
  int64_t least = std::min(unit, kMaxGroup / getWidestElement(body));
  while (lanes % 2 == 0 && lanes / 2 >= least &&
         body.getWork() * lanes > kRoundInstructions)
    lanes /= 2;
  unit = std::gcd(unit, lanes);
  Rounds rounds(layout, lanes, unit);
  FailureOr<bool> isRepeated = readsTheSameIn(rounds, body, lowering);
  if (failed(isRepeated))
    return failure();
  return *isRepeated ? rounds : Rounds(layout, layout.numValues(), unit);
}

//===----------------------------------------------------------------------===//
// Sums of neighbours in one iteration
//===----------------------------------------------------------------------===//

/// True if one instruction may add for several: nobody asks what was there, and
/// no order holds other accesses back.
static bool isPlainSum(AtomicOp atomic) {
  return atomic.getKind() == AtomicKind::Add && atomic.getOld().use_empty() &&
         atomic.getOrder() == MemoryOrder::Relaxed &&
         isInSpace(atomic.getTarget(), Space::Global) &&
         !atomic.getIndices().empty();
}

/// `index` as a value and a constant that is added to it.
static std::pair<Value, int64_t> splitSum(Value index) {
  APInt constant;
  auto sum = index.getDefiningOp<arith::AddIOp>();
  if (sum && matchPattern(sum.getRhs(), m_ConstantInt(&constant)) &&
      constant.isSignedIntN(32))
    return {sum.getLhs(), constant.getSExtValue()};
  return {index, 0};
}

/// True if `next` adds to the element behind the one that `sum` adds to.
static bool isNeighbour(AtomicOp sum, AtomicOp next) {
  auto [base, at] = splitSum(sum.getIndices().back());
  auto [nextBase, nextAt] = splitSum(next.getIndices().back());
  return sum.getTarget() == next.getTarget() &&
         sum.getScope() == next.getScope() && base == nextBase &&
         nextAt == at + 1 &&
         sum.getIndices().drop_back() == next.getIndices().drop_back();
}

/// The sums in `block` that may be done together, at the place of the last of
/// them: between them are only ops that touch no memory, and loads of other
/// buffers.
static SmallVector<SmallVector<AtomicOp>> findNeighbours(Block &block) {
  SmallVector<SmallVector<AtomicOp>> runs;
  bool isOpen = false;
  for (Operation &op : block) {
    if (auto atomic = dyn_cast<AtomicOp>(op); atomic && isPlainSum(atomic)) {
      if (isOpen && isNeighbour(runs.back().back(), atomic))
        runs.back().push_back(atomic);
      else
        runs.push_back({atomic});
      isOpen = true;
      continue;
    }
    auto load = dyn_cast<LoadOp>(op);
    if (load && isOpen)
      isOpen = !mayBeSame(getBuffer(load.getSource()),
                          getBuffer(runs.back().front().getTarget()));
    else if (!load && (op.getNumRegions() != 0 || !isMemoryEffectFree(&op)))
      isOpen = false;
  }
  llvm::erase_if(runs, [](auto &run) { return run.size() == 1; });
  return runs;
}

namespace {

/// How an index moves along the lanes of a group: `slope` times the quotient of
/// the lane's number and `divisor`.
struct Motion {
  int64_t slope, divisor;

  int64_t at(int64_t lane) const { return lane / divisor * slope; }
};

/// Evaluates the body of one parallel loop over a thread's lanes.
class LaneEvaluator {
public:
  LaneEvaluator(const ParallelBody &body, ThreadLowering &lowering,
                bool orderCopies)
      : body(body), loop(body.getLoop()), lowering(lowering),
        b(lowering.builder), layout(body.getLayout()),
        lastDim(body.getLastDim()) {
    if (orderCopies)
      firstCopy = lowering.getScope().isFirstCopy(layout);
    loop.getBody().walk([&](Block *block) {
      for (SmallVector<AtomicOp> &run : findNeighbours(*block))
        for (AtomicOp atomic : run)
          neighbours[atomic] = run;
    });
  }

  LogicalResult run() {
    FailureOr<Rounds> chosen = chooseRounds(body, lowering);
    if (failed(chosen))
      return failure();
    const Rounds &rounds = *chosen;
    numLanes = rounds.getNumValues();
    chooseGroups();
    OpBuilder::InsertionGuard saved(b);
    Remembered scope(known);
    beginIterations(body, lowering);
    Value round = rounds.getCount() > 1 ? rounds.openLoop(lowering) : Value();
    setCoordinates(rounds, round);
    return evaluate(loop.getBody().front(), /*mask=*/Value());
  }

private:
  /// An index and what is asked of it: where it is moved to, or whether it is
  /// inside along a dimension of a buffer.
  using Key = std::tuple<Value, Value, int64_t>;
  using Remembered = llvm::ScopedHashTableScope<Key, Value>;

  //===--------------------------------------------------------------------===//
  // Shape of the evaluation
  //===--------------------------------------------------------------------===//

  /// Lanes that stay together along the last dimension; one, if some address
  /// moves with the lane in a way that is not a constant step.
  void chooseGroups() {
    groupSize = std::min(layout.contiguousValues(lastDim), numLanes);
    groupSize = std::min(groupSize, kMaxGroup);
    loop.getBody().walk([&](Operation *op) {
      ValueRange indices;
      if (auto load = dyn_cast<LoadOp>(op))
        indices = load.getIndices();
      else if (auto store = dyn_cast<StoreOp>(op))
        indices = store.getIndices();
      else if (auto atomic = dyn_cast<AtomicOp>(op))
        indices = atomic.getIndices();
      for (Value index : indices)
        if (!getMotion(index))
          groupSize = 1;
        else if (!body.getSlope(index))
          hasQuotients = true;
    });
    numGroups = numLanes / groupSize;
  }

  /// True if the first lane of each group has a multiple of `divisor` as the
  /// last loop index.
  bool beginsAtMultiples(int64_t divisor) const {
    for (const layout::ThreadStep &step : layout.threadSteps(lastDim))
      if (step.step % divisor != 0)
        return false;
    for (int64_t value = 0, e = layout.numValues(); value < e;
         value += groupSize)
      if (layout.valueOffset(value)[lastDim] % divisor != 0)
        return false;
    return true;
  }

  /// None if the index moves in another way than by constant steps.
  std::optional<Motion> getMotion(Value index) const {
    if (std::optional<int64_t> slope = body.getSlope(index))
      return Motion{*slope, 1};
    std::optional<int64_t> divisor = body.getDivisor(index);
    if (!divisor || body.isPadded())
      return std::nullopt;
    if (*divisor % groupSize == 0 && beginsAtMultiples(groupSize))
      return Motion{0, 1};
    if (groupSize % *divisor == 0 && beginsAtMultiples(*divisor))
      return Motion{1, *divisor};
    return std::nullopt;
  }

  /// The loop's indices for every lane of the round.
  void setCoordinates(const Rounds &rounds, Value round) {
    SmallVector<Value> bases;
    for (int64_t d = 0; d <= lastDim; ++d) {
      Value base = lowering.getScope().getThreadOffset(layout, d);
      if (round)
        base = lowering.add(base, rounds.getOffset(lowering, round, d));
      bases.push_back(base);
      SmallVector<int64_t> offsets;
      for (int64_t lane = 0; lane < numLanes; ++lane)
        offsets.push_back(layout.valueOffset(lane)[d]);
      Value argument = loop.getBody().getArgument(d);
      SmallVector<Value> &perGroup = scalars[argument];
      for (int64_t group = 0; group < numGroups; ++group)
        perGroup.push_back(move(base, offsets[group * groupSize]));
      vectors[argument] = offsetVector(base, offsets);
    }
    goToIterations(body, lowering, bases);
    if (body.isPadded())
      makePaddingGuards();
  }

  Value offsetVector(Value base, ArrayRef<int64_t> offsets) {
    auto type = VectorType::get({numLanes}, b.getIndexType());
    Value splat = vector::BroadcastOp::create(b, lowering.loc, type, base);
    SmallVector<APInt> values = llvm::map_to_vector(
        offsets, [](int64_t offset) { return APInt(64, offset); });
    Value constant = arith::ConstantOp::create(
        b, lowering.loc, DenseElementsAttr::get(type, values));
    return arith::AddIOp::create(b, lowering.loc, splat, constant);
  }

  /// Lanes in the padding of the layout run no iteration.
  void makePaddingGuards() {
    for (int64_t lane = 0; lane < numLanes; ++lane) {
      Value inside;
      for (auto [d, extent] : llvm::enumerate(loop.getExtents())) {
        if (layout.getShape()[d] == extent)
          continue;
        Value position = getLaneIndex(loop.getBody().getArgument(d), lane);
        Value below =
            arith::CmpIOp::create(b, lowering.loc, arith::CmpIPredicate::ult,
                                  position, lowering.index(extent));
        inside = conjunction(inside, below);
      }
      padding.push_back(inside);
    }
    paddingMask = vector::FromElementsOp::create(
        b, lowering.loc, VectorType::get({numLanes}, b.getI1Type()), padding);
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  Value conjunction(Value a, Value other) {
    if (!a || !other)
      return a ? a : other;
    return arith::AndIOp::create(b, lowering.loc, a, other);
  }

  /// The vector with one lane for each iteration.
  Value getVector(Value value) {
    if (Value vector = vectors.lookup(value))
      return vector;
    Value uniform = getUniform(value);
    Value vector = uniform ? broadcast(uniform) : repeatInGroups(value);
    vectors[value] = vector;
    broadcasts.push_back(value);
    return vector;
  }

  Value broadcast(Value scalar) {
    return vector::BroadcastOp::create(
        b, lowering.loc, VectorType::get({numLanes}, scalar.getType()), scalar);
  }

  /// The vector of a value that the lanes of a group have in common.
  Value repeatInGroups(Value value) {
    auto it = scalars.find(value);
    assert(it != scalars.end() && "values of the body are evaluated in order");
    if (llvm::all_equal(it->second))
      return broadcast(it->second.front());
    SmallVector<Value> lanes;
    for (Value scalar : it->second)
      lanes.append(groupSize, scalar);
    return vector::FromElementsOp::create(
        b, lowering.loc, VectorType::get({numLanes}, value.getType()), lanes);
  }

  /// True if the value is computed by `evaluateJointly`.
  bool isJoint(Value value) const {
    return !body.isUniform(value) && body.getSlope(value) == 0;
  }

  /// Has `evaluate` compute what `op` gives at the first lane of a group, once
  /// for all groups whose indices agree where that depends on them, or whether
  /// they run: lanes that are off have loaded nothing.
  void evaluateJointly(Operation *op,
                       function_ref<Value(int64_t group)> evaluate) {
    llvm::BitVector dims = body.getDependence(op);
    for (int64_t dim = 0; dim <= lastDim; ++dim)
      if (body.isPadded(dim))
        dims.set(dim);
    std::map<SmallVector<int64_t>, Value> known;
    SmallVector<Value> perGroup;
    for (int64_t group = 0; group < numGroups; ++group) {
      SmallVector<int64_t> key;
      SmallVector<int64_t> offset = layout.valueOffset(group * groupSize);
      for (unsigned dim : dims.set_bits())
        key.push_back(offset[dim]);
      Value &found = known[key];
      if (!found)
        found = evaluate(group);
      perGroup.push_back(found);
    }
    scalars[op->getResult(0)] = perGroup;
  }

  /// What `make` makes for `key`, made once in each place of the program that
  /// sees it: elements of a row and of a column ask for the same.
  Value remember(const Key &key, function_ref<Value()> make) {
    if (!known.count(key))
      known.insert(key, make());
    return known.lookup(key);
  }

  /// The scalar, if all lanes hold the same.
  Value getUniform(Value value) {
    if (!body.isInside(value))
      return value;
    return uniforms.lookup(value);
  }

  /// The scalar at the first lane of a group.
  Value getScalar(Value value, int64_t group) {
    if (Value uniform = getUniform(value))
      return uniform;
    auto it = scalars.find(value);
    if (it != scalars.end())
      return it->second[group];
    return vector::ExtractOp::create(b, lowering.loc, getVector(value),
                                     group * groupSize);
  }

  /// An index at any lane.
  Value getLaneIndex(Value value, int64_t lane) {
    int64_t group = lane / groupSize, within = lane % groupSize;
    Value scalar = getScalar(value, group);
    return move(
        scalar,
        within == 0 ? 0 : getMotion(value).value_or(Motion{0, 1}).at(within));
  }

  /// `index` plus a constant.
  Value move(Value index, int64_t distance) {
    return remember({index, Value(), distance},
                    [&] { return lowering.add(index, distance); });
  }

  /// True if an element is inside of the buffer; null if it cannot be outside.
  Value getInBounds(Value buffer, ValueRange at) {
    Value inside;
    if (isInSpace(buffer, Space::Global))
      for (auto [dim, position] : llvm::enumerate(at))
        inside =
            conjunction(inside, remember({position, buffer, dim}, [&] {
                          return lowering.getInBounds(buffer, dim, position);
                        }));
    return inside;
  }

  /// The lanes that run: those of `mask`, without the padding; null if all do.
  Value getActive(Value mask) { return conjunction(mask, paddingMask); }

  /// The guard of one lane: the `if` it stands in, and the padding.
  Value getLaneGuard(int64_t lane, Value mask) {
    Value guard = padding.empty() ? Value() : padding[lane];
    if (!mask)
      return guard;
    Value bit = vector::ExtractOp::create(b, lowering.loc, mask, lane);
    return conjunction(guard, bit);
  }

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  LogicalResult evaluate(Block &block, Value mask) {
    for (Operation &op : block.without_terminator()) {
      lowering.loc = op.getLoc();
      if (failed(evaluate(&op, mask)))
        return failure();
    }
    return success();
  }

  LogicalResult evaluate(Operation *op, Value mask) {
    if (auto load = dyn_cast<LoadOp>(op))
      return evaluateLoad(load, mask);
    if (auto store = dyn_cast<StoreOp>(op))
      return evaluateStore(store, mask);
    if (auto atomic = dyn_cast<AtomicOp>(op))
      return evaluateAtomic(atomic, mask);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return body.isUniform(branch.getCondition())
                 ? evaluateJointIf(branch, mask)
                 : evaluateMaskedIf(branch, mask);
    if (auto inner = dyn_cast<scf::ForOp>(op))
      return evaluateFor(inner, mask);
    if (isa<AllocOp>(op))
      return success();
    if (auto slot = dyn_cast<SlotOp>(op)) {
      views[slot] = SlotOp::create(b, lowering.loc, slot.getType(),
                                   getView(slot.getSource()),
                                   getUniform(slot.getIndex()));
      return success();
    }
    if (isa<gpu::BlockIdOp, gpu::GridDimOp>(op)) {
      uniforms[op->getResult(0)] = b.clone(*op)->getResult(0);
      return success();
    }
    // The number of the dimension may stand in the loop, which is erased.
    if (auto dim = dyn_cast<memref::DimOp>(op)) {
      uniforms[dim] = memref::DimOp::create(b, lowering.loc, dim.getSource(),
                                            *dim.getConstantIndex());
      return success();
    }
    evaluateElementwise(op, mask);
    return success();
  }

  void evaluateElementwise(Operation *op, Value mask) {
    Value result = op->getResult(0);
    if (body.isUniform(result)) {
      uniforms[result] =
          cloneWith(op, [&](Value operand) { return getUniform(operand); });
      return;
    }
    Value active = mayTrap(op) ? getActive(mask) : Value();
    if (isJoint(result) && !active) {
      evaluateJointly(op, [&](int64_t group) {
        return cloneWith(
            op, [&](Value operand) { return getScalar(operand, group); });
      });
      return;
    }
    // Addresses are made of these scalars; if nothing needs them they vanish.
    if (result.getType().isIndex() && !active)
      evaluateJointly(op, [&](int64_t group) {
        return cloneWith(
            op, [&](Value operand) { return getScalar(operand, group); });
      });
    OperationState state(op->getLoc(), op->getName());
    for (Value operand : op->getOperands())
      state.operands.push_back(getVector(operand));
    if (auto call = dyn_cast<CallSourceOp>(op)) {
      vectors[result] = callInLanes(call, state.operands, active);
      return;
    }
    if (active)
      state.operands[1] = makeHarmless(state.operands[1], active);
    state.addTypes(VectorType::get({numLanes}, result.getType()));
    state.attributes = llvm::to_vector(op->getDiscardableAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    vectors[result] = b.create(state)->getResult(0);
  }

  /// The function is not called in lanes that are off.
  Value callInLanes(CallSourceOp call, ValueRange arguments, Value active) {
    auto type = VectorType::get({numLanes}, call.getType());
    return CallSourceOp::create(
        b, lowering.loc, type, call.getFunctionAttr(), call.getSourcesAttr(),
        call.getToolkitAttr(), call.getParamsAttr(), call.getCountsAttr(),
        call.getPlaceAttr(), call.getReturnedAttr(), arguments, active);
  }

  /// A divisor that is one in lanes that are off.
  Value makeHarmless(Value divisor, Value active) {
    Value ones = arith::ConstantOp::create(b, lowering.loc,
                                           b.getOneAttr(divisor.getType()));
    return arith::SelectOp::create(b, lowering.loc, active, divisor, ones);
  }

  Value cloneWith(Operation *op, function_ref<Value(Value)> map) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, map(operand));
    return b.clone(*op, mapping)->getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  /// Evaluates a block that becomes `target`, up to its terminator. Vectors
  /// made of scalars there are not visible behind it.
  LogicalResult evaluateInto(Block &from, Block &target, Value mask,
                             function_ref<void()> finish) {
    OpBuilder::InsertionGuard saved(b);
    Location loc = lowering.loc;
    b.setInsertionPointToStart(&target);
    size_t numBroadcasts = broadcasts.size();
    Remembered scope(known);
    if (failed(evaluate(from, mask)))
      return failure();
    lowering.loc = loc;
    finish();
    while (broadcasts.size() > numBroadcasts)
      vectors.erase(broadcasts.pop_back_val());
    return success();
  }

  /// Runs both sides under complementary masks.
  LogicalResult evaluateMaskedIf(scf::IfOp branch, Value mask) {
    Location loc = branch.getLoc();
    Value condition = getVector(branch.getCondition());
    if (failed(evaluate(*branch.thenBlock(), conjunction(mask, condition))))
      return failure();
    if (branch.elseBlock()) {
      Value ones = arith::ConstantOp::create(
          b, loc,
          DenseElementsAttr::get(cast<ShapedType>(condition.getType()), true));
      Value inverse = arith::XOrIOp::create(b, loc, condition, ones);
      if (failed(evaluate(*branch.elseBlock(), conjunction(mask, inverse))))
        return failure();
    }
    for (auto [i, result] : llvm::enumerate(branch.getResults())) {
      Value yes = getVector(branch.thenYield().getOperand(i));
      Value no = getVector(branch.elseYield().getOperand(i));
      vectors[result] = arith::SelectOp::create(b, loc, condition, yes, no);
    }
    return success();
  }

  /// All iterations of the thread take the same side.
  LogicalResult evaluateJointIf(scf::IfOp branch, Value mask) {
    SmallVector<Type> types;
    for (Value result : branch.getResults())
      types.push_back(body.isUniform(result)
                          ? result.getType()
                          : VectorType::get({numLanes}, result.getType()));
    auto copy = scf::IfOp::create(b, branch.getLoc(), types,
                                  getUniform(branch.getCondition()),
                                  /*withElseRegion=*/bool(branch.elseBlock()));
    for (auto [from, to] : llvm::zip(branch->getRegions(), copy->getRegions()))
      if (!from.empty() &&
          failed(evaluateInto(from.front(), to.front(), mask, [&] {
            if (types.empty())
              return;
            SmallVector<Value> yields;
            for (auto [result, value] :
                 llvm::zip(branch.getResults(),
                           from.front().getTerminator()->getOperands()))
              yields.push_back(body.isUniform(result) ? getUniform(value)
                                                      : getVector(value));
            scf::YieldOp::create(b, lowering.loc, yields);
          })))
        return failure();
    for (auto [result, value] :
         llvm::zip(branch.getResults(), copy.getResults()))
      (body.isUniform(result) ? uniforms : vectors)[result] = value;
    return success();
  }

  /// All iterations of the thread make the same trips.
  LogicalResult evaluateFor(scf::ForOp inner, Value mask) {
    SmallVector<Value> inits;
    for (Value init : inner.getInitArgs())
      inits.push_back(getVector(init));
    auto copy = scf::ForOp::create(
        b, inner.getLoc(), getUniform(inner.getLowerBound()),
        getUniform(inner.getUpperBound()), getUniform(inner.getStep()), inits);
    uniforms[inner.getInductionVar()] = copy.getInductionVar();
    for (auto [argument, value] :
         llvm::zip(inner.getRegionIterArgs(), copy.getRegionIterArgs()))
      vectors[argument] = value;
    if (failed(evaluateInto(*inner.getBody(), *copy.getBody(), mask, [&] {
          if (inits.empty())
            return;
          SmallVector<Value> yields;
          for (Value value : inner.getYieldedValues())
            yields.push_back(getVector(value));
          scf::YieldOp::create(b, lowering.loc, yields);
        })))
      return failure();
    for (auto [result, value] :
         llvm::zip(inner.getResults(), copy.getResults()))
      vectors[result] = value;
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Variables of the body
  //===--------------------------------------------------------------------===//

  /// The slot of one element of a variable.
  Value getVariable(Value buffer, int64_t position) {
    Value &slot = variables[{buffer, position}];
    if (!slot)
      slot = lowering.createSlot(
          buffer.getLoc(),
          VectorType::get({numLanes},
                          cast<MemRefType>(buffer.getType()).getElementType()));
    return slot;
  }

  void writeVariable(Value slot, Value lanes, Value mask) {
    if (mask)
      lanes = arith::SelectOp::create(
          b, lowering.loc, mask, lanes,
          memref::LoadOp::create(b, lowering.loc, slot));
    memref::StoreOp::create(b, lowering.loc, lanes, slot);
  }

  //===--------------------------------------------------------------------===//
  // Fragments
  //===--------------------------------------------------------------------===//

  static bool isIdentity(ArrayRef<int64_t> permutation, int64_t size) {
    return static_cast<int64_t>(permutation.size()) == size &&
           llvm::all_of(llvm::enumerate(permutation), [](auto entry) {
             return static_cast<int64_t>(entry.index()) == entry.value();
           });
  }

  /// Reads what the lanes of a group have in common; those of the padding may
  /// take any element.
  void readJointly(LoadOp load, ArrayRef<int64_t> registers) {
    Value values = lowering.readFragment(load.getSource());
    evaluateJointly(load, [&](int64_t group) {
      int64_t position = registers[group * groupSize];
      return vector::ExtractOp::create(b, lowering.loc, values,
                                       std::max<int64_t>(position, 0));
    });
  }

  Value readLanes(Value fragment, ArrayRef<int64_t> registers) {
    Value values = lowering.readFragment(fragment);
    int64_t size = cast<VectorType>(values.getType()).getNumElements();
    if (isIdentity(registers, size))
      return values;
    // Lanes of the padding may take any.
    SmallVector<int64_t> sources = llvm::map_to_vector(
        registers, [](int64_t it) { return std::max<int64_t>(it, 0); });
    return vector::ShuffleOp::create(b, lowering.loc, values, values, sources);
  }

  /// True if lanes in the loop's padding have elements of the fragment, which
  /// they must not write.
  bool paddingHasElements(StoreOp store) {
    FragmentAccess access =
        getFragmentAccess(store, store.getTarget(), store.getIndices(), loop);
    if (!access.indices)
      return true;
    for (auto [index, extent] :
         llvm::zip_equal(*access.indices, access.getShape()))
      if (index.dim >= 0 && body.isPadded(index.dim) &&
          extent > loop.getExtents()[index.dim])
        return true;
    return false;
  }

  /// Says which registers the lanes touch that run, for whoever compares them.
  void touchLanes(Operation *access, ArrayRef<int64_t> registers, Value mask) {
    if (!lowering.doesTellIterations())
      return;
    for (auto [lane, position] : llvm::enumerate(registers))
      if (position >= 0)
        touchFragment(access, body, lowering, lowering.index(position),
                      layout.valueOffset(lane), getLaneGuard(lane, mask));
  }

  LogicalResult writeLanes(StoreOp store, Value lanes, Value mask) {
    Value fragment = store.getTarget();
    FailureOr<SmallVector<int64_t>> registers =
        findRegisters(store, body, lowering, fragment, store.getIndices());
    if (failed(registers) || failed(verifyFragmentStore(store, body)))
      return failure();
    touchLanes(store, *registers, mask);
    llvm::SmallDenseSet<int64_t> distinct(registers->begin(), registers->end());
    if (distinct.contains(-1) || distinct.size() != registers->size()) {
      writeSharedRegisters(fragment, *registers, lanes, mask);
      return success();
    }
    if (paddingHasElements(store))
      mask = getActive(mask);
    if (mask)
      lanes = arith::SelectOp::create(b, lowering.loc, mask, lanes,
                                      readLanes(fragment, *registers));
    int64_t size = lowering.getRegisterType(fragment).getNumElements();
    if (!isIdentity(*registers, size)) {
      // Registers without a lane keep what they hold.
      SmallVector<int64_t> sources;
      for (int64_t position = 0; position < size; ++position)
        sources.push_back(numLanes + position);
      for (auto [lane, position] : llvm::enumerate(*registers))
        sources[position] = lane;
      Value old = distinct.size() == size_t(size)
                      ? lanes
                      : lowering.readFragment(fragment);
      lanes = vector::ShuffleOp::create(b, lowering.loc, lanes, old, sources);
    }
    lowering.writeFragment(fragment, lanes);
    return success();
  }

  /// Several lanes have the same register, or none: the last one that runs
  /// leaves its value.
  void writeSharedRegisters(Value fragment, ArrayRef<int64_t> registers,
                            Value lanes, Value mask) {
    Value old = lowering.readFragment(fragment);
    auto type = cast<VectorType>(old.getType());
    SmallVector<Value> values;
    for (int64_t position = 0; position < type.getNumElements(); ++position)
      values.push_back(
          vector::ExtractOp::create(b, lowering.loc, old, position));
    for (auto [lane, position] : llvm::enumerate(registers)) {
      if (position < 0)
        continue;
      Value value = vector::ExtractOp::create(b, lowering.loc, lanes, lane);
      if (Value guard = getLaneGuard(lane, mask))
        value = arith::SelectOp::create(b, lowering.loc, guard, value,
                                        values[position]);
      values[position] = value;
    }
    lowering.writeFragment(fragment, vector::FromElementsOp::create(
                                         b, lowering.loc, type, values));
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// What stands for a buffer, or for a view that the body makes of one.
  Value getView(Value buffer) {
    Value view = views.lookup(buffer);
    return view ? view : buffer;
  }

  SmallVector<Value> getIndices(ValueRange indices, int64_t lane) {
    return llvm::map_to_vector(
        indices, [&](Value index) { return getLaneIndex(index, lane); });
  }

  /// Neighbouring elements that one access can take, and how many lanes have
  /// each of them.
  struct Access {
    int64_t width = 1, lanesOfEach = 1;
    int64_t getNumLanes() const { return width * lanesOfEach; }
  };

  /// Has the accesses of `buffer` that are made meanwhile bear the iterations
  /// of some neighbouring lanes.
  struct Marking {
    /// Of `count` lanes, each of which accesses `elements`.
    Marking(LaneEvaluator &evaluator, Value buffer, int64_t lane, int64_t count,
            int64_t elements = 1)
        : lowering(evaluator.lowering) {
      if (!lowering.doesTellIterations() || !evaluator.body.mayMeet(buffer))
        return;
      SmallVector<int64_t> distances;
      for (int64_t i = 0; i < count * elements; ++i)
        llvm::append_range(distances,
                           evaluator.layout.valueOffset(lane + i / elements));
      lowering.setIterations(evaluator.b.getDenseI64ArrayAttr(distances));
    }
    ~Marking() { lowering.setIterations(nullptr); }

    ThreadLowering &lowering;
  };

  /// The access of `op` at the first lane of `group`.
  Access getAccess(Operation *op, Value buffer, ValueRange indices,
                   int64_t group) {
    int64_t together = body.countReachedTogether(op);
    int64_t limit = std::gcd(groupSize, together);
    if (indices.empty() || limit == 1 ||
        (together != 0 && !beginsAtMultiples(limit)))
      return {};
    for (Value index : indices.drop_back())
      if (getMotion(index).value_or(Motion{1, 1}).slope != 0)
        return {};
    std::optional<Motion> motion = getMotion(indices.back());
    if (!motion ||
        (motion->slope != 1 && !(motion->slope == 0 && hasQuotients)))
      return {};
    // Padding ends at the extent: a vector must not reach over it.
    if (!padding.empty())
      while (loop.getExtents().back() % limit != 0)
        limit /= 2;
    if (motion->slope == 0)
      return {1, limit};
    if (limit % motion->divisor != 0)
      return {};
    return {lowering.getAccessWidth(buffer,
                                    getIndices(indices, group * groupSize),
                                    limit / motion->divisor),
            motion->divisor};
  }

  /// What an access found, in each of its lanes.
  Value spread(Value piece, Access access) {
    auto type = VectorType::get({access.getNumLanes()},
                                getElementTypeOrSelf(piece.getType()));
    if (access.width == 1)
      return vector::BroadcastOp::create(b, lowering.loc, type, piece);
    SmallVector<int64_t> sources;
    for (int64_t lane = 0; lane < access.getNumLanes(); ++lane)
      sources.push_back(lane / access.lanesOfEach);
    return vector::ShuffleOp::create(b, lowering.loc, piece, piece, sources);
  }

  /// Where threads run copies of an iteration, no copy reads `buffer` before
  /// all have seen what is there, or what the first of them wrote.
  void separateCopies(Value buffer) {
    if (firstCopy && body.isReadBack(buffer))
      lowering.getScope().createBarrier();
  }

  LogicalResult evaluateLoad(LoadOp load, Value mask) {
    Value buffer = load.getSource();
    ValueRange indices = load.getIndices();
    if (isInSpace(buffer, Space::Fragment)) {
      FailureOr<SmallVector<int64_t>> registers =
          findRegisters(load, body, lowering, buffer, indices);
      if (failed(registers))
        return failure();
      // All rounds read what the first one does.
      registers->truncate(numLanes);
      touchLanes(load, *registers, mask);
      if (isJoint(load.getResult()))
        readJointly(load, *registers);
      else
        vectors[load.getResult()] = readLanes(buffer, *registers);
      return success();
    }
    if (isInSpace(buffer, Space::Private) && body.isInside(buffer)) {
      vectors[load.getResult()] = memref::LoadOp::create(
          b, lowering.loc,
          getVariable(buffer, *getConstantPosition(buffer, indices)));
      return success();
    }
    separateCopies(buffer);
    buffer = getView(buffer);
    if (body.isUniform(load.getResult())) {
      SmallVector<Value> at = llvm::map_to_vector(
          indices, [&](Value index) { return getUniform(index); });
      uniforms[load.getResult()] =
          lowering.load(buffer, at, 1, getInBounds(buffer, at));
      return success();
    }
    if (isJoint(load.getResult())) {
      loadJointly(load, buffer, mask);
      return success();
    }
    Type element = load.getResult().getType();
    auto type = VectorType::get({numLanes}, element);
    Value lanes =
        arith::ConstantOp::create(b, lowering.loc, b.getZeroAttr(type));
    for (int64_t lane = 0; lane < numLanes;) {
      Access access = getAccess(load, buffer, indices, lane / groupSize);
      SmallVector<Value> at = getIndices(indices, lane);
      Value guard =
          conjunction(getLaneGuard(lane, mask), getInBounds(buffer, at));
      Marking marking(*this, load.getSource(), lane, access.getNumLanes());
      Value piece = lowering.load(buffer, at, access.width, guard);
      if (access.lanesOfEach > 1)
        piece = spread(piece, access);
      int64_t width = access.getNumLanes();
      lanes =
          width == 1
              ? vector::InsertOp::create(b, lowering.loc, piece, lanes, lane)
                    .getResult()
              : vector::InsertStridedSliceOp::create(b, lowering.loc, piece,
                                                     lanes, lane, 1)
                    .getResult();
      lane += width;
    }
    vectors[load.getResult()] = lanes;
    return success();
  }

  /// Loads what the lanes of a group have in common.
  void loadJointly(LoadOp load, Value view, Value mask) {
    evaluateJointly(load, [&](int64_t group) {
      int64_t lane = group * groupSize;
      SmallVector<Value> at = getIndices(load.getIndices(), lane);
      Value guard =
          conjunction(getLaneGuard(lane, mask), getInBounds(view, at));
      return lowering.load(view, at, 1, guard);
    });
  }

  LogicalResult evaluateStore(StoreOp store, Value mask) {
    Value buffer = store.getTarget();
    ValueRange indices = store.getIndices();
    Value lanes = getVector(store.getValue());
    if (isInSpace(buffer, Space::Fragment))
      return writeLanes(store, lanes, mask);
    if (isInSpace(buffer, Space::Private)) {
      writeVariable(getVariable(buffer, *getConstantPosition(buffer, indices)),
                    lanes, mask);
      return success();
    }
    separateCopies(buffer);
    Value copy = body.isChangedTwice(buffer) ? firstCopy : Value();
    buffer = getView(buffer);
    for (int64_t lane = 0; lane < numLanes;) {
      Access access = getAccess(store, buffer, indices, lane / groupSize);
      int64_t width = access.lanesOfEach == 1 ? access.width : 1;
      SmallVector<Value> at = getIndices(indices, lane);
      Value guard = conjunction(conjunction(copy, getLaneGuard(lane, mask)),
                                getInBounds(buffer, at));
      Value piece =
          width == 1 ? vector::ExtractOp::create(b, lowering.loc, lanes, lane)
                           .getResult()
                     : vector::ExtractStridedSliceOp::create(
                           b, lowering.loc, lanes, lane, width, 1)
                           .getResult();
      Marking marking(*this, store.getTarget(), lane, width);
      lowering.store(piece, buffer, at, guard);
      lane += width;
    }
    return success();
  }

  /// The value of one lane.
  Value getLane(Value value, int64_t lane) {
    if (!value)
      return {};
    if (Value uniform = getUniform(value))
      return uniform;
    return vector::ExtractOp::create(b, lowering.loc, getVector(value), lane);
  }

  /// How many lanes, from `lane` on, one instruction adds for.
  int64_t countAddedTogether(AtomicOp atomic, Value buffer, int64_t lane) {
    if (!isPlainSum(atomic))
      return 1;
    Access access =
        getAccess(atomic, buffer, atomic.getIndices(), lane / groupSize);
    int64_t width = access.lanesOfEach == 1 ? access.width : 1;
    while (width > 1 &&
           !lowering.hasInstruction(
               AtomicKind::Add,
               VectorType::get({width}, atomic.getOld().getType())))
      width /= 2;
    return width;
  }

  /// The values of `width` lanes.
  Value getLanes(Value value, int64_t lane, int64_t width) {
    if (width == 1)
      return getLane(value, lane);
    if (Value uniform = getUniform(value))
      return vector::BroadcastOp::create(
          b, lowering.loc, VectorType::get({width}, uniform.getType()),
          uniform);
    return vector::ExtractStridedSliceOp::create(
        b, lowering.loc, getVector(value), lane, width, 1);
  }

  /// How many sums of `run`, from the one at `from` on, one instruction does in
  /// iteration `lane`: its first element begins a vector.
  int64_t countAtOnce(MutableArrayRef<AtomicOp> run, size_t from, Value buffer,
                      int64_t lane) {
    Type element = run.front().getOld().getType();
    SmallVector<Value> at = getIndices(run[from].getIndices(), lane);
    for (int64_t width = llvm::bit_floor(run.size() - from); width > 1;
         width /= 2)
      if (lowering.hasInstruction(AtomicKind::Add,
                                  VectorType::get({width}, element)) &&
          lowering.getAccessWidth(buffer, at, width) == width)
        return width;
    return 1;
  }

  /// Sums of neighbours, one iteration after another.
  void evaluateNeighbours(MutableArrayRef<AtomicOp> run, Value mask) {
    AtomicOp first = run.front();
    Value buffer = getView(first.getTarget());
    for (int64_t lane = 0; lane < numLanes; ++lane)
      for (size_t from = 0, width = 1; from < run.size(); from += width) {
        width = countAtOnce(run, from, buffer, lane);
        SmallVector<Value> values;
        for (AtomicOp &atomic : run.slice(from, width))
          values.push_back(getLane(atomic.getValue(), lane));
        Value value = values.front();
        if (width > 1)
          value = vector::FromElementsOp::create(
              b, lowering.loc,
              VectorType::get({int64_t(width)}, value.getType()), values);
        SmallVector<Value> at = getIndices(run[from].getIndices(), lane);
        Value guard =
            conjunction(getLaneGuard(lane, mask), getInBounds(buffer, at));
        Marking marking(*this, first.getTarget(), lane, /*count=*/1, width);
        lowering.atomic(first, buffer, at, value, /*expected=*/Value(), guard);
      }
  }

  /// One lane after another: each is an operation of its own, but for sums of
  /// neighbours.
  LogicalResult evaluateAtomic(AtomicOp atomic, Value mask) {
    if (firstCopy)
      return atomic.emitOpError(
          "stands in a loop that writes a fragment of which several threads "
          "hold copies; do the two in loops of their own");
    if (auto run = neighbours.find(atomic); run != neighbours.end()) {
      if (atomic == run->second.back())
        evaluateNeighbours(run->second, mask);
      return success();
    }
    Value buffer = getView(atomic.getTarget());
    Value old = atomic.getOld(), lanes;
    if (!old.use_empty()) {
      auto type = VectorType::get({numLanes}, old.getType());
      lanes = arith::ConstantOp::create(b, lowering.loc, b.getZeroAttr(type));
    }
    for (int64_t lane = 0, width = 1; lane < numLanes; lane += width) {
      width = countAddedTogether(atomic, buffer, lane);
      SmallVector<Value> at = getIndices(atomic.getIndices(), lane);
      Value guard =
          conjunction(getLaneGuard(lane, mask), getInBounds(buffer, at));
      Marking marking(*this, atomic.getTarget(), lane, width);
      Value found = lowering.atomic(atomic, buffer, at,
                                    getLanes(atomic.getValue(), lane, width),
                                    getLane(atomic.getExpected(), lane), guard);
      if (lanes)
        lanes = vector::InsertOp::create(b, lowering.loc, found, lanes, lane);
    }
    if (lanes)
      vectors[old] = lanes;
    return success();
  }

  const ParallelBody &body;
  ParallelOp loop;
  ThreadLowering &lowering;
  OpBuilder &b;
  const FragmentLayout &layout;
  int64_t lastDim;
  /// Set where copies of iterations must be kept apart.
  Value firstCopy;
  int64_t numLanes = 1, groupSize = 1, numGroups = 1;
  /// True if some index is a quotient of the last loop index.
  bool hasQuotients = false;
  DenseMap<Value, SmallVector<Value>> scalars;
  DenseMap<Value, Value> vectors, uniforms, views;
  DenseMap<std::pair<Value, int64_t>, Value> variables;
  /// The sums that one instruction may add for, by each of them.
  DenseMap<Operation *, SmallVector<AtomicOp>> neighbours;
  llvm::ScopedHashTable<Key, Value> known;
  /// The values whose vectors are broadcasts, in the order they were made.
  SmallVector<Value> broadcasts;
  SmallVector<Value> padding;
  Value paddingMask;
};

} // namespace

LogicalResult tl::lowerByLanes(const ParallelBody &body,
                               ThreadLowering &lowering, bool orderCopies) {
  return LaneEvaluator(body, lowering, orderCopies).run();
}
