//===- IndexFacts.cpp - What is known of an index -------------------------===//
//
// Of what divides an index only powers of two up to 2^31 are told, because they
// alone survive that an index wraps around at 32 bits.
//
// Intervals are of signed numbers, as wide as their types. A result that may
// leave its type may wrap, and can be anything. What launches can be at most is
// in the CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability".
//
// What is computed behind a guard is computed of numbers that the guard lets
// pass: `k + 1` in `if n - k > 1` is less than n.
//
// Both questions follow an index to what it is computed from. Operands that
// many values share would be visited often, so that visits are counted.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/IndexFacts.h"

#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tl;

static constexpr int64_t kLargest = int64_t(1) << 31;
static constexpr unsigned kMaxVisits = 64;

//===----------------------------------------------------------------------===//
// Divisors
//===----------------------------------------------------------------------===//

namespace {
class Divisors {
public:
  int64_t get(Value index);

private:
  int64_t getOfSum(Value a, Value b) { return std::gcd(get(a), get(b)); }
  int64_t getOfResult(Operation *op);

  unsigned visits = 0;
};
} // namespace

/// The largest power of two in `value`.
static int64_t getPowerOfTwo(const APInt &value) {
  if (value.isZero())
    return 0;
  return int64_t(1) << std::min(value.countr_zero(), 31u);
}

int64_t Divisors::get(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return getPowerOfTwo(constant);
  if (++visits > kMaxVisits)
    return 1;
  if (Operation *op = index.getDefiningOp())
    return getOfResult(op);
  auto loop = dyn_cast<scf::ForOp>(index.getParentBlock()->getParentOp());
  if (loop && index == loop.getInductionVar())
    return getOfSum(loop.getLowerBound(), loop.getStep());
  return 1;
}

/// Whether it is the extent, known to a launch alone, of rows of a tensor.
static bool isExtentOfRows(memref::DimOp dim) {
  auto type = dyn_cast<MemRefType>(dim.getSource().getType());
  return type && type.getRank() > 0 && type.isDynamicDim(type.getRank() - 1) &&
         dim.getConstantIndex() == type.getRank() - 1;
}

int64_t Divisors::getOfResult(Operation *op) {
  // A remainder is the dividend less a multiple of the divisor.
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
          arith::RemSIOp, arith::RemUIOp, arith::OrIOp, arith::XOrIOp>(op))
    return getOfSum(op->getOperand(0), op->getOperand(1));
  // A bit that one of both does not have is not in what they share.
  if (isa<arith::AndIOp>(op)) {
    int64_t a = get(op->getOperand(0)), b = get(op->getOperand(1));
    return a == 0 || b == 0 ? 0 : std::max(a, b);
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return getOfSum(select.getTrueValue(), select.getFalseValue());
  if (isa<arith::MulIOp>(op))
    return std::min(get(op->getOperand(0)) * get(op->getOperand(1)), kLargest);
  APInt shift;
  if (isa<arith::ShLIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&shift)) && shift.ult(32))
    return std::min(get(op->getOperand(0)) << shift.getZExtValue(), kLargest);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return get(op->getOperand(0));
  if (auto dim = dyn_cast<memref::DimOp>(op))
    return isExtentOfRows(dim) ? getRowDivisor(dim.getSource()) : 1;
  // What a power of two divides, it divides exactly, however it rounds.
  APInt by;
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(op) &&
      matchPattern(op->getOperand(1), m_ConstantInt(&by)) && by.isPowerOf2() &&
      by.ult(kLargest)) {
    int64_t of = get(op->getOperand(0));
    return of == 0 ? 0 : std::max<int64_t>(of / by.getZExtValue(), 1);
  }
  return 1;
}

int64_t tl::getDivisor(Value index) { return Divisors().get(index); }

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

static constexpr unsigned kIndexBits = 32;
static constexpr int64_t kMaxThreads = 1024; // of a block
static constexpr int64_t kMaxBlocks = 65535; // along y and z of a grid
static constexpr int64_t kMultiprocessors = 108;

namespace {
struct Interval {
  int64_t least, greatest;

