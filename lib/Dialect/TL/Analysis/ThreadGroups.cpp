//===- ThreadGroups.cpp - Which threads have the same value ---------------===//
//
// Values that two groups' sizes say something of are the same in groups of the
// greatest common divisor. 0, for all threads, is divided by every number, as
// it should be.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ThreadGroups.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace tl;

static constexpr int64_t kWarp = 32;

ThreadGroups::ThreadGroups(gpu::GPUFuncOp kernel) {
  ArrayRef<int32_t> extents = *kernel.getKnownBlockSize();
  isLine = llvm::all_of(extents.drop_front(), [](int32_t x) { return x == 1; });
  // What loops carry is the same for all until something shows otherwise.
  while (changed) {
    changed = false;
    kernel.getBody().walk<WalkOrder::PreOrder>(
        [&](Operation *op) { visit(op); });
  }
}

void ThreadGroups::set(Value value, int64_t size) {
  int64_t &known = sizes[value];
  int64_t both = std::gcd(known, size);
  changed |= both != known;
  known = both;
}

int64_t ThreadGroups::getCommonSize(ValueRange values) const {
  int64_t size = 0;
  for (Value value : values)
    size = std::gcd(size, getSize(value));
  return size;
}

/// The positive constant that `value` is, or 0.
static int64_t getPositive(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)) ||
      constant.getActiveBits() > 31)
    return 0;
  return constant.getZExtValue();
}

/// If `value` is the number of the thread divided by a constant, rounded down,
/// that constant; else 0.
int64_t ThreadGroups::getDivisor(Value value) const {
  Operation *op = value.getDefiningOp();
  if (auto id = dyn_cast_or_null<gpu::ThreadIdOp>(op))
    return isLine && id.getDimension() == gpu::Dimension::x;
  if (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    return getDivisor(op->getOperand(0));
  if (auto quotient = dyn_cast_or_null<arith::DivUIOp>(op))
    return getDivisor(quotient.getLhs()) * getPositive(quotient.getRhs());
  if (auto shift = dyn_cast_or_null<arith::ShRUIOp>(op))
    return getDivisor(shift.getLhs())
           << std::min<int64_t>(getPositive(shift.getRhs()), 31);
  // Where a warp has the same, each lane gets what it has.
  if (auto shuffle = dyn_cast_or_null<gpu::ShuffleOp>(op))
    if (value == shuffle.getShuffleResult() &&
        getSize(shuffle.getValue()) % kWarp == 0)
      return getDivisor(shuffle.getValue());
  return 0;
}

/// If `op` says on which side of a bound the thread's number is, the size of
/// groups that have all their threads on one side; else 0.
int64_t ThreadGroups::getComparedSize(Operation *op) const {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare)
    return 0;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::ult:
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::uge:
  case arith::CmpIPredicate::sge:
    return getDivisor(compare.getLhs()) * getPositive(compare.getRhs());
  default:
    return 0;
  }
}

int64_t ThreadGroups::getResultSize(Operation *op) const {
  // An atomic operation finds what the threads before have left.
  if (isa<gpu::ThreadIdOp, AtomOp>(op))
    return 1;
  if (op->getNumResults() > 0)
    if (int64_t divisor = getDivisor(op->getResult(0)))
      return divisor;
  if (int64_t size = getComparedSize(op))
    return size;
  int64_t size = getCommonSize(op->getOperands());
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op)) {
    // One lane of each warp gives all others what it has.
    bool isBroadcast = shuffle.getMode() == gpu::ShuffleMode::IDX &&
                       getSize(shuffle.getOffset()) == 0 &&
                       getPositive(shuffle.getWidth()) == kWarp;
    if (isBroadcast && size % kWarp != 0)
      return kWarp;
  }
  // All lanes get the same, whatever each of them says.
  if (op->getName().getStringRef() == "nvvm.vote.sync" && size % kWarp != 0)
    return kWarp;
  return size;
}

void ThreadGroups::visit(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    int64_t bounds = getCommonSize(
        {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    set(loop.getInductionVar(), bounds);
    for (auto [init, argument, yielded, result] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                         loop.getYieldedValues(), loop.getResults())) {
      set(argument, getCommonSize({init, yielded}));
      set(result, std::gcd(bounds, getSize(argument)));
    }
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    scf::ConditionOp end = loop.getConditionOp();
    for (auto [init, argument, yielded] :
         llvm::zip_equal(loop.getInits(), loop.getBeforeArguments(),
                         loop.getYieldOp().getOperands()))
      set(argument, getCommonSize({init, yielded}));
    for (auto [value, argument, result] : llvm::zip_equal(
             end.getArgs(), loop.getAfterArguments(), loop.getResults())) {
      set(argument, getSize(value));
      set(result, getCommonSize({end.getCondition(), value}));
    }
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (OpResult result : branch.getResults()) {
      unsigned i = result.getResultNumber();
      set(result, getCommonSize({branch.getCondition(),
                                 branch.thenYield().getOperand(i),
                                 branch.elseYield().getOperand(i)}));
    }
  } else {
    int64_t size = getResultSize(op);
    for (Value result : op->getResults())
      set(result, size);
  }
}
