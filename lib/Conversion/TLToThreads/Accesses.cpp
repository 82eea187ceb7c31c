//===- Accesses.cpp - Addresses and accesses of memory --------------------===//
//
// The memory of `ThreadLowering`: where elements are in each space, how wide an
// access may be, and loads and stores that leave out what is out of bounds.
//
//===----------------------------------------------------------------------===//

#include "tl/Conversion/TLToThreads/ThreadLowering.h"

#include "tl/Dialect/TL/Analysis/IndexFacts.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Iterations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tl;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Type tl::getStorageType(Type element) {
  bool isByte =
      element.isInteger(1) || isa<Float8E4M3FNType, Float8E5M2Type>(element);
  return isByte ? IntegerType::get(element.getContext(), 8) : element;
}

static int64_t getBytes(Type element) {
  return getStorageType(element).getIntOrFloatBitWidth() / 8;
}

Value ThreadLowering::getGlobalAddress(Value buffer, ValueRange indices) {
  Value base = signature.getBase(buffer);
  Value offset;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (getConstant(index) == 0)
      continue;
    // Offsets into device memory exceed 32 bits.
    Value term =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
    if (getStrides(cast<MemRefType>(buffer.getType()))[dim] != 1)
      term = arith::MulIOp::create(builder, loc, term,
                                   signature.getStride(buffer, dim));
    offset = offset
                 ? arith::AddIOp::create(builder, loc, offset, term).getResult()
                 : term;
  }
  if (!offset)
    return base;
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  return LLVM::GEPOp::create(builder, loc, base.getType(),
                             getStorageType(element), base,
                             ArrayRef<LLVM::GEPArg>(offset));
}

Value ThreadLowering::createPrivate(Location place, Type element,
                                    int64_t count) {
  return atEntry([&]() -> Value {
    return LLVM::AllocaOp::create(
        builder, place, LLVM::LLVMPointerType::get(builder.getContext()),
        getStorageType(element), i32(count));
  });
}

Value ThreadLowering::getPrivateAddress(Value view, ValueRange indices) {
  Value offset = index(0);
  for (auto [dim, position] : llvm::enumerate(indices))
    offset = add(mul(offset, cast<MemRefType>(view.getType()).getDimSize(dim)),
                 position);
  while (auto slot = view.getDefiningOp<SlotOp>()) {
    int64_t elements =
        cast<MemRefType>(slot.getView().getType()).getNumElements();
    offset = add(offset, mul(slot.getIndex(), elements));
    view = slot.getSource();
  }
  auto type = cast<MemRefType>(view.getType());
  Value &base = privates[view];
  if (!base)
    base = createPrivate(view.getLoc(), type.getElementType(),
                         type.getNumElements());
  return getElementAddress(base, type.getElementType(), offset);
}

void ThreadLowering::fillPrivate(Value buffer, Value value) {
  auto type = cast<MemRefType>(buffer.getType());
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> indices(type.getRank());
    int64_t rest = i;
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      indices[d] = index(rest % type.getDimSize(d));
      rest /= type.getDimSize(d);
    }
    store(value, buffer, indices, Value());
  }
}

Value ThreadLowering::getAddress(Value buffer, ValueRange indices) {
  switch (*getSpace(cast<MemRefType>(buffer.getType()))) {
  case Space::Global:
    return getGlobalAddress(buffer, indices);
  case Space::Shared:
    return shared.getAddress(buffer, indices);
  case Space::Private:
    return getPrivateAddress(buffer, indices);
  case Space::Fragment:
    break;
  }
  llvm_unreachable("fragments have no addresses");
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

int64_t ThreadLowering::getAccessWidth(Value buffer, ValueRange indices,
                                       int64_t limit) {
  auto type = cast<MemRefType>(buffer.getType());
  std::optional<Space> space = getSpace(type);
  if (indices.empty() || space == Space::Private)
    return 1;
  int64_t bytes = getBytes(type.getElementType());
  SmallVector<int64_t> strides;
  if (space == Space::Global)
    strides = getStrideDivisors(buffer);
  auto fits = [&](int64_t width) {
    if (width * bytes > 16 || getDivisor(indices.back()) % width != 0)
      return false;
    if (space == Space::Shared)
      return getSharedLayout(buffer).getChunk() % width == 0;
    // A vector lies inside a row, or outside, as a whole.
    if (getStrides(type).back() != 1 || getRowDivisor(buffer) % width != 0 ||
        getAlignment(buffer) % (width * bytes) != 0)
      return false;
    for (auto [stride, index] :
         llvm::zip(ArrayRef(strides).drop_back(), indices.drop_back())) {
      int64_t divisor = getDivisor(index);
      if (divisor == 0)
        continue;
      if (stride % width != 0)
        return false;
    }
    return true;
  };
  int64_t width = limit;
  while (width > 1 && !fits(width))
    width /= 2;
  return width;
}

Value ThreadLowering::getInBounds(Value buffer, unsigned dim, Value position) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(dim)) {
    std::optional<int64_t> greatest = getGreatest(position);
    if (greatest && *greatest < type.getDimSize(dim))
      return nullptr;
  }
  // Unsigned, so that negative positions are outside too.
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                               position, signature.getDim(buffer, dim));
}