  bool isNonNegative() const { return least >= 0; }
};

class Intervals {
public:
  Interval get(Value value);

private:
  Interval find(Value value);
  Interval getAt(Value value, Operation *user);
  void narrow(Interval &interval, Value value, Value condition);
  void narrow(Interval &interval, Value value, arith::CmpIOp compare);
  Interval getOfCounter(Value lower, Value upper, Value step);
  Interval getOfResult(Operation *op);
  Interval getOfArithmetic(Operation *op, Interval a, Interval b);

  llvm::DenseMap<Value, Interval> known;
};
} // namespace

static unsigned getWidth(Type type) {
  return type.isIndex() ? kIndexBits : type.getIntOrFloatBitWidth();
}

static Interval getIntervalOfType(Type type) {
  unsigned width = std::min(getWidth(type), 64u);
  return {llvm::minIntN(width), llvm::maxIntN(width)};
}

Interval Intervals::get(Value value) {
  // Wider numbers are cut where they become an index.
  Interval all = getIntervalOfType(value.getType());
  if (getWidth(value.getType()) > kIndexBits)
    return all;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isSignedIntN(kIndexBits)
               ? Interval{constant.getSExtValue(), constant.getSExtValue()}
               : all;
  if (auto it = known.find(value); it != known.end())
    return it->second;
  if (known.size() == kMaxVisits)
    return all;
  known.insert({value, all});
  Interval found = find(value);
  if (found.least < all.least || found.greatest > all.greatest)
    found = all;
  return known[value] = found;
}

Interval Intervals::find(Value value) {
  if (Operation *op = value.getDefiningOp())
    return getOfResult(op);
  Operation *parent = value.getParentBlock()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent);
      loop && value == loop.getInductionVar() && !loop.getUnsignedCmp())
    return getOfCounter(loop.getLowerBound(), loop.getUpperBound(),
                        loop.getStep());
  if (auto loop = dyn_cast<PipelinedOp>(parent))
    return getOfCounter(loop.getLower(), loop.getUpper(), /*step=*/Value());
  return getIntervalOfType(value.getType());
}

/// What `value` may be where `user` is executed.
Interval Intervals::getAt(Value value, Operation *user) {
  Interval interval = get(value);
  Region *scope = value.getParentRegion();
  for (Region *region = user->getParentRegion(); region && region != scope;
       region = region->getParentRegion())
    if (auto branch = dyn_cast<scf::IfOp>(region->getParentOp());
        branch && region == &branch.getThenRegion())
      narrow(interval, value, branch.getCondition());
  return interval;
}

/// Leaves of `interval`, which `value` is in, what `condition` does.
void Intervals::narrow(Interval &interval, Value value, Value condition) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    narrow(interval, value, both.getLhs());
    narrow(interval, value, both.getRhs());
  } else if (auto compare = condition.getDefiningOp<arith::CmpIOp>()) {
    narrow(interval, value, compare);
  }
}

void Intervals::narrow(Interval &interval, Value value, arith::CmpIOp compare) {
  APInt constant;
  if (!interval.isNonNegative() ||
      !matchPattern(compare.getRhs(), m_ConstantInt(&constant)) ||
      !constant.isSignedIntN(kIndexBits) || constant.isNegative())
    return;
  int64_t limit = constant.getSExtValue();
  // Where a guard lets nothing pass, all numbers are as good as others.
  auto isAtMost = [&](int64_t greatest) {
    interval.greatest = std::clamp(greatest, interval.least, interval.greatest);
  };
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (compare.getLhs() == value && (predicate == arith::CmpIPredicate::slt ||
                                    predicate == arith::CmpIPredicate::ult))
    isAtMost(limit - 1);

  // A difference that is not negative does not wrap.
  auto left = compare.getLhs().getDefiningOp<arith::SubIOp>();
  if (left && left.getRhs() == value &&
      predicate == arith::CmpIPredicate::ugt &&
      matchPattern(left.getLhs(), m_ConstantInt(&constant)) &&
      constant.isSignedIntN(kIndexBits) &&
      interval.greatest <= constant.getSExtValue())
    isAtMost(constant.getSExtValue() - limit - 1);
}

