//===- SyncConditions.cpp - What a state knows of conditions --------------===//

#include "SyncConditions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tl;
using namespace tl::sync;

namespace {

/// `base` (null for none) plus `constant`.
struct Linear {
  Value base;
  int64_t constant = 0;

  bool operator==(const Linear &) const = default;
};

/// True where `high` - `low` is at least `least`, and else false.
struct Test {
  Linear low, high;
  int64_t least;
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

Interval tl::sync::getDifference(const State &state, Value a, Value b) {
  Linear high = getLinear(a), low = getLinear(b);
  int64_t shift = high.constant - low.constant;
  if (high.base == low.base)
    return {shift, shift};
  auto it = state.numbers.differences.find(
      {high.base.getAsOpaquePointer(), low.base.getAsOpaquePointer()});
  Interval range =
      it == state.numbers.differences.end() ? Interval() : it->second;
  return range.plus(shift);
}

/// What is known of the difference of two values. If one is a loop's index
/// and the other its upper bound up to a constant, the constant is taken off
/// `shift`.
static Interval &getKnown(State &state, const Leaders &leaders, Value low,
                          Value high, int64_t &shift) {
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

/// What `condition` tests, if it is something of the kind.
static std::optional<Test> getTest(State &state, const Leaders &leaders,
                                   Value condition) {
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
    Interval &known = getKnown(state, leaders, distance->low.base,
                               distance->high.base, shift);
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

bool tl::sync::assume(State &state, const Leaders &leaders, Value condition,
                      bool holds) {
  std::optional<Test> test = getTest(state, leaders, condition);
  if (!test)
    return true;
  auto [low, high, least] = *test;
  if (low.base == high.base)
    return (high.constant - low.constant >= least) == holds;
  // What is known is of the values without their constants.
  int64_t shift = high.constant - low.constant;
  Interval &known = getKnown(state, leaders, low.base, high.base, shift);
  Interval range = known.plus(shift);
  if (holds)
    range.low = std::max(range.low, least);
  else
    range.high = std::min(range.high, least - 1);
  known = range.plus(-shift);
  return !range.isEmpty();
}
