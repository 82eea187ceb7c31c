//===- IndexBuilder.cpp - Index arithmetic of a kernel --------------------===//

#include "tl/Conversion/TLToThreads/IndexBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tl;

/// Coordinates fit 32 bits. Saying so lets LLVM move constants out of the
/// extension to 64 bits, into the offsets of loads and stores.
static constexpr arith::IntegerOverflowFlags kNoOverflow =
    arith::IntegerOverflowFlags::nsw;

IndexBuilder::IndexBuilder(gpu::GPUFuncOp kernel)
    : builder(kernel.getContext()), loc(kernel.getLoc()), kernel(kernel) {
  builder.setInsertionPointToStart(&kernel.getBody().front());
}

Value IndexBuilder::atEntry(function_ref<Value()> make) {
  OpBuilder::InsertionGuard saved(builder);
  if (entryEnd)
    builder.setInsertionPointAfter(entryEnd);
  else
    builder.setInsertionPointToStart(&kernel.getBody().front());
  Value value = make();
  Operation *op = value.getDefiningOp();
  if (op && op->getBlock() == &kernel.getBody().front() &&
      (!entryEnd || entryEnd->isBeforeInBlock(op)))
    entryEnd = op;
  return value;
}

std::optional<int64_t> tl::getConstant(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value IndexBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value IndexBuilder::add(Value a, Value b) {
  std::optional<int64_t> x = getConstant(a), y = getConstant(b);
  if (x && y)
    return index(*x + *y);
  if (x == 0)
    return b;
  if (y == 0)
    return a;
  return arith::AddIOp::create(builder, loc, a, b, kNoOverflow);
}

Value IndexBuilder::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, index(b));
}

Value IndexBuilder::mul(Value a, Value b) {
  std::optional<int64_t> x = getConstant(a), y = getConstant(b);
  if (x && y)
    return index(*x * *y);
  if (x == 0 || y == 0)
    return index(0);
  if (x == 1)
    return b;
  if (y == 1)
    return a;
  return arith::MulIOp::create(builder, loc, a, b, kNoOverflow);
}

Value IndexBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : mul(a, index(b));
}

Value IndexBuilder::div(Value a, int64_t b) {
  if (b == 1)
    return a;
  if (std::optional<int64_t> x = getConstant(a))
    return index(*x / b);
  return arith::DivUIOp::create(builder, loc, a, index(b));
}

Value IndexBuilder::rem(Value a, int64_t b) {
  if (b == 1)
    return index(0);
  if (std::optional<int64_t> x = getConstant(a))
    return index(*x % b);
  return arith::RemUIOp::create(builder, loc, a, index(b));
}

Value IndexBuilder::i32(int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

Value IndexBuilder::toI32(Value index) {
  return builder.createOrFold<arith::IndexCastOp>(loc, builder.getI32Type(),
                                                  index);
}

Value IndexBuilder::toI64(Value index) {
  return builder.createOrFold<arith::IndexCastOp>(loc, builder.getI64Type(),
                                                  index);
}

Value tl::named(Value value, StringRef name) {
  if (Operation *op = value.getDefiningOp())
    op->setLoc(
        NameLoc::get(StringAttr::get(value.getContext(), name), op->getLoc()));
  return value;
}
