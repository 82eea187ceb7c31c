//===- ExactFactors.cpp - Tiles of f32 that tf32 holds --------------------===//
//
// tf32 is f32 without the lower 13 bits of the significand: it has those of
// f16, and bf16 and the floats of 8 bits have fewer, none a wider exponent than
// f32. What was extended from one of them is left as it is by rounding, and by
// leaving out those bits: a NaN keeps a bit above them that is set.
//
// Holds of a buffer if each op that touches it is known here and writes such
// numbers or nothing: numbers that were extended, constants, one of such
// numbers, or what another buffer holds of which this is true.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/ExactFactors.h"

#include "tl/Dialect/TL/Analysis/Effects.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

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

namespace {

/// What has to hold narrow numbers for a buffer to do so. A buffer that is read
/// in order to be written, by itself or in turn with others, holds what was
/// written to it before, so that all of them are narrow if nothing else is
/// written.
class NarrowNumbers {
public:
  explicit NarrowNumbers(Value buffer) { buffers.insert(buffer); }

  bool hold();

private:
  bool addBuffer(Value buffer);
  bool checkValue(Value value);
  bool checkUse(OpOperand &use);

  /// Both grow while they are walked over.
  SetVector<Value> buffers, values;
};

} // namespace

/// Adds the allocation of `buffer`. Of other memory nobody knows what was
/// written to it.
bool NarrowNumbers::addBuffer(Value buffer) {
  while (auto slot = buffer.getDefiningOp<SlotOp>())
    buffer = slot.getSource();
  if (!buffer.getDefiningOp<AllocOp>() ||
      !cast<MemRefType>(buffer.getType()).getElementType().isF32())
    return false;
  buffers.insert(buffer);
  return true;
}

/// True if `value` is narrow, or one of others, which are added.
bool NarrowNumbers::checkValue(Value value) {
  if (auto extended = value.getDefiningOp<arith::ExtFOp>())
    return isNarrow(extended.getIn().getType());
  if (auto select = value.getDefiningOp<arith::SelectOp>()) {
    values.insert(select.getTrueValue());
    values.insert(select.getFalseValue());
    return true;
  }
  if (auto branch = value.getDefiningOp<scf::IfOp>()) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
      values.insert(yield.getOperand(number));
    return true;
  }
  if (auto load = value.getDefiningOp<LoadOp>())
    return addBuffer(load.getSource());
  APFloat number(0.0f);
  return matchPattern(value, m_ConstantFloat(&number)) &&
         number.bitcastToAPInt().countr_zero() >= kBitsLeftOut;
}

/// True if `use` leaves its buffer alone, or writes narrow numbers only.
bool NarrowNumbers::checkUse(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto slot = dyn_cast<SlotOp>(user)) {
    buffers.insert(slot.getResult());
    return true;
  }
  // What a wait hands on is what the product has read.
  if (onlyReads(user, use.get()) || isa<WaitGemmOp>(user))
    return true;
  if (auto copy = dyn_cast<CopyOp>(user))
    return use == copy.getTargetMutable() &&
           (isNarrow(cast<MemRefType>(copy.getSource().getType())
                         .getElementType()) ||
            addBuffer(copy.getSource()));
  if (auto fill = dyn_cast<FillOp>(user))
    return checkValue(fill.getValue());
  if (auto store = dyn_cast<StoreOp>(user))
    return use == store.getTargetMutable() && checkValue(store.getValue());
  return false;
}

bool NarrowNumbers::hold() {
  size_t nextBuffer = 0, nextValue = 0;
  while (nextBuffer < buffers.size() || nextValue < values.size())
    if (nextValue < values.size()) {
      if (!checkValue(values[nextValue++]))
        return false;
    } else {
      for (OpOperand &use : buffers[nextBuffer++].getUses())
        if (!checkUse(use))
          return false;
    }
  return true;
}

bool tl::holdsNarrowNumbers(Value buffer) {
  return NarrowNumbers(buffer).hold();
}
