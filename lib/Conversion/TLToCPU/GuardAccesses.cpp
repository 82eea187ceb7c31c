//===- GuardAccesses.cpp - Bounds of single accesses ----------------------===//
//
// `tl.load` and `tl.store` of device memory mean something out of bounds, so
// each is checked, and a check in a loop's body keeps LLVM from vectorising it.
// Most indices are sums and products of loop indices and of values known before
// the loops; for them the least and the greatest value can be computed up
// front, and one check there serves all iterations.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tl;
using namespace tl::cpu;

/// Marks accesses that need no check. Does not outlive the pass.
static constexpr StringLiteral kInBoundsAttr = "tl.in_bounds";

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

View::View(Value value) : buffer(value) {
  while (auto slot = buffer.getDefiningOp<SlotOp>()) {
    slots.insert(slots.begin(), slot.getIndex());
    buffer = slot.getSource();
  }
}

SmallVector<Value> View::at(ValueRange indices) const {
  SmallVector<Value> position = slots;
  llvm::append_range(position, indices);
  return position;
}

Value View::load(OpBuilder &builder, Location loc, ValueRange indices) const {
  return memref::LoadOp::create(builder, loc, buffer, at(indices));
}

void View::store(OpBuilder &builder, Location loc, Value value,
                 ValueRange indices) const {
  memref::StoreOp::create(builder, loc, value, buffer, at(indices));
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

namespace {
/// The least and greatest value that something takes in a loop nest, as values
/// that are known before it.
struct Interval {
  Value low, high;
};

/// Computes intervals of the `index` values of a loop nest, in program order.
class NestIntervals {
public:
  explicit NestIntervals(scf::ForOp nest)
      : region(&nest.getRegion()), builder(nest), loc(nest.getLoc()) {
    nest.walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
  }

  /// The interval of `value`, if it is known.
  std::optional<Interval> get(Value value) const {
    if (isKnownBefore(value))
      return Interval{value, value};
    auto it = intervals.find(value);
    if (it == intervals.end())
      return std::nullopt;
    return it->second;
  }

  bool isKnownBefore(Value value) const {
    return !region->isAncestor(value.getParentRegion());
  }

  OpBuilder &getBuilder() { return builder; }

private:
  template <typename Op, typename... Args>
  Value fold(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  void visit(Operation *op);
  void visitLoop(scf::ForOp loop);
  std::optional<Interval> compute(Operation *op);
  Interval multiply(Interval a, Interval b);
  std::optional<Interval> divide(Operation *op, Interval a);
  std::optional<Interval> remainder(Operation *op, Interval a);

  Region *region;
  OpBuilder builder;
  Location loc;
  llvm::DenseMap<Value, Interval> intervals;
};
} // namespace

void NestIntervals::visit(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitLoop(loop);
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIndex())
    return;
  if (std::optional<Interval> interval = compute(op))
    intervals[op->getResult(0)] = *interval;
}

void NestIntervals::visitLoop(scf::ForOp loop) {
  std::optional<Interval> lower = get(loop.getLowerBound());
  std::optional<Interval> upper = get(loop.getUpperBound());
  if (!lower || !upper || !loop.getInductionVar().getType().isIndex())
    return;
  intervals[loop.getInductionVar()] = {
      lower->low, fold<arith::SubIOp>(upper->high, constant(1))};
}

std::optional<Interval> NestIntervals::compute(Operation *op) {
  if (std::optional<int64_t> value = getConstantIntValue(op->getResult(0))) {
    Value copy = constant(*value);
    return Interval{copy, copy};
  }
  SmallVector<Interval, 2> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Interval> interval = get(operand);
    if (!interval)
      return std::nullopt;
    operands.push_back(*interval);
  }
  using Result = std::optional<Interval>;
  return TypeSwitch<Operation *, Result>(op)
      .Case([&](arith::AddIOp) -> Result {
        return Interval{
            fold<arith::AddIOp>(operands[0].low, operands[1].low),
            fold<arith::AddIOp>(operands[0].high, operands[1].high)};
      })
      .Case([&](arith::SubIOp) -> Result {
        return Interval{fold<arith::SubIOp>(operands[0].low, operands[1].high),
                        fold<arith::SubIOp>(operands[0].high, operands[1].low)};
      })
      .Case([&](arith::MulIOp) -> Result {
        return multiply(operands[0], operands[1]);
      })
      .Case([&](arith::MaxSIOp) -> Result {
        return Interval{
            fold<arith::MaxSIOp>(operands[0].low, operands[1].low),
            fold<arith::MaxSIOp>(operands[0].high, operands[1].high)};
      })
      .Case([&](arith::MinSIOp) -> Result {
        return Interval{
            fold<arith::MinSIOp>(operands[0].low, operands[1].low),
            fold<arith::MinSIOp>(operands[0].high, operands[1].high)};
      })
      .Case<arith::DivSIOp, arith::FloorDivSIOp>(
          [&](Operation *) -> Result { return divide(op, operands[0]); })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](Operation *) -> Result { return remainder(op, operands[0]); })
      .Case([&](arith::IndexCastOp cast) -> Result {
        // Only an integer known before the nest gets here.
        Value copy = fold<arith::IndexCastOp>(cast.getType(), cast.getIn());
        return Interval{copy, copy};
      })
      .Default(std::nullopt);
}