Interval Intervals::getOfCounter(Value lower, Value upper, Value step) {
  Interval first = get(lower);
  if (!first.isNonNegative() || (step && !get(step).isNonNegative()))
    return getIntervalOfType(lower.getType());
  return {first.least, std::max(first.least, get(upper).greatest - 1)};
}

int64_t tl::getGridLimit(gpu::GPUFuncOp kernel, gpu::Dimension dimension) {
  auto limits = kernel
                    ? kernel->getAttrOfType<DenseI64ArrayAttr>(kGridLimitAttr)
                    : DenseI64ArrayAttr();
  if (limits)
    return limits[static_cast<unsigned>(dimension)];
  return dimension == gpu::Dimension::x ? llvm::maxIntN(kIndexBits)
                                        : kMaxBlocks;
}

int64_t tl::countBlocksOfGrid(gpu::GPUFuncOp kernel) {
  int64_t blocks = 1;
  for (auto dimension :
       {gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z})
    blocks *= std::max<int64_t>(getGridLimit(kernel, dimension), 1);
  return llvm::divideCeil(blocks, kMultiprocessors);
}

int64_t tl::getBlockExtent(gpu::GPUFuncOp kernel, gpu::Dimension dimension) {
  std::optional<ArrayRef<int32_t>> size;
  if (kernel)
    size = kernel.getKnownBlockSize();
  auto number = static_cast<unsigned>(dimension);
  return size && number < size->size() ? (*size)[number] : kMaxThreads;
}

Interval Intervals::getOfResult(Operation *op) {
  Interval all = getIntervalOfType(op->getResult(0).getType());
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  if (auto block = dyn_cast<gpu::BlockIdOp>(op))
    return {0, getGridLimit(kernel, block.getDimension()) - 1};
  if (auto grid = dyn_cast<gpu::GridDimOp>(op))
    return {0, getGridLimit(kernel, grid.getDimension())};
  if (auto thread = dyn_cast<gpu::ThreadIdOp>(op))
    return {0, getBlockExtent(kernel, thread.getDimension()) - 1};
  if (isa<gpu::BlockDimOp>(op))
    return {0, kMaxThreads};
  // What a lane gets is what some lane has, or what it had itself.
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op))
    return get(shuffle.getValue());
  if (isa<memref::DimOp>(op))
    return {0, all.greatest};
  if (isa<arith::ExtSIOp>(op))
    return get(op->getOperand(0));
  if (isa<arith::IndexCastOp>(op))
    return getWidth(op->getOperand(0).getType()) <=
                   getWidth(op->getResult(0).getType())
               ? get(op->getOperand(0))
               : all;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    Interval a = get(select.getTrueValue()), b = get(select.getFalseValue());
    return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
  }
  if (op->getNumOperands() != 2 || !isa<arith::ArithDialect>(op->getDialect()))
    return all;
  return getOfArithmetic(op, getAt(op->getOperand(0), op),
                         getAt(op->getOperand(1), op));
}

/// Quotients and remainders are told of where nothing is negative, so that
/// signed and unsigned ones are the same.
Interval Intervals::getOfArithmetic(Operation *op, Interval a, Interval b) {
  Interval all = getIntervalOfType(op->getResult(0).getType());
  if (isa<arith::AddIOp>(op))
    return {a.least + b.least, a.greatest + b.greatest};
  if (isa<arith::SubIOp>(op))
    return {a.least - b.greatest, a.greatest - b.least};
  if (isa<arith::MulIOp>(op)) {
    auto [least, greatest] =
        std::minmax({a.least * b.least, a.least * b.greatest,
                     a.greatest * b.least, a.greatest * b.greatest});
    return {least, greatest};
  }
  if (isa<arith::MinSIOp>(op))
    return {std::min(a.least, b.least), std::min(a.greatest, b.greatest)};
  if (isa<arith::MaxSIOp>(op))
    return {std::max(a.least, b.least), std::max(a.greatest, b.greatest)};
  // The sign of a signed remainder is that of the dividend.
  bool isMask = isa<arith::AndIOp>(op);
  if (isMask || isa<arith::RemUIOp>(op) ||
      (isa<arith::RemSIOp>(op) && a.isNonNegative())) {
    int64_t greatest = all.greatest;
    if (a.isNonNegative())
      greatest = a.greatest;
    if (b.isNonNegative())
      greatest = std::min(greatest, std::max(b.greatest - !isMask, int64_t(0)));
    return a.isNonNegative() || b.isNonNegative() ? Interval{0, greatest} : all;
  }
  if (!a.isNonNegative() || !b.isNonNegative())
    return all;
  int64_t smallest = std::max(b.least, int64_t(1));
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op))
    return {0, a.greatest / smallest};
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return {0, (a.greatest + smallest - 1) / smallest};
  return all;
}

