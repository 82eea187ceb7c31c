//===- LowerReduce.cpp - Reductions, from registers outwards --------------===//
//
// First the values of one thread, then the lanes of a warp by shuffles, then
// groups of threads through shared memory: as far as the source's layout
// spreads the reduced dimension. 16-bit floats are combined in f32.
//
// All results at once, as vectors; or, of a fragment that lies in memory, one
// after another in a loop, which combines a few values in each round of a loop
// of its own. Written out, thousands of reads take seconds to compile.
//
// What must hold: the target lies as the source projected, so that each thread
// holds the results that its values take part in, and there is a workspace for
// all threads that shuffles do not reach. tl-verify-layouts checks both;
// `FragmentLayout::reductionSteps` says for both sides what shuffles reach. The
// loops compute which values they read: `findWalk` tries each formula on the
// whole table of numbers, and there are no loops where one is missing.
//
//===----------------------------------------------------------------------===//

#include "NumberFormula.h"

#include "tl/Conversion/TLToThreads/ThreadLowering.h"
#include "tl/Dialect/TL/IR/Combine.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Layout/FragmentRelations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;
using layout::ThreadStep;

/// Parts that a thread reads one by one; more are read in a loop, because code
/// of thousands of reads takes seconds to compile.
static constexpr int64_t kMostParts = 256;
/// Values that a round combines, whose reads are under way together.
static constexpr int64_t kRoundValues = 16;
/// What a thread combines by itself is so many chains side by side. With a tree
/// attention takes up to 4 % longer, and 18 % in one case
/// (docs/Performance.md).
static constexpr size_t kChains = 8;

namespace {

class ReduceLowering {
public:
  ReduceLowering(ReduceOp reduce, ThreadLowering &lowering)
      : reduce(reduce), lowering(lowering), b(lowering.builder),
        loc(lowering.loc), source(lowering.getLayout(reduce.getSource())),
        target(source.project(reduce.getDim())),
        steps(layout::getReductionSteps(source, reduce.getDim())) {
    element = cast<MemRefType>(reduce.getTarget().getType()).getElementType();
    compute = getReductionType(element);
  }

  LogicalResult run() {
    if (lowering.getFragmentMemory(reduce.getSource()))
      if (std::optional<Walk> walk = findWalk()) {
        runInLoops(*walk);
        return success();
      }
    Value values = convertElement(
        b, loc, lowering.readFragment(reduce.getSource()), compute);
    values = emitContribution(b, loc, reduce.getKind(), values);
    values = maskPadding(values);
    Value partial = combineValues(values);
    partial = combineLanes(partial);
    if (reduce.getWorkspace())
      partial = combineGroups(partial);
    if (reduce.getAccumulate()) {
      Value old = convertElement(
          b, loc, lowering.readFragment(reduce.getTarget()), compute);
      partial = combine(old, partial);
    }
    lowering.writeFragment(
        reduce.getTarget(),
        emitResult(b, loc, reduce.getKind(), partial, element));
    return success();
  }

private:
  Value combine(Value x, Value y) {
    return emitCombine(b, loc, reduce.getKind(), x, y);
  }