/// The signs of the factors are not known: the bounds are among the four
/// products of bounds.
Interval NestIntervals::multiply(Interval a, Interval b) {
  Value products[] = {
      fold<arith::MulIOp>(a.low, b.low), fold<arith::MulIOp>(a.low, b.high),
      fold<arith::MulIOp>(a.high, b.low), fold<arith::MulIOp>(a.high, b.high)};
  Interval result{products[0], products[0]};
  for (Value product : ArrayRef(products).drop_front()) {
    result.low = fold<arith::MinSIOp>(result.low, product);
    result.high = fold<arith::MaxSIOp>(result.high, product);
  }
  return result;
}

/// Division by a positive constant keeps order.
std::optional<Interval> NestIntervals::divide(Operation *op, Interval a) {
  std::optional<int64_t> divisor = getConstantIntValue(op->getOperand(1));
  if (!divisor || *divisor <= 0)
    return std::nullopt;
  Value by = constant(*divisor);
  if (isa<arith::DivSIOp>(op))
    return Interval{fold<arith::DivSIOp>(a.low, by),
                    fold<arith::DivSIOp>(a.high, by)};
  return Interval{fold<arith::FloorDivSIOp>(a.low, by),
                  fold<arith::FloorDivSIOp>(a.high, by)};
}

/// The remainder by a positive constant; a signed one may be negative if the
/// dividend may.
std::optional<Interval> NestIntervals::remainder(Operation *op, Interval a) {
  std::optional<int64_t> divisor = getConstantIntValue(op->getOperand(1));
  if (!divisor || *divisor <= 0)
    return std::nullopt;
  Value zero = constant(0), greatest = constant(*divisor - 1);
  if (isa<arith::RemUIOp>(op))
    return Interval{zero, greatest};
  Value positive = fold<arith::CmpIOp>(arith::CmpIPredicate::sge, a.low, zero);
  return Interval{fold<arith::SelectOp>(positive, zero, constant(1 - *divisor)),
                  greatest};
}

//===----------------------------------------------------------------------===//
// Versioning of nests
//===----------------------------------------------------------------------===//

/// The buffer that `op`, a `tl.load` or `tl.store`, accesses, and where.
static std::pair<Value, ValueRange> getAccess(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return {load.getSource(), load.getIndices()};
  auto store = cast<StoreOp>(op);
  return {store.getTarget(), store.getIndices()};
}