std::optional<int64_t> tl::getGreatest(Value index) {
  Interval interval = Intervals().get(index);
  return interval.isNonNegative() ? std::optional(interval.greatest)
                                  : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

/// All bits from that of `low` on that a number up to `greatest` may have;
/// sums that do not fit wrap.
static uint32_t getBitsBetween(uint32_t low, uint64_t greatest) {
  uint32_t above = low == 0 ? 0 : ~((low & -low) - 1);
  if (greatest > UINT32_MAX)
    return above;
  return above & static_cast<uint32_t>(
                     (uint64_t(2) << llvm::Log2_64(greatest | 1)) - 1);
}

namespace {
class PossibleBits {
public:
  uint32_t get(Value index);

private:
  uint32_t getOfResult(Operation *op);
  static uint32_t getOfAnything(Value index);

  unsigned visits = 0;
};
} // namespace

uint32_t PossibleBits::getOfAnything(Value index) {
  int64_t divisor = getDivisor(index);
  if (divisor == 0)
    return 0;
  std::optional<int64_t> greatest = getGreatest(index);
  return getBitsBetween(static_cast<uint32_t>(divisor),
                        greatest ? *greatest : UINT64_MAX);
}

uint32_t PossibleBits::get(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return static_cast<uint32_t>(constant.getSExtValue());
  Operation *op = index.getDefiningOp();
  if (!op || index != op->getResult(0) || ++visits > kMaxVisits)
    return getOfAnything(index);
  return getOfResult(op);
}

uint32_t PossibleBits::getOfResult(Operation *op) {
  Value result = op->getResult(0);
  if (auto shuffle = dyn_cast<gpu::ShuffleOp>(op))
    return get(shuffle.getValue());
  // Of a narrower number the sign becomes bits of its own.
  if (isa<arith::IndexCastOp>(op) &&
      getWidth(op->getOperand(0).getType()) == kIndexBits)
    return get(op->getOperand(0));
  if (isa<arith::AddIOp>(op)) {
    uint32_t a = get(op->getOperand(0)), b = get(op->getOperand(1));
    // Where no bit can be in both, none is carried.
    return (a & b) == 0 ? a | b : getBitsBetween(a | b, uint64_t(a) + b);
  }
  APInt by;
  if (!isa<arith::MulIOp, arith::DivUIOp, arith::RemUIOp>(op) ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&by)) ||
      !by.isStrictlyPositive() || !by.isSignedIntN(kIndexBits))
    return getOfAnything(result);
  bool isPowerOfTwo = by.isPowerOf2();
  uint32_t a = get(op->getOperand(0));
  if (isa<arith::MulIOp>(op))
    return isPowerOfTwo
               ? a << by.logBase2()
               : getBitsBetween(a * static_cast<uint32_t>(getPowerOfTwo(by)),
                                uint64_t(a) * by.getZExtValue());
  if (!isPowerOfTwo)
    return getOfAnything(result);
  return isa<arith::DivUIOp>(op)
             ? a >> by.logBase2()
             : a & static_cast<uint32_t>(by.getZExtValue() - 1);
}

uint32_t tl::getPossibleBits(Value index) { return PossibleBits().get(index); }
