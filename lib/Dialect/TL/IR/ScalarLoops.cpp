//===- ScalarLoops.cpp - Tile ops as scalar loops -------------------------===//
//
// What each tile op means, written as loops over `tl.load` and `tl.store`. The
// loops are plain on purpose: they are the specification that backends are
// tested against, and what a backend without an own lowering of an op runs.
// Loops are ordered so that the innermost one runs along rows.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tl;

using LoopBody = function_ref<void(OpBuilder &, ValueRange)>;

/// Emits a nest of loops over the box `extents`; `body` gets the indices.
static void emitNest(OpBuilder &builder, Location loc,
                     ArrayRef<int64_t> extents, LoopBody body) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  SmallVector<Value> lower(extents.size(), constant(0));
  SmallVector<Value> upper = llvm::map_to_vector(extents, constant);
  SmallVector<Value> steps(extents.size(), constant(1));
  scf::buildLoopNest(builder, loc, lower, upper, steps,
                     [&](OpBuilder &inside, Location, ValueRange indices) {
                       body(inside, indices);
                     });
}

/// The position in a buffer of rank `rank` that lies `indices` from `offsets`,
/// which are none, or one for each dimension. The indices are those of the last
/// dimensions.
static SmallVector<Value> shift(OpBuilder &builder, Location loc, int64_t rank,
                                ValueRange offsets, ValueRange indices) {
  SmallVector<Value> position(offsets);
  if (offsets.empty())
    position.assign(rank, arith::ConstantIndexOp::create(builder, loc, 0));
  size_t leading = rank - indices.size();
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value &coordinate = position[leading + dim];
    coordinate = offsets.empty()
                     ? index
                     : arith::AddIOp::create(builder, loc, coordinate, index);
  }
  return position;
}

