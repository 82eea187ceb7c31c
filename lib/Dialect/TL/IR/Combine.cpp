//===- Combine.cpp - What reductions do to two elements -------------------===//
//
// See Combine.h.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Combine.h"
#include "tl/Dialect/TL/IR/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tl;

/// The integer that the others are at least, or at most, as big as.
static APInt getNeutralInteger(ReduceKind kind, unsigned width) {
  switch (kind) {
  case ReduceKind::Max:
  // The absolute value of the least integer is itself.
  case ReduceKind::AbsMax:
    return APInt::getSignedMinValue(width);
  case ReduceKind::Min:
    return APInt::getSignedMaxValue(width);
  case ReduceKind::UMin:
    return APInt::getMaxValue(width);
  case ReduceKind::UMax:
  case ReduceKind::Sum:
  case ReduceKind::AbsSum:
    return APInt::getZero(width);
  }
  llvm_unreachable("all kinds are handled");
}

TypedAttr tl::getNeutralElement(ReduceKind kind, Type type) {
  Builder builder(type.getContext());
  auto floatType = dyn_cast<FloatType>(type);
  if (!floatType)
    return builder.getIntegerAttr(
        type, getNeutralInteger(kind, type.getIntOrFloatBitWidth()));
  // The negative zero, so that a sum of negative zeros is one.
  if (kind == ReduceKind::Sum)
    return builder.getFloatAttr(type,
                                APFloat::getZero(floatType.getFloatSemantics(),
                                                 /*Negative=*/true));
  if (kind != ReduceKind::Max && kind != ReduceKind::Min)
    return builder.getZeroAttr(type);
  return builder.getFloatAttr(
      type, APFloat::getInf(floatType.getFloatSemantics(),
                            /*Negative=*/kind == ReduceKind::Max));
}

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

Value tl::emitContribution(OpBuilder &builder, Location loc, ReduceKind kind,
                           Value value) {
  if (kind != ReduceKind::AbsSum && kind != ReduceKind::AbsMax)
    return value;
  if (isFloat(value))
    return math::AbsFOp::create(builder, loc, value);
  return math::AbsIOp::create(builder, loc, value);
}

Value tl::emitResult(OpBuilder &builder, Location loc, ReduceKind kind,
                     Value value, Type to) {
  bool isHeld = kind != ReduceKind::Sum && kind != ReduceKind::AbsSum;
  return isHeld && isFloat(value) ? convertHeldElement(builder, loc, value, to)
                                  : convertElement(builder, loc, value, to);
}

Value tl::emitCombine(OpBuilder &builder, Location loc, ReduceKind kind,
                      Value a, Value b) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::AbsSum:
    if (isFloat(a))
      return arith::AddFOp::create(builder, loc, a, b);
    return arith::AddIOp::create(builder, loc, a, b);
  case ReduceKind::Max:
  case ReduceKind::AbsMax:
    if (isFloat(a))
      return arith::MaximumFOp::create(builder, loc, a, b);
    return arith::MaxSIOp::create(builder, loc, a, b);
  case ReduceKind::Min:
    if (isFloat(a))
      return arith::MinimumFOp::create(builder, loc, a, b);
    return arith::MinSIOp::create(builder, loc, a, b);
  case ReduceKind::UMax:
    return arith::MaxUIOp::create(builder, loc, a, b);
  case ReduceKind::UMin:
    return arith::MinUIOp::create(builder, loc, a, b);
  }
  llvm_unreachable("all kinds are handled");
}

Value tl::emitAtomicUpdate(OpBuilder &builder, Location loc, AtomicKind kind,
                           Value old, Value value) {
  switch (kind) {
  case AtomicKind::Add:
    if (isFloat(old))
      return arith::AddFOp::create(builder, loc, old, value);
    return arith::AddIOp::create(builder, loc, old, value);
  case AtomicKind::Min:
    if (isFloat(old))
      return arith::MinimumFOp::create(builder, loc, old, value);
    return arith::MinSIOp::create(builder, loc, old, value);
  case AtomicKind::Max:
    if (isFloat(old))
      return arith::MaximumFOp::create(builder, loc, old, value);
    return arith::MaxSIOp::create(builder, loc, old, value);
  case AtomicKind::UMin:
    return arith::MinUIOp::create(builder, loc, old, value);
  case AtomicKind::UMax:
    return arith::MaxUIOp::create(builder, loc, old, value);
  case AtomicKind::And:
    return arith::AndIOp::create(builder, loc, old, value);
  case AtomicKind::Or:
    return arith::OrIOp::create(builder, loc, old, value);
  case AtomicKind::Xor:
    return arith::XOrIOp::create(builder, loc, old, value);
  case AtomicKind::Exchange:
    return value;
  case AtomicKind::CompareExchange:
  case AtomicKind::Load:
    break;
  }
  llvm_unreachable("these compare, or write nothing");
}