/// A condition, computed before the nest, under which `access` is in bounds
/// throughout; null if none can be computed.
static Value getGuard(NestIntervals &intervals, Operation *access) {
  OpBuilder &builder = intervals.getBuilder();
  Location loc = access->getLoc();
  auto [buffer, indices] = getAccess(access);
  if (!intervals.isKnownBefore(buffer))
    return {};
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value all = arith::ConstantIntOp::create(builder, loc, 1, 1);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    std::optional<Interval> interval = intervals.get(index);
    if (!interval)
      return {};
    Value extent = builder.createOrFold<memref::DimOp>(
        loc, buffer, static_cast<int64_t>(dim));
    Value low = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::sge, interval->low, zero);
    Value high = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::slt, interval->high, extent);
    all = builder.createOrFold<arith::AndIOp>(loc, all, low);
    all = builder.createOrFold<arith::AndIOp>(loc, all, high);
  }
  return all;
}

void cpu::hoistGuards(scf::ForOp nest) {
  SmallVector<Operation *> accesses;
  nest.walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp>(op) &&
        isInSpace(getAccess(op).first, Space::Global))
      accesses.push_back(op);
  });
  if (accesses.empty())
    return;

  NestIntervals intervals(nest);
  OpBuilder &builder = intervals.getBuilder();
  Location loc = nest.getLoc();
  Value inside = arith::ConstantIntOp::create(builder, loc, 1, 1);
  SmallVector<Operation *> guarded;
  for (Operation *access : accesses)
    if (Value guard = getGuard(intervals, access)) {
      inside = builder.createOrFold<arith::AndIOp>(loc, inside, guard);
      guarded.push_back(access);
    }
  if (guarded.empty())
    return;

  Operation *checked = nullptr;
  if (!isConstantIntValue(inside, 1))
    checked = nest->clone();
  for (Operation *access : guarded)
    access->setAttr(kInBoundsAttr, builder.getUnitAttr());
  if (!checked)
    return;
  auto version = scf::IfOp::create(builder, loc, inside, /*withElse=*/true);
  nest->moveBefore(version.thenBlock(), version.thenBlock()->begin());
  version.elseBlock()->push_front(checked);
}

//===----------------------------------------------------------------------===//
// Single accesses
//===----------------------------------------------------------------------===//

/// An `i1` that says whether `access` is in bounds; null if it need not be
/// asked.
static Value emitCheck(OpBuilder &builder, Operation *access) {
  auto [buffer, indices] = getAccess(access);
  if (!isInSpace(buffer, Space::Global) || access->hasAttr(kInBoundsAttr))
    return {};
  Location loc = access->getLoc();
  Value all = arith::ConstantIntOp::create(builder, loc, 1, 1);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value extent = builder.createOrFold<memref::DimOp>(
        loc, buffer, static_cast<int64_t>(dim));
    // A negative index is a large one as an unsigned number.
    Value inside = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, index, extent);
    all = builder.createOrFold<arith::AndIOp>(loc, all, inside);
  }
  return isConstantIntValue(all, 1) ? Value() : all;
}

static void lowerLoad(LoadOp load) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  View view(load.getSource());
  Value result;
  if (Value inside = emitCheck(builder, load)) {
    Type type = load.getType();
    auto branch = scf::IfOp::create(
        builder, loc, inside,
        [&](OpBuilder &then, Location) {
          scf::YieldOp::create(then, loc,
                               view.load(then, loc, load.getIndices()));
        },
        [&](OpBuilder &otherwise, Location) {
          Value zero = arith::ConstantOp::create(otherwise, loc,
                                                 builder.getZeroAttr(type));
          scf::YieldOp::create(otherwise, loc, zero);
        });
    result = branch.getResult(0);
  } else {
    result = view.load(builder, loc, load.getIndices());
  }
  load.replaceAllUsesWith(result);
  load.erase();
}

static void lowerStore(StoreOp store) {
  OpBuilder builder(store);
  Location loc = store.getLoc();
  View view(store.getTarget());
  if (Value inside = emitCheck(builder, store)) {
    auto branch = scf::IfOp::create(builder, loc, inside, /*withElse=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  view.store(builder, loc, store.getValue(), store.getIndices());
  store.erase();
}

void cpu::lowerAccesses(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> accesses;
  kernel.walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp>(op))
      accesses.push_back(op);
  });
  for (Operation *access : accesses) {
    if (auto load = dyn_cast<LoadOp>(access))
      lowerLoad(load);
    else
      lowerStore(cast<StoreOp>(access));
  }
}
