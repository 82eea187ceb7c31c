//===- IndexFacts.cpp - What is known of an index -------------------------===//
//
// Of what divides an index only powers of two up to 2^31 are told, because they
// alone survive that an index wraps around at 32 bits.
//
// Both questions follow an index to what it is computed from. Operands that
// many values share would be visited often, so that visits are counted.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/IndexFacts.h"

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

int64_t Divisors::getOfResult(Operation *op) {
  // A remainder is the dividend less a multiple of the divisor.
  if (isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
          arith::RemSIOp, arith::RemUIOp>(op))
    return getOfSum(op->getOperand(0), op->getOperand(1));
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
  return 1;
}

int64_t tl::getDivisor(Value index) { return Divisors().get(index); }

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

namespace {
class Signs {
public:
  bool isNonNegative(Value index);

private:
  bool isResultNonNegative(Operation *op);

  unsigned visits = 0;
};
} // namespace

bool Signs::isNonNegative(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return constant.isNonNegative();
  if (++visits > kMaxVisits)
    return false;
  if (Operation *op = index.getDefiningOp())
    return isResultNonNegative(op);
  Operation *parent = index.getParentBlock()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent);
      loop && index == loop.getInductionVar())
    return isNonNegative(loop.getLowerBound()) && isNonNegative(loop.getStep());
  if (auto loop = dyn_cast<PipelinedOp>(parent))
    return isNonNegative(loop.getLower());
  return false;
}

/// Whether `op` drops no bits: `index` has 32.
static bool keepsWidth(Operation *op) {
  auto getWidth = [](Type type) {
    return type.isIndex() ? 32 : type.getIntOrFloatBitWidth();
  };
  return getWidth(op->getResult(0).getType()) >=
         getWidth(op->getOperand(0).getType());
}

bool Signs::isResultNonNegative(Operation *op) {
  auto operand = [&](unsigned i) { return isNonNegative(op->getOperand(i)); };
  if (isa<gpu::BlockIdOp, gpu::ThreadIdOp, gpu::BlockDimOp, gpu::GridDimOp,
          memref::DimOp>(op))
    return true;
  if (isa<arith::AddIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp,
          arith::FloorDivSIOp, arith::MinSIOp>(op))
    return operand(0) && operand(1);
  if (isa<arith::MaxSIOp, arith::AndIOp, arith::RemUIOp>(op))
    return operand(0) || operand(1);
  // The sign of a signed remainder is that of the dividend.
  if (isa<arith::RemSIOp, arith::ExtSIOp>(op))
    return operand(0);
  if (isa<arith::IndexCastOp>(op))
    return keepsWidth(op) && operand(0);
  if (isa<arith::SelectOp>(op))
    return operand(1) && operand(2);
  return false;
}

bool tl::isNonNegative(Value index) { return Signs().isNonNegative(index); }
