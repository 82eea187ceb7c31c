//===- ExactFactors.cpp - Tiles of f32 that tf32 holds --------------------===//
//
// tf32 is f32 without the lower 13 bits of the significand: it has those of
// f16, and bf16 and the floats of 8 bits have fewer, none a wider exponent than
// f32. What was extended from one of them is left as it is by rounding, and by
// leaving out those bits: a NaN keeps a bit above them that is set.
//
// Holds of a buffer if each op that touches it is known here and writes such
// numbers or nothing.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ExactFactors.h"

#include "tl/Dialect/TL/Analysis/Effects.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tl;

/// Bits of a significand of tf32, with the one that is not stored, and those of
/// f32 that it has not.
static constexpr unsigned kPrecision = 11, kBitsLeftOut = 13;

static bool isNarrow(Type type) {
  auto narrow = dyn_cast<FloatType>(type);
  return narrow && narrow.getWidth() <= 16 &&
         APFloat::semanticsPrecision(narrow.getFloatSemantics()) <= kPrecision;
}

static bool isNarrow(Value value) {
  if (auto extended = value.getDefiningOp<arith::ExtFOp>())
    return isNarrow(extended.getIn().getType());
  APFloat number(0.0f);
  return matchPattern(value, m_ConstantFloat(&number)) &&
         number.bitcastToAPInt().countr_zero() >= kBitsLeftOut;
}

/// True if `use` leaves its buffer alone, or writes narrow numbers only.
static bool keepsNarrow(OpOperand &use) {
  Operation *user = use.getOwner();
  // What a wait hands on is what the product has read.
  if (onlyReads(user, use.get()) || isa<WaitGemmOp>(user))
    return true;
  if (auto copy = dyn_cast<CopyOp>(user))
    return use == copy.getTargetMutable() &&
           isNarrow(
               cast<MemRefType>(copy.getSource().getType()).getElementType());
  if (auto fill = dyn_cast<FillOp>(user))
    return isNarrow(fill.getValue());
  if (auto store = dyn_cast<StoreOp>(user))
    return use == store.getTargetMutable() && isNarrow(store.getValue());
  return false;
}

bool tl::holdsNarrowNumbers(Value buffer) {
  SmallVector<Value> worklist = {buffer};
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses())
      if (auto slot = dyn_cast<SlotOp>(use.getOwner()))
        worklist.push_back(slot.getResult());
      else if (!keepsNarrow(use))
        return false;
  return true;
}
