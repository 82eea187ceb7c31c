//===- LowerReduce.cpp - Reductions, from registers outwards --------------===//
//
// First the values of one thread, then the lanes of a warp by shuffles, then
// groups of threads through shared memory: as far as the source's layout
// spreads the reduced dimension. 16-bit floats are combined in f32.
//
// What must hold: the target lies as the source projected, so that each thread
// holds the results that its values take part in, and there is a workspace for
// all threads that shuffles do not reach. tl-verify-layouts checks both;
// `FragmentLayout::reductionSteps` says for both sides what shuffles reach.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"
#include "tl/Dialect/TL/IR/Combine.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Layout/FragmentRelations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using layout::FragmentLayout;
using layout::ThreadStep;

static constexpr int64_t kWarp = 32;
/// Parts that a thread reads one by one; more are read in a loop, because code
/// of thousands of reads takes seconds to compile.
static constexpr int64_t kMostParts = 256;

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
    Value values = convertElement(
        b, loc, lowering.readFragment(reduce.getSource()), compute);
    values = emitContribution(b, loc, reduce, values);
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
    lowering.writeFragment(reduce.getTarget(),
                           emitResult(b, loc, reduce, partial, element));
    return success();
  }

private:
  Value combine(Value x, Value y) { return emitCombine(b, loc, reduce, x, y); }

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
        DenseElementsAttr::get(cast<ShapedType>(values.getType()),
                               Attribute(getNeutralElement(reduce, compute))));
    return arith::SelectOp::create(b, loc, inside, values, neutral);
  }

  /// Combines the values of this thread that belong to one result, all results
  /// at once: a tree over vectors with one lane for each result.
  Value combineValues(Value values) {
    SmallVector<SmallVector<int64_t>> groups(target.numValues());
    for (int64_t value = 0; value < source.numValues(); ++value) {
      SmallVector<int64_t> position = source.valueOffset(value);
      position.erase(position.begin() + reduce.getDim());
      groups[target.findOwner(position)->value].push_back(value);
    }
    SmallVector<Value> rounds;
    for (size_t i = 0; i < groups.front().size(); ++i) {
      SmallVector<int64_t> lanes = llvm::map_to_vector(
          groups, [&](const SmallVector<int64_t> &group) { return group[i]; });
      rounds.push_back(
          vector::ShuffleOp::create(b, loc, values, values, lanes));
    }
    while (rounds.size() > 1) {
      SmallVector<Value> next;
      for (size_t i = 0; i + 1 < rounds.size(); i += 2)
        next.push_back(combine(rounds[i], rounds[i + 1]));
      if (rounds.size() % 2)
        next.push_back(rounds.back());
      rounds = std::move(next);
    }
    return rounds.front();
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
    auto type = cast<VectorType>(values.getType());
    SmallVector<Value> moved;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value scalar = vector::ExtractOp::create(b, loc, values, i);
      moved.push_back(shuffleScalar(scalar, distance));
    }
    return vector::FromElementsOp::create(b, loc, type, moved);
  }

  Value shuffleScalar(Value scalar, int64_t distance) {
    Type type = scalar.getType();
    // Shuffles move registers: small integers travel as i32.
    if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() < 32)
      scalar = arith::ExtSIOp::create(b, loc, b.getI32Type(), scalar);
    Value moved =
        gpu::ShuffleOp::create(b, loc, scalar, lowering.i32(distance),
                               lowering.i32(kWarp), gpu::ShuffleMode::XOR)
            .getShuffleResult();
    if (moved.getType() != type)
      moved = arith::TruncIOp::create(b, loc, type, moved);
    return moved;
  }

  /// Groups write their parts, and each thread reads those of its results.
  Value combineGroups(Value partial) {
    Value workspace = reduce.getWorkspace();
    int64_t groups = 1;
    Value own = lowering.index(0);
    for (const ThreadStep &step : steps.groups) {
      Value digit = lowering.rem(
          lowering.div(lowering.getScope().getThread(), step.divisor),
          step.extent);
      own = lowering.add(own, lowering.mul(digit, groups));
      groups *= step.extent;
    }
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