  /// Replaces values in the padding of the reduced dimension.
  Value maskPadding(Value values) {
    int64_t dim = reduce.getDim();
    int64_t extent =
        cast<MemRefType>(reduce.getSource().getType()).getDimSize(dim);
    if (source.getShape()[dim] == extent)
      return values;
    auto indexType = VectorType::get({source.numValues()}, b.getIndexType());
    SmallVector<APInt> offsets;
    for (int64_t value = 0; value < source.numValues(); ++value)
      offsets.push_back(APInt(64, source.valueOffset(value)[dim]));
    Value base = vector::BroadcastOp::create(
        b, loc, indexType, lowering.getScope().getThreadOffset(source, dim));
    Value position = arith::AddIOp::create(
        b, loc, base,
        arith::ConstantOp::create(b, loc,
                                  DenseElementsAttr::get(indexType, offsets)));
    Value limit = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(indexType, APInt(64, extent)));
    Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                         position, limit);
    Value neutral = arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(
            cast<ShapedType>(values.getType()),
            Attribute(getNeutralElement(reduce.getKind(), compute))));
    return arith::SelectOp::create(b, loc, inside, values, neutral);
  }

  /// Combines the values of this thread that belong to one result, all results
  /// at once: by vectors with one lane for each result.
  Value combineValues(Value values) {
    SmallVector<SmallVector<int64_t>> groups = findGroups();
    SmallVector<Value> rounds;
    for (size_t i = 0; i < groups.front().size(); ++i) {
      SmallVector<int64_t> lanes = llvm::map_to_vector(
          groups, [&](const SmallVector<int64_t> &group) { return group[i]; });
      rounds.push_back(
          vector::ShuffleOp::create(b, loc, values, values, lanes));
    }
    return combineAll(rounds);
  }

  /// For each result of this thread the values that belong to it.
  SmallVector<SmallVector<int64_t>> findGroups() {
    SmallVector<SmallVector<int64_t>> groups(target.numValues());
    for (int64_t value = 0; value < source.numValues(); ++value) {
      SmallVector<int64_t> position = source.valueOffset(value);
      position.erase(position.begin() + reduce.getDim());
      groups[target.findOwner(position)->value].push_back(value);
    }
    return groups;
  }

  /// Combines `values` in chains, and these as a tree.
  Value combineAll(ArrayRef<Value> values) {
    SmallVector<Value> parts(values.take_front(kChains));
    for (auto [i, value] : llvm::enumerate(values.drop_front(parts.size())))
      parts[i % kChains] = combine(parts[i % kChains], value);
    while (parts.size() > 1) {
      SmallVector<Value> next;
      for (size_t i = 0; i + 1 < parts.size(); i += 2)
        next.push_back(combine(parts[i], parts[i + 1]));
      if (parts.size() % 2)
        next.push_back(parts.back());
      parts = std::move(next);
    }
    return parts.front();
  }

  /// Butterfly over the lanes that hold parts of one result.
  Value combineLanes(Value partial) {
    for (const ThreadStep &step : steps.lanes)
      for (int64_t distance = step.divisor;
           distance < step.divisor * step.extent; distance *= 2)
        partial = combine(partial, shuffle(partial, distance));
    return partial;
  }

  Value shuffle(Value values, int64_t distance) {
    auto type = dyn_cast<VectorType>(values.getType());
    if (!type)
      return lowering.shuffle(values, lowering.i32(distance),
                              gpu::ShuffleMode::XOR);
    SmallVector<Value> moved;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value scalar = vector::ExtractOp::create(b, loc, values, i);
      moved.push_back(lowering.shuffle(scalar, lowering.i32(distance),
                                       gpu::ShuffleMode::XOR));
    }
    return vector::FromElementsOp::create(b, loc, type, moved);
  }

  /// How many groups have parts of one result.
  int64_t countGroups() const {
    int64_t groups = 1;
    for (const ThreadStep &step : steps.groups)
      groups *= step.extent;
    return groups;
  }

  /// Which of the groups the thread is in.
  Value getOwnGroup() {
    int64_t groups = 1;
    Value own = lowering.index(0);
    for (const ThreadStep &step : steps.groups) {
      Value digit = lowering.rem(
          lowering.div(lowering.getScope().getThread(), step.divisor),
          step.extent);
      own = lowering.add(own, lowering.mul(digit, groups));
      groups *= step.extent;
    }
    return own;
  }

  /// Groups write their parts, and each thread reads those of its results.
  Value combineGroups(Value partial) {
    Value workspace = reduce.getWorkspace();
    int64_t groups = countGroups();
    Value own = getOwnGroup();
    auto position = [&](int64_t value) {
      Value linear = lowering.index(0);
      SmallVector<int64_t> offset = target.valueOffset(value);
      for (int64_t d = 0; d < target.getRank(); ++d) {
        Value coordinate = lowering.add(
            lowering.getScope().getThreadOffset(target, d), offset[d]);
        linear = lowering.add(lowering.mul(linear, target.getShape()[d]),
                              coordinate);
      }
      return linear;
    };
    SmallVector<Value> positions;
    for (int64_t value = 0; value < target.numValues(); ++value) {
      positions.push_back(position(value));
      Value scalar = vector::ExtractOp::create(b, loc, partial, value);
      lowering.store(scalar, workspace, {own, positions.back()},
                     /*guard=*/Value());
    }
    lowering.getScope().createBarrier();
    auto type = cast<VectorType>(partial.getType());
    auto read = [&](Value group) -> Value {
      auto parts = llvm::map_to_vector(positions, [&](Value position) {
        return lowering.load(workspace, {group, position}, 1,
                             /*guard=*/Value());
      });
      return vector::FromElementsOp::create(b, loc, type, parts);
    };
    Value result = read(lowering.index(0));
    if (groups * target.numValues() > kMostParts)
      return combineInLoop(result, groups, read);
    for (int64_t group = 1; group < groups; ++group)
      result = combine(result, read(lowering.index(group)));
    return result;
  }

  /// Combines `result` with what the groups behind the first one wrote, one
  /// group after another.
  Value combineInLoop(Value result, int64_t groups,
                      function_ref<Value(Value)> read) {
    auto loop =
        scf::ForOp::create(b, loc, lowering.index(1), lowering.index(groups),
                           lowering.index(1), result);
    OpBuilder::InsertionGuard saved(b);
    b.setInsertionPointToStart(loop.getBody());
    Value next =
        combine(loop.getRegionIterArg(0), read(loop.getInductionVar()));
    scf::YieldOp::create(b, loc, next);
    return loop.getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // In loops
  //===--------------------------------------------------------------------===//

  /// How loops go over a thread's values: each result has as many rounds as the
  /// others, and each round as many values, which lie alike in all of them.
  struct Walk {
    int64_t numRounds;
    NumberFormula results; ///< the first value of a result
    NumberFormula rounds;  ///< how far a round's values are from those
    /// How far values of a round are from its first one; and the same of where
    /// they are along the reduced dimension.
    SmallVector<int64_t> values, places;
    NumberFormula roundPlaces;
  };

  /// The digits of a number of values behind the first `taken`, of a layout
  /// whose digits have these extents; absent if that many are no whole digits.
  static std::optional<SmallVector<int64_t>>
  dropDigits(ArrayRef<int64_t> extents, int64_t taken) {
    SmallVector<int64_t> rest;
    for (int64_t extent : extents) {
      int64_t part = std::gcd(extent, taken);
      taken /= part;
      if (part != extent && taken != 1)
        return std::nullopt;
      rest.push_back(extent / part);
    }
    return rest;
  }

  /// Of `numbers`, those of rounds of `size`, if each is a sum of its round's
  /// first one and of what the first round has.
  static std::optional<SmallVector<int64_t>>
  takeFirsts(ArrayRef<int64_t> numbers, int64_t size) {
    SmallVector<int64_t> firsts;
    for (auto [i, number] : llvm::enumerate(numbers)) {
      if (i % size == 0)
        firsts.push_back(number);
      if (number - firsts.back() != numbers[i % size] - numbers.front())
        return std::nullopt;
    }
    return firsts;
  }

  /// How loops go over the values, if these lie alike in all results.
  std::optional<Walk> findWalk() {
    int64_t dim = reduce.getDim();
    SmallVector<SmallVector<int64_t>> groups = findGroups();
    SmallVector<int64_t> firsts, offsets, places;
    for (int64_t value : groups.front()) {
      offsets.push_back(value - groups.front().front());
      places.push_back(source.valueOffset(value)[dim]);
    }
    for (const SmallVector<int64_t> &group : groups) {
      firsts.push_back(group.front());
      for (auto [value, offset, place] :
           llvm::zip_equal(group, offsets, places))
        if (value - group.front() != offset ||
            source.valueOffset(value)[dim] != place)
          return std::nullopt;
    }
    SmallVector<int64_t> kept, reduced;
    for (layout::FragmentMode mode : target.getValueModes())
      kept.push_back(mode.extent);
    int64_t stride = 1;
    for (int64_t d = source.getRank() - 1; d > dim; --d)
      stride *= source.getShape()[d];
    for (layout::FragmentMode mode : source.getValueModes())
      if (mode.stride >= stride &&
          mode.stride < stride * source.getShape()[dim])
        reduced.push_back(mode.extent);
    if (llvm::product_of(reduced) != int64_t(offsets.size()))
      return std::nullopt;
    std::optional<NumberFormula> results = NumberFormula::find(firsts, kept);
    if (!results)
      return std::nullopt;
    for (int64_t size = kRoundValues; size > 0; --size) {
      std::optional<SmallVector<int64_t>> digits = dropDigits(reduced, size);
      if (offsets.size() % size != 0 || !digits)
        continue;
      auto roundOffsets = takeFirsts(offsets, size);
      auto roundPlaces = takeFirsts(places, size);
      if (!roundOffsets || !roundPlaces)
        continue;
      auto rounds = NumberFormula::find(*roundOffsets, *digits);
      auto where = NumberFormula::find(*roundPlaces, *digits);
      if (!rounds || !where)
        continue;
      return Walk{int64_t(roundOffsets->size()),
                  *results,
                  *rounds,
                  SmallVector<int64_t>(ArrayRef(offsets).take_front(size)),
                  SmallVector<int64_t>(ArrayRef(places).take_front(size)),
                  *where};
    }
    return std::nullopt;
  }

  /// Runs `body` in a loop, which carries a number if it begins with one.
  Value runLoop(int64_t begin, int64_t end, Value carried,
                function_ref<Value(Value, Value)> body) {
    if (end - begin == 1)
      return body(lowering.index(begin), carried);
    auto loop = scf::ForOp::create(
        b, loc, lowering.index(begin), lowering.index(end), lowering.index(1),
        carried ? ValueRange(carried) : ValueRange());
    OpBuilder::InsertionGuard saved(b);
    b.setInsertionPointToStart(loop.getBody());
    keepRolled(loop);
    if (!carried) {
      body(loop.getInductionVar(), Value());
      return {};
    }
    Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
    scf::YieldOp::create(b, loc, next);
    return loop.getResult(0);
  }

  /// Combines the values of one round.
  Value combineRound(const Walk &walk, Value first, Value round) {
    Value memory = lowering.getFragmentMemory(reduce.getSource());
    Type type = cast<MemRefType>(reduce.getSource().getType()).getElementType();
    int64_t dim = reduce.getDim();
    int64_t extent =
        cast<MemRefType>(reduce.getSource().getType()).getDimSize(dim);
    bool isPadded = source.getShape()[dim] != extent;
    Value place;
    if (isPadded)
      place = lowering.add(lowering.getScope().getThreadOffset(source, dim),
                           walk.roundPlaces.emit(lowering, round));
    first = lowering.add(first, walk.rounds.emit(lowering, round));
    SmallVector<Value> parts;
    for (auto [offset, along] : llvm::zip_equal(walk.values, walk.places)) {
      Value value = lowering.loadFrom(
          lowering.getElementAddress(memory, type, lowering.add(first, offset)),
          type);
      value = emitContribution(b, loc, reduce.getKind(),
                               convertElement(b, loc, value, compute));
      if (isPadded) {
        Value inside = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::ult,
            lowering.add(place, along - walk.places.front()),
            lowering.index(extent));
        Value neutral = arith::ConstantOp::create(
            b, loc, getNeutralElement(reduce.getKind(), compute));
        value = arith::SelectOp::create(b, loc, inside, value, neutral);
      }
      parts.push_back(value);
    }
    return combineAll(parts);
  }

  /// Where result `number` of the thread is in the workspace.
  Value getPlace(Value number) {
    Value linear = lowering.index(0);
    for (int64_t d = 0; d < target.getRank(); ++d)
      linear = lowering.add(
          lowering.mul(linear, target.getShape()[d]),
          lowering.add(lowering.getScope().getThreadOffset(target, d),
                       Rounds(target, 1).getOffset(lowering, number, d)));
    return linear;
  }

  void runInLoops(const Walk &walk) {
    Value workspace = reduce.getWorkspace();
    int64_t numResults = target.numValues();
    Value memory = lowering.getFragmentMemory(reduce.getTarget());
    VectorType type = lowering.getRegisterType(reduce.getTarget());
    Value results = memory;
    if (!memory) {
      results = lowering.createPrivate(loc, element, numResults);
      if (reduce.getAccumulate())
        lowering.storeElements(results,
                               lowering.readFragment(reduce.getTarget()));
    }
    auto finish = [&](Value number, Value partial) {
      Value address = lowering.getElementAddress(results, element, number);
      if (reduce.getAccumulate())
        partial =
            combine(convertElement(b, loc, lowering.loadFrom(address, element),
                                   compute),
                    partial);
      lowering.storeTo(address,
                       emitResult(b, loc, reduce.getKind(), partial, element));
    };
    Value own = workspace ? getOwnGroup() : Value();
    runLoop(0, numResults, Value(), [&](Value number, Value) {
      Value first = walk.results.emit(lowering, number);
      Value partial = combineRound(walk, first, lowering.index(0));
      if (walk.numRounds > 1)
        partial = runLoop(
            1, walk.numRounds, partial, [&](Value round, Value carried) {
              return combine(carried, combineRound(walk, first, round));
            });
      partial = combineLanes(partial);
      if (workspace)
        lowering.store(partial, workspace, {own, getPlace(number)},
                       /*guard=*/Value());
      else
        finish(number, partial);
      return Value();
    });
    if (workspace) {
      lowering.getScope().createBarrier();
      runLoop(0, numResults, Value(), [&](Value number, Value) {
        Value place = getPlace(number);
        auto read = [&](Value group) {
          return lowering.load(workspace, {group, place}, 1,
                               /*guard=*/Value());
        };
        Value partial = read(lowering.index(0));
        if (countGroups() > 1)
          partial = runLoop(1, countGroups(), partial,
                            [&](Value group, Value carried) {
                              return combine(carried, read(group));
                            });
        finish(number, partial);
        return Value();
      });
    }
    if (!memory)
      lowering.writeFragment(reduce.getTarget(),
                             lowering.loadElements(results, type));
  }

  ReduceOp reduce;
  ThreadLowering &lowering;
  OpBuilder &b;
  Location loc;
  /// `target` is the layout of the results, without the reduced dimension.
  FragmentLayout source, target;
  layout::ReductionSteps steps;
  Type element, compute;
};

} // namespace

LogicalResult tl::lowerReduce(ReduceOp reduce, ThreadLowering &lowering) {
  return ReduceLowering(reduce, lowering).run();
}
