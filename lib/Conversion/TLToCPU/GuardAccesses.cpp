//===- GuardAccesses.cpp - Bounds of single accesses ----------------------===//
//
// `tl.load`, `tl.store` and `tl.atomic` of device memory mean something out of
// bounds, and those of on-chip memory must not touch what is not the kernel's.
// So each is checked, and a check in a loop's body keeps LLVM from vectorising
// it. Most indices are sums and products of loop indices and of values known
// before the loops; for them the least and the greatest value can be computed
// up front, and one check there serves all iterations. What is left is checked
// one by one, unless an analysis of ranges shows that it is inside.
//
// Sound as long as arithmetic on `index` does not wrap: whoever builds it does
// what may not fit into 32 bits in `i32`.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"

#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Analysis/DataFlowFramework.h"
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

/// True for a tensor of `i1`. It is a byte, and any that is not zero is true.
static bool hasForeignBools(const View &view) {
  return view.getType().getElementType().isInteger(1) &&
         isInSpace(view.buffer, Space::Global);
}

/// The tensor of `i1` behind `view` as one of bytes.
static Value asBytes(OpBuilder &builder, Location loc, const View &view) {
  Type bytes = view.getType().clone(builder.getI8Type());
  return UnrealizedConversionCastOp::create(builder, loc, bytes, view.buffer)
      .getResult(0);
}

Value View::load(OpBuilder &builder, Location loc, ValueRange indices) const {
  if (!hasForeignBools(*this))
    return memref::LoadOp::create(builder, loc, buffer, at(indices));
  Value byte = memref::LoadOp::create(
      builder, loc, asBytes(builder, loc, *this), at(indices));
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 8);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, byte,
                               zero);
}

void View::store(OpBuilder &builder, Location loc, Value value,
                 ValueRange indices) const {
  if (!hasForeignBools(*this)) {
    memref::StoreOp::create(builder, loc, value, buffer, at(indices));
    return;
  }
  value = arith::ExtUIOp::create(builder, loc, builder.getI8Type(), value);
  memref::StoreOp::create(builder, loc, value, asBytes(builder, loc, *this),
                          at(indices));
}

void cpu::clampSlots(gpu::GPUFuncOp kernel) {
  kernel.walk([](SlotOp slot) {
    if (getConstantIntValue(slot.getIndex()))
      return;
    OpBuilder builder(slot);
    Location loc = slot.getLoc();
    auto type = cast<MemRefType>(slot.getSource().getType());
    Value last =
        arith::ConstantIndexOp::create(builder, loc, type.getDimSize(0) - 1);
    slot.getIndexMutable().assign(
        arith::MinUIOp::create(builder, loc, slot.getIndex(), last));
  });
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

static bool isAccess(Operation *op) {
  return isa<LoadOp, StoreOp, AtomicOp>(op);
}

/// The buffer that `op` accesses, and where.
static std::pair<Value, ValueRange> getAccess(Operation *op) {
  if (auto atomic = dyn_cast<AtomicOp>(op))
    return {atomic.getTarget(), atomic.getIndices()};
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
    if (isAccess(op))
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

namespace {
/// An access, and the dimensions in which it may be out of bounds.
struct ElementAccess {
  Operation *op;
  SmallVector<unsigned> unproven;
};
} // namespace

/// True if all that `index` can be is inside of an extent.
static bool isProvenInside(DataFlowSolver &solver, Value index,
                           int64_t extent) {
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return *constant >= 0 && *constant < extent;
  auto *state = solver.lookupState<dataflow::IntegerValueRangeLattice>(index);
  if (!state || state->getValue().isUninitialized())
    return false;
  const ConstantIntRanges &range = state->getValue().getValue();
  return range.smin().isNonNegative() && range.smax().slt(extent);
}

static ElementAccess examine(DataFlowSolver &solver, Operation *op) {
  ElementAccess access{op, {}};
  if (op->hasAttr(kInBoundsAttr))
    return access;
  auto [buffer, indices] = getAccess(op);
  auto type = cast<MemRefType>(buffer.getType());
  for (auto [dim, index] : llvm::enumerate(indices))
    if (type.isDynamicDim(dim) ||
        !isProvenInside(solver, index, type.getDimSize(dim)))
      access.unproven.push_back(dim);
  return access;
}

/// An `i1` that says whether `access` is in bounds; null if it need not be
/// asked.
static Value emitCheck(OpBuilder &builder, const ElementAccess &access) {
  auto [buffer, indices] = getAccess(access.op);
  Location loc = access.op->getLoc();
  Value all;
  for (unsigned dim : access.unproven) {
    Value extent = builder.createOrFold<memref::DimOp>(
        loc, buffer, static_cast<int64_t>(dim));
    // A negative index is a large one as an unsigned number.
    Value inside = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, indices[dim], extent);
    all = all ? builder.createOrFold<arith::AndIOp>(loc, all, inside) : inside;
  }
  return all;
}

static void lowerLoad(const ElementAccess &access) {
  auto load = cast<LoadOp>(access.op);
  OpBuilder builder(load);
  Location loc = load.getLoc();
  View view(load.getSource());
  Value result;
  if (Value inside = emitCheck(builder, access)) {
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

static void lowerStore(const ElementAccess &access) {
  auto store = cast<StoreOp>(access.op);
  OpBuilder builder(store);
  Location loc = store.getLoc();
  View view(store.getTarget());
  if (Value inside = emitCheck(builder, access)) {
    auto branch = scf::IfOp::create(builder, loc, inside, /*withElse=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  view.store(builder, loc, store.getValue(), store.getIndices());
  store.erase();
}

static void lowerAtomic(const ElementAccess &access) {
  auto atomic = cast<AtomicOp>(access.op);
  OpBuilder builder(atomic);
  Location loc = atomic.getLoc();
  Value result;
  if (Value inside = emitCheck(builder, access)) {
    auto branch = scf::IfOp::create(
        builder, loc, inside,
        [&](OpBuilder &then, Location) {
          scf::YieldOp::create(then, loc, cpu::emitAtomic(then, atomic));
        },
        [&](OpBuilder &otherwise, Location) {
          Value zero = arith::ConstantOp::create(
              otherwise, loc, builder.getZeroAttr(atomic.getOld().getType()));
          scf::YieldOp::create(otherwise, loc, zero);
        });
    result = branch.getResult(0);
  } else {
    result = cpu::emitAtomic(builder, atomic);
  }
  atomic.getOld().replaceAllUsesWith(result);
  atomic.erase();
}

LogicalResult cpu::lowerAccesses(gpu::GPUFuncOp kernel) {
  DataFlowSolver solver;
  dataflow::loadBaselineAnalyses(solver);
  solver.load<dataflow::IntegerRangeAnalysis>();
  if (failed(solver.initializeAndRun(kernel)))
    return failure();
  // All is decided before anything changes: the analysis knows values by their
  // addresses.
  SmallVector<ElementAccess> accesses;
  kernel.walk([&](Operation *op) {
    if (isAccess(op))
      accesses.push_back(examine(solver, op));
  });
  for (const ElementAccess &access : accesses) {
    if (isa<LoadOp>(access.op))
      lowerLoad(access);
    else if (isa<StoreOp>(access.op))
      lowerStore(access);
    else
      lowerAtomic(access);
  }
  return success();
}
