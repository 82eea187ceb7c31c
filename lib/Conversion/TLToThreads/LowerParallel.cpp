//===- LowerParallel.cpp - Parallel loops, one thread's share at once -----===//
//
// A thread runs its iterations of a parallel loop together: every value of the
// body becomes a vector with one lane for each iteration, in the order of the
// loop's layout, so that a fragment with the same layout is read and written as
// the vector it already is. Arithmetic on indices is kept as scalars too, one
// for each group of neighbouring lanes, from which addresses are made.
//
// A loop that touches no fragment may have more iterations than registers: it
// is cut into rounds of a few vectors each.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"
#include "tl/Dialect/TL/Analysis/LayoutMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;

/// Lanes of one round in a loop without fragments: a few loads in flight.
static constexpr int64_t kRoundVectors = 4;

namespace {

/// Evaluates the body of one parallel loop over a thread's lanes.
class LaneEvaluator {
public:
  LaneEvaluator(ParallelOp loop, ThreadLowering &lowering)
      : loop(loop), lowering(lowering), b(lowering.builder),
        layout(toLayout(*loop.getLayout())),
        lastDim(loop.getExtents().size() - 1) {}

  LogicalResult run() {
    findSlopes();
    // Registers hold what fragments hold; a loop without them may be long.
    int64_t limit = touchesFragments()
                        ? layout.numValues()
                        : kRoundVectors * layout.contiguousValues(lastDim);
    Rounds rounds(layout, limit);
    numLanes = rounds.getNumValues();
    chooseGroups();
    OpBuilder::InsertionGuard saved(b);
    Value round = rounds.getCount() > 1 ? rounds.openLoop(lowering) : Value();
    setCoordinates(rounds, round);
    return evaluate(loop.getBody().front(), /*mask=*/Value());
  }

private:
  //===--------------------------------------------------------------------===//
  // Shape of the evaluation
  //===--------------------------------------------------------------------===//

