//===- Places.cpp - Addresses as sums -------------------------------------===//
//
// A sum of 32 bits is taken apart where it is seen not to wrap: it says so, or
// what is added is below a power of two that divides the rest.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/Places.h"

#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace tl;

static constexpr int64_t kSharedAlignment = 1024; // of `tl.shared_base`
static constexpr unsigned kIndexBits = 32;

static int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) *
                              static_cast<uint64_t>(b));
}

static void addTo(int64_t &sum, int64_t more) {
  sum = static_cast<int64_t>(static_cast<uint64_t>(sum) +
                             static_cast<uint64_t>(more));
}

/// True if the sum is, as signed numbers of any width, that of its operands.
static bool isExact(arith::AddIOp add) {
  if (add.getType().isInteger(64) ||
      bitEnumContainsAll(add.getOverflowFlags(),
                         arith::IntegerOverflowFlags::nsw))
    return true;
  APInt added;
  if (!matchPattern(add.getRhs(), m_ConstantInt(&added)) ||
      added.isNegative() || added.getActiveBits() > 31)
    return false;
  int64_t divisor = getDivisor(add.getLhs());
  return divisor == 0 || added.getSExtValue() < divisor;
}

/// What an index, as wide as `value`, is converted from without a change of its
/// value as a signed number.
static Value lookThroughCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto getWidth = [](Type type) {
      return type.isIndex() ? kIndexBits : type.getIntOrFloatBitWidth();
    };
    if (!isa<arith::IndexCastOp, arith::ExtSIOp>(op) ||
        getWidth(op->getOperand(0).getType()) >
            getWidth(op->getResult(0).getType()))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Adds `factor` times `value` to `place`.
static void addTerms(Value value, int64_t factor, Place &place) {
  SmallVector<std::pair<Value, int64_t>> work = {{value, factor}};
  while (!work.empty()) {
    auto [next, times] = work.pop_back_val();
    next = lookThroughCasts(next);
    APInt constant;
    if (matchPattern(next, m_ConstantInt(&constant))) {
      int64_t number = constant.getSExtValue();
      if (next.getType().isIndex())
        number = llvm::SignExtend64<kIndexBits>(number);
      addTo(place.offset, wrapMul(number, times));
      continue;
    }
    if (auto add = next.getDefiningOp<arith::AddIOp>(); add && isExact(add)) {
      work.push_back({add.getLhs(), times});
      work.push_back({add.getRhs(), times});
      continue;
    }
    auto mul = next.getDefiningOp<arith::MulIOp>();
    if (mul && mul.getType().isInteger(64) &&
        matchPattern(mul.getRhs(), m_ConstantInt(&constant))) {
      work.push_back({mul.getLhs(), wrapMul(constant.getSExtValue(), times)});
      continue;
    }
    addTo(place.terms[next], times);
  }
}

int64_t tl::getMemoryBytes(Type type) {
  if (!isa<IntegerType, FloatType>(type))
    return 0;
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits >= 8 && bits <= 64 && llvm::isPowerOf2_64(bits) ? bits / 8 : 0;
}

Place tl::getPlace(Value pointer) {
  Place place;
  while (auto step = pointer.getDefiningOp<LLVM::GEPOp>()) {
    int64_t bytes = getMemoryBytes(step.getElemType());
    if (bytes == 0 || step.getIndices().size() != 1)
      break;
    if (auto constant = dyn_cast<IntegerAttr>(step.getIndices()[0]))
      addTo(place.offset, wrapMul(constant.getInt(), bytes));
    else
      addTerms(cast<Value>(step.getIndices()[0]), bytes, place);
    pointer = step.getBase();
  }
  place.base = pointer;
  return place;
}

/// A power of two, 16 at most, that divides the address `base`.
static int64_t getAlignmentOfBase(Value base) {
  if (base.getDefiningOp<SharedBaseOp>())
    return kSharedAlignment;
  auto argument = dyn_cast<BlockArgument>(base);
  if (argument && !argument.getOwner()->isEntryBlock())
    return 1;
  auto kernel =
      base.getParentRegion()
          ? dyn_cast<gpu::GPUFuncOp>(base.getParentRegion()->getParentOp())
          : gpu::GPUFuncOp();
  if (!argument || !kernel)
    return 1;
  auto align =
      kernel.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kAlignAttr);
  return align ? align.getInt() : 1;
}

int64_t tl::getAlignment(const Place &place) {
  int64_t align = getAlignmentOfBase(place.base);
  for (auto [value, factor] : place.terms)
    align = std::gcd(align, wrapMul(getDivisor(value), factor) &
                                (kSharedAlignment - 1));
  return align;
}