Value ThreadLowering::getInBounds(Value buffer, ValueRange indices) {
  if (!isInSpace(buffer, Space::Global))
    return nullptr;
  Value inside;
  for (auto [dim, position] : llvm::enumerate(indices))
    if (Value below = getInBounds(buffer, dim, position))
      inside =
          inside
              ? arith::AndIOp::create(builder, loc, inside, below).getResult()
              : below;
  return inside;
}

static unsigned getAccessAlignment(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * getBytes(vector.getElementType());
  return getBytes(type);
}

/// `type`, a scalar or a vector, as it is in memory.
static Type toStorage(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(getStorageType(vector.getElementType()));
  return getStorageType(type);
}

/// What was read of memory as a value of `type`.
static Value fromStorage(OpBuilder &builder, Location loc, Value value,
                         Type type) {
  if (value.getType() == type)
    return value;
  if (isa<FloatType>(getElementTypeOrSelf(type)))
    return arith::BitcastOp::create(builder, loc, type, value);
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(value.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zero);
}

void ThreadLowering::markAccess(Operation *access) const {
  if (iterations)
    access->setAttr(kIterationsAttr, iterations);
}

Value ThreadLowering::loadFrom(Value address, Type type) {
  Type storage = toStorage(type);
  auto value = LLVM::LoadOp::create(builder, loc, storage, address,
                                    getAccessAlignment(storage));
  markAccess(value);
  return fromStorage(builder, loc, value, type);
}

void ThreadLowering::storeTo(Value address, Value value) {
  Type storage = toStorage(value.getType());
  if (isa<FloatType>(getElementTypeOrSelf(value.getType())) &&
      storage != value.getType())
    value = arith::BitcastOp::create(builder, loc, storage, value);
  else if (storage != value.getType())
    value = arith::ExtUIOp::create(builder, loc, storage, value);
  markAccess(LLVM::StoreOp::create(builder, loc, value, address,
                                   getAccessAlignment(storage)));
}

Value ThreadLowering::getElementAddress(Value base, Type element,
                                        Value number) {
  return LLVM::GEPOp::create(builder, loc, base.getType(),
                             getStorageType(element), base,
                             ArrayRef<LLVM::GEPArg>(toI32(number)));
}

Value ThreadLowering::loadElements(Value base, VectorType type) {
  Type element = type.getElementType();
  SmallVector<Value> values;
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i)
    values.push_back(
        loadFrom(getElementAddress(base, element, index(i)), element));
  return vector::FromElementsOp::create(builder, loc, type, values);
}

void ThreadLowering::storeElements(Value base, Value values) {
  auto type = cast<VectorType>(values.getType());
  for (int64_t i = 0, e = type.getNumElements(); i < e; ++i)
    storeTo(getElementAddress(base, type.getElementType(), index(i)),
            vector::ExtractOp::create(builder, loc, values, i));
}

Value ThreadLowering::load(Value buffer, ValueRange indices, int64_t width,
                           Value guard) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  Type type = width == 1 ? element : VectorType::get({width}, element);
  if (!guard)
    return loadFrom(getAddress(buffer, indices), type);
  Type storage = toStorage(type);
  auto guarded = scf::IfOp::create(builder, loc, TypeRange(storage), guard,
                                   /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard saved(builder);
    builder.setInsertionPointToStart(guarded.thenBlock());
    scf::YieldOp::create(builder, loc,
                         loadFrom(getAddress(buffer, indices), storage));
    builder.setInsertionPointToStart(guarded.elseBlock());
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(storage));
    scf::YieldOp::create(builder, loc, zero);
  }
  return fromStorage(builder, loc, guarded.getResult(0), type);
}

void ThreadLowering::store(Value value, Value buffer, ValueRange indices,
                           Value guard) {
  OpBuilder::InsertionGuard saved(builder);
  if (guard) {
    auto guarded = scf::IfOp::create(builder, loc, guard);
    builder.setInsertionPointToStart(guarded.thenBlock());
  }
  storeTo(getAddress(buffer, indices), value);
}