  /// How much each index moves when the last loop index moves by one; absent
  /// where that is not a constant.
  void findSlopes() {
    for (BlockArgument argument : loop.getBody().getArguments())
      slopes[argument] = int64_t(argument.getArgNumber()) == lastDim ? 1 : 0;
    loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op->getNumResults() != 1)
        return;
      Value result = op->getResult(0);
      std::optional<int64_t> slope;
      if (isa<LoadOp>(op) || op->getNumRegions() != 0)
        slope = std::nullopt;
      else if (llvm::all_of(op->getOperands(), [&](Value operand) {
                 return getSlope(operand) == 0;
               }))
        slope = 0;
      else if (isa<arith::AddIOp>(op) && getSlope(op->getOperand(0)) &&
               getSlope(op->getOperand(1)))
        slope = *getSlope(op->getOperand(0)) + *getSlope(op->getOperand(1));
      else if (isa<arith::SubIOp>(op) && getSlope(op->getOperand(0)) &&
               getSlope(op->getOperand(1)))
        slope = *getSlope(op->getOperand(0)) - *getSlope(op->getOperand(1));
      else if (isa<arith::MulIOp>(op))
        slope = multiplySlope(op->getOperand(0), op->getOperand(1));
      slopes[result] = slope;
    });
  }

  std::optional<int64_t> multiplySlope(Value a, Value b) {
    APInt factor;
    if (matchPattern(b, m_ConstantInt(&factor)) && getSlope(a))
      return *getSlope(a) * factor.getSExtValue();
    if (matchPattern(a, m_ConstantInt(&factor)) && getSlope(b))
      return *getSlope(b) * factor.getSExtValue();
    return std::nullopt;
  }

  std::optional<int64_t> getSlope(Value value) {
    if (isOutside(value))
      return 0;
    auto it = slopes.find(value);
    return it == slopes.end() ? std::nullopt : it->second;
  }

  bool isOutside(Value value) {
    return !loop.getBody().isAncestor(value.getParentRegion());
  }

  bool touchesFragments() {
    return loop.getBody()
        .walk([](Operation *op) {
          bool touches = llvm::any_of(op->getOperands(), [](Value operand) {
            return isa<MemRefType>(operand.getType()) &&
                   isInSpace(operand, Space::Fragment);
          });
          return touches ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// Lanes that stay together along the last dimension; one, if some address
  /// moves with the lane in a way that is not a constant step.
  void chooseGroups() {
    groupSize = std::min(layout.contiguousValues(lastDim), numLanes);
    // No access is wider than 16 bytes.
    groupSize = std::min<int64_t>(groupSize, 16);
    loop.getBody().walk([&](Operation *op) {
      ValueRange indices;
      if (auto load = dyn_cast<LoadOp>(op))
        indices = load.getIndices();
      else if (auto store = dyn_cast<StoreOp>(op))
        indices = store.getIndices();
      for (Value index : indices)
        if (!getSlope(index))
          groupSize = 1;
    });
    numGroups = numLanes / groupSize;
  }

  /// The loop's indices for every lane of the round.
  void setCoordinates(const Rounds &rounds, Value round) {
    for (int64_t d = 0; d <= lastDim; ++d) {
      Value base = lowering.getThreadOffset(layout, d);
      if (round)
        base = lowering.add(base, rounds.getOffset(lowering, round, d));
      SmallVector<int64_t> offsets;
      for (int64_t lane = 0; lane < numLanes; ++lane)
        offsets.push_back(layout.valueOffset(lane)[d]);
      Value argument = loop.getBody().getArgument(d);
      SmallVector<Value> &perGroup = scalars[argument];
      for (int64_t group = 0; group < numGroups; ++group)
        perGroup.push_back(lowering.add(base, offsets[group * groupSize]));
      vectors[argument] = offsetVector(base, offsets);
    }
    if (layout.getShape() != ArrayRef(loop.getExtents()))
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
    Value &vector = vectors[value];
    if (!vector) {
      Value uniform = getUniform(value);
      assert(uniform && "values of the body are evaluated in order");
      vector = vector::BroadcastOp::create(
          b, lowering.loc, VectorType::get({numLanes}, value.getType()),
          uniform);
    }
    return vector;
  }

  /// The scalar, if all lanes hold the same.
  Value getUniform(Value value) {
    if (isOutside(value))
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
    return lowering.add(scalar, within * getSlope(value).value_or(0));
  }

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
      return evaluateLoad(load, mask), success();
    if (auto store = dyn_cast<StoreOp>(op))
      return evaluateStore(store, mask), success();
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return evaluateIf(branch, mask);
    if (op->getNumResults() == 1 &&
        (OpTrait::hasElementwiseMappableTraits(op) ||
         op->hasTrait<OpTrait::ConstantLike>()))
      return evaluateElementwise(op), success();
    if (isa<gpu::BlockIdOp, gpu::ThreadIdOp, memref::DimOp>(op)) {
      uniforms[op->getResult(0)] = b.clone(*op)->getResult(0);
      return success();
    }
    return op->emitOpError(
        "is not supported inside `tl.parallel`; use "
        "element-wise arithmetic, loads, stores and `scf.if`");
  }

  void evaluateElementwise(Operation *op) {
    Value result = op->getResult(0);
    if (llvm::all_of(op->getOperands(), [&](Value operand) {
          return bool(getUniform(operand));
        })) {
      uniforms[result] =
          cloneWith(op, [&](Value operand) { return getUniform(operand); });
      return;
    }
    // Addresses are made of these scalars; if nothing needs them they vanish.
    if (result.getType().isIndex()) {
      SmallVector<Value> perGroup;
      for (int64_t group = 0; group < numGroups; ++group)
        perGroup.push_back(cloneWith(
            op, [&](Value operand) { return getScalar(operand, group); }));
      scalars[result] = perGroup;
    }
    OperationState state(op->getLoc(), op->getName());
    for (Value operand : op->getOperands())
      state.operands.push_back(getVector(operand));
    state.addTypes(VectorType::get({numLanes}, result.getType()));
    state.attributes = llvm::to_vector(op->getDiscardableAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    vectors[result] = b.create(state)->getResult(0);
  }

  Value cloneWith(Operation *op, function_ref<Value(Value)> map) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, map(operand));
    Operation *copy = b.clone(*op, mapping);
    lowering.noteDivisors(copy);
    return copy->getResult(0);
  }

  /// Runs both sides under complementary masks.
  LogicalResult evaluateIf(scf::IfOp branch, Value mask) {
    Value condition = getVector(branch.getCondition());
    Value thenMask = conjunction(mask, condition);
    if (failed(evaluate(*branch.thenBlock(), thenMask)))
      return failure();
    if (branch.elseBlock()) {
      Value ones = arith::ConstantOp::create(
          b, lowering.loc,
          DenseElementsAttr::get(cast<ShapedType>(condition.getType()), true));
      Value inverse = arith::XOrIOp::create(b, lowering.loc, condition, ones);
      if (failed(evaluate(*branch.elseBlock(), conjunction(mask, inverse))))
        return failure();
    }
    for (auto [result, yes, no] :
         llvm::zip(branch.getResults(),
                   branch.getNumResults() ? branch.thenYield().getOperands()
                                          : ValueRange(),
                   branch.getNumResults() ? branch.elseYield().getOperands()
                                          : ValueRange()))
      vectors[result] = arith::SelectOp::create(b, lowering.loc, condition,
                                                getVector(yes), getVector(no));
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Fragments
  //===--------------------------------------------------------------------===//

  /// For each lane, the register of `fragment` that holds its element.
  SmallVector<int64_t> getRegisters(Value fragment, ValueRange indices) {
    FragmentLayout registers = lowering.getLayout(fragment);
    llvm::DenseMap<ArrayRef<int64_t>, int64_t> positions;
    SmallVector<SmallVector<int64_t>> keys;
    for (int64_t value = 0; value < registers.numValues(); ++value)
      keys.push_back(registers.valueOffset(value));
    for (auto [value, key] : llvm::enumerate(keys))
      positions[key] = value;
    SmallVector<int64_t> result;
    for (int64_t lane = 0; lane < numLanes; ++lane) {
      SmallVector<int64_t> all = layout.valueOffset(lane), own;
      for (Value index : indices)
        own.push_back(all[cast<BlockArgument>(index).getArgNumber()]);
      auto it = positions.find(ArrayRef(own));
      assert(it != positions.end() && "layouts were inferred to agree");
      result.push_back(it->second);
    }
    return result;
  }

  static bool isIdentity(ArrayRef<int64_t> permutation, int64_t size) {
    return static_cast<int64_t>(permutation.size()) == size &&
           llvm::all_of(llvm::enumerate(permutation), [](auto entry) {
             return static_cast<int64_t>(entry.index()) == entry.value();
           });
  }

  Value readLanes(Value fragment, ValueRange indices) {
    Value values = lowering.readFragment(fragment);
    SmallVector<int64_t> registers = getRegisters(fragment, indices);
    int64_t size = cast<VectorType>(values.getType()).getNumElements();
    if (isIdentity(registers, size))
      return values;
    return vector::ShuffleOp::create(b, lowering.loc, values, values,
                                     registers);
  }

  void writeLanes(Value lanes, Value fragment, ValueRange indices, Value mask) {
    SmallVector<int64_t> registers = getRegisters(fragment, indices);
    if (mask)
      lanes = arith::SelectOp::create(b, lowering.loc, mask, lanes,
                                      readLanes(fragment, indices));
    int64_t size = lowering.getRegisterType(fragment).getNumElements();
    if (!isIdentity(registers, size)) {
      SmallVector<int64_t> sources(size, 0);
      for (auto [lane, position] : llvm::enumerate(registers))
        sources[position] = lane;
      lanes = vector::ShuffleOp::create(b, lowering.loc, lanes, lanes, sources);
    }
    lowering.writeFragment(fragment, lanes);
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  SmallVector<Value> getIndices(ValueRange indices, int64_t lane) {
    return llvm::map_to_vector(
        indices, [&](Value index) { return getLaneIndex(index, lane); });
  }

  /// Neighbouring lanes of `group` that one access can take.
  int64_t getWidth(Value buffer, ValueRange indices, int64_t group,
                   Value mask) {
    if (indices.empty() || mask)
      return 1;
    for (Value index : indices.drop_back())
      if (getSlope(index) != 0)
        return 1;
    if (getSlope(indices.back()) != 1)
      return 1;
    // Padding ends at the extent: a vector must not reach over it.
    int64_t limit = groupSize;
    if (!padding.empty())
      while (loop.getExtents().back() % limit != 0)
        limit /= 2;
    return lowering.getAccessWidth(
        buffer, getIndices(indices, group * groupSize), limit);
  }

  void evaluateLoad(LoadOp load, Value mask) {
    Value buffer = load.getSource();
    ValueRange indices = load.getIndices();
    if (isInSpace(buffer, Space::Fragment)) {
      vectors[load.getResult()] = readLanes(buffer, indices);
      return;
    }
    bool uniform = llvm::all_of(
        indices, [&](Value index) { return bool(getUniform(index)); });
    if (uniform && !mask && padding.empty()) {
      SmallVector<Value> scalarIndices = llvm::map_to_vector(
          indices, [&](Value index) { return getUniform(index); });
      uniforms[load.getResult()] =
          lowering.load(buffer, scalarIndices, 1,
                        lowering.getInBounds(buffer, scalarIndices));
      return;
    }
    Type element = load.getResult().getType();
    auto type = VectorType::get({numLanes}, element);
    Value lanes =
        arith::ConstantOp::create(b, lowering.loc, b.getZeroAttr(type));
    for (int64_t lane = 0; lane < numLanes;) {
      int64_t width = getWidth(buffer, indices, lane / groupSize, mask);
      SmallVector<Value> at = getIndices(indices, lane);
      Value guard = conjunction(getLaneGuard(lane, mask),
                                lowering.getInBounds(buffer, at));
      Value piece = lowering.load(buffer, at, width, guard);
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
  }

  void evaluateStore(StoreOp store, Value mask) {
    Value buffer = store.getTarget();
    ValueRange indices = store.getIndices();
    if (isInSpace(buffer, Space::Fragment))
      return writeLanes(getVector(store.getValue()), buffer, indices, mask);
    Value lanes = getVector(store.getValue());
    for (int64_t lane = 0; lane < numLanes;) {
      int64_t width = getWidth(buffer, indices, lane / groupSize, mask);
      SmallVector<Value> at = getIndices(indices, lane);
      Value guard = conjunction(getLaneGuard(lane, mask),
                                lowering.getInBounds(buffer, at));
      Value piece =
          width == 1 ? vector::ExtractOp::create(b, lowering.loc, lanes, lane)
                           .getResult()
                     : vector::ExtractStridedSliceOp::create(
                           b, lowering.loc, lanes, lane, width, 1)
                           .getResult();
      lowering.store(piece, buffer, at, guard);
      lane += width;
    }
  }

  ParallelOp loop;
  ThreadLowering &lowering;
  OpBuilder &b;
  FragmentLayout layout;
  int64_t lastDim;
  int64_t numLanes = 1, groupSize = 1, numGroups = 1;
  DenseMap<Value, std::optional<int64_t>> slopes;
  DenseMap<Value, SmallVector<Value>> scalars;
  DenseMap<Value, Value> vectors, uniforms;
  SmallVector<Value> padding;
};

} // namespace

LogicalResult tl::lowerParallel(ParallelOp loop, ThreadLowering &lowering) {
  return LaneEvaluator(loop, lowering).run();
}