static Type elementType(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::emitScalarLoops(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  Location loc = getLoc();
  emitNest(builder, loc, getTile(), [&](OpBuilder &b, ValueRange indices) {
    auto position = [&](Value buffer, ValueRange offsets) {
      int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
      return shift(b, loc, rank, offsets, indices);
    };
    Value value = LoadOp::create(b, loc, getSource(),
                                 position(getSource(), getSourceOffsets()));
    value = convertElement(b, loc, value, elementType(getTarget()));
    StoreOp::create(b, loc, value, getTarget(),
                    position(getTarget(), getTargetOffsets()));
  });
  return success();
}

LogicalResult FillOp::emitScalarLoops(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  ArrayRef<int64_t> shape = cast<MemRefType>(getTarget().getType()).getShape();
  emitNest(builder, getLoc(), shape, [&](OpBuilder &b, ValueRange indices) {
    StoreOp::create(b, getLoc(), getValue(), getTarget(), indices);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Gemm
//===----------------------------------------------------------------------===//

static Value multiplyAdd(OpBuilder &builder, Location loc, Value a, Value b,
                         Value acc) {
  if (isa<FloatType>(acc.getType()))
    return arith::AddFOp::create(builder, loc, acc,
                                 arith::MulFOp::create(builder, loc, a, b));
  return arith::AddIOp::create(builder, loc, acc,
                               arith::MulIOp::create(builder, loc, a, b));
}

LogicalResult GemmOp::emitScalarLoops(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  Location loc = getLoc();
  Type accType = elementType(getAcc());
  auto body = [&](OpBuilder &inside, ValueRange indices) {
    Value m = indices[0], k = indices[1], n = indices[2];
    auto load = [&](Value tile, Value row, Value column, bool transposed) {
      if (transposed)
        std::swap(row, column);
      Value value = LoadOp::create(inside, loc, tile, ValueRange{row, column});
      return convertElement(inside, loc, value, accType);
    };
    Value a = load(getA(), m, k, getTransposeA());
    Value b = load(getB(), k, n, getTransposeB());
    Value sum = multiplyAdd(inside, loc, a, b,
                            load(getAcc(), m, n, /*transposed=*/false));
    StoreOp::create(inside, loc, sum, getAcc(), ValueRange{m, n});
  };
  emitNest(builder, loc, {getM(), getK(), getN()}, body);
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The value that leaves others unchanged when combined with them.
static TypedAttr identity(ReduceKind kind, Type type) {
  Builder builder(type.getContext());
  if (kind != ReduceKind::Max && kind != ReduceKind::Min)
    return builder.getZeroAttr(type);
  bool isMax = kind == ReduceKind::Max;
  if (auto floatType = dyn_cast<FloatType>(type))
    return builder.getFloatAttr(
        type, APFloat::getInf(floatType.getFloatSemantics(), isMax));
  unsigned width = type.getIntOrFloatBitWidth();
  return builder.getIntegerAttr(type, isMax ? APInt::getSignedMinValue(width)
                                            : APInt::getSignedMaxValue(width));
}

/// Maximum of two numbers; of a float and a NaN it is the float, as `max` of
/// the PTX ISA has it.
static Value maximum(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::MaxNumFOp::create(builder, loc, a, b);
  return arith::MaxSIOp::create(builder, loc, a, b);
}

static Value minimum(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::MinNumFOp::create(builder, loc, a, b);
  return arith::MinSIOp::create(builder, loc, a, b);
}

/// Sum of two numbers. The order of a reduction is nobody's promise, hence
/// `reassoc`.
static Value sum(OpBuilder &builder, Location loc, Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return arith::AddFOp::create(builder, loc, a, b,
                                 arith::FastMathFlags::reassoc);
  return arith::AddIOp::create(builder, loc, a, b);
}

static Value absolute(OpBuilder &builder, Location loc, Value value) {
  if (isa<FloatType>(value.getType()))
    return maximum(builder, loc, value,
                   arith::NegFOp::create(builder, loc, value));
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(value.getType()));
  return maximum(builder, loc, value,
                 arith::SubIOp::create(builder, loc, zero, value));
}

static Value combine(OpBuilder &builder, Location loc, ReduceKind kind,
                     Value value, Value element) {
  switch (kind) {
  case ReduceKind::Sum:
    return sum(builder, loc, value, element);
  case ReduceKind::Max:
    return maximum(builder, loc, value, element);
  case ReduceKind::Min:
    return minimum(builder, loc, value, element);
  case ReduceKind::AbsSum:
    return sum(builder, loc, value, absolute(builder, loc, element));
  case ReduceKind::AbsMax:
    return maximum(builder, loc, value, absolute(builder, loc, element));
  }
  llvm_unreachable("all kinds are handled");
}

LogicalResult ReduceOp::emitScalarLoops(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  Location loc = getLoc();
  if (!getAccumulate()) {
    Value initial = arith::ConstantOp::create(
        builder, loc, identity(getKind(), elementType(getTarget())));
    auto target = cast<MemRefType>(getTarget().getType());
    emitNest(builder, loc, target.getShape(),
             [&](OpBuilder &b, ValueRange indices) {
               StoreOp::create(b, loc, initial, getTarget(), indices);
             });
  }
  auto source = cast<MemRefType>(getSource().getType());
  bool isTile = cast<MemRefType>(getTarget().getType()).getRank() == 1;
  emitNest(builder, loc, source.getShape(),
           [&](OpBuilder &b, ValueRange indices) {
             SmallVector<Value> kept(indices);
             kept.erase(kept.begin() + getDim());
             // The result of one dimension may be a tile of one element.
             if (kept.empty() && isTile)
               kept.push_back(arith::ConstantIndexOp::create(b, loc, 0));
             Value element = LoadOp::create(b, loc, getSource(), indices);
             Value value = LoadOp::create(b, loc, getTarget(), kept);
             value = combine(b, loc, getKind(), value, element);
             StoreOp::create(b, loc, value, getTarget(), kept);
           });
  return success();
}

//===----------------------------------------------------------------------===//
// Parallel loops
//===----------------------------------------------------------------------===//

LogicalResult ParallelOp::emitScalarLoops(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  Block &body = getBody().front();
  emitNest(builder, getLoc(), getExtents(),
           [&](OpBuilder &b, ValueRange indices) {
             IRMapping mapping;
             mapping.map(body.getArguments(), indices);
             for (Operation &op : body.without_terminator())
               b.clone(op, mapping);
           });
  return success();
}
