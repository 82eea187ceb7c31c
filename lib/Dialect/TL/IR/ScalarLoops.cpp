//===- ScalarLoops.cpp - Tile ops as scalar loops -------------------------===//
//
// What each tile op means, written as loops over `tl.load` and `tl.store`. The
// loops are plain on purpose: they are the specification that backends are
// tested against, and what a backend without an own lowering of an op runs.
// Loops are ordered so that the innermost one runs along rows.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/ScalarLoops.h"
#include "tl/Dialect/TL/IR/Combine.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/TL.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tl;

using LoopBody = function_ref<void(OpBuilder &, ValueRange)>;

void tl::emitNest(OpBuilder &builder, Location loc, ArrayRef<int64_t> extents,
                  LoopBody body) {
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

SmallVector<Value> tl::shift(OpBuilder &builder, Location loc, int64_t rank,
                             ValueRange offsets, ValueRange indices) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(rank - indices.size(), rank));
  return shift(builder, loc, rank, offsets, indices, dims);
}

SmallVector<Value> tl::shift(OpBuilder &builder, Location loc, int64_t rank,
                             ValueRange offsets, ValueRange indices,
                             ArrayRef<int64_t> dims) {
  SmallVector<Value> position(offsets);
  if (offsets.empty())
    position.assign(rank, arith::ConstantIndexOp::create(builder, loc, 0));
  for (auto [dim, index] : llvm::zip_equal(dims, indices)) {
    Value &coordinate = position[dim];
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
  if (isGather())
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  Location loc = getLoc();
  CopyLoops loops = CopyLoops::of(*this);
  emitNest(builder, loc, loops.extents, [&](OpBuilder &b, ValueRange indices) {
    auto position = [&](Value buffer, ValueRange offsets,
                        ArrayRef<int64_t> dims) {
      int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
      return shift(b, loc, rank, offsets, indices, dims);
    };
    Value value =
        LoadOp::create(b, loc, getSource(),
                       position(getSource(), getSourceOffsets(), loops.source));
    value = convertElement(b, loc, value, elementType(getTarget()));
    StoreOp::create(b, loc, value, getTarget(),
                    position(getTarget(), getTargetOffsets(), loops.target));
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
    auto load = [&](Value tile, Value row, Value column, bool transposed,
                    std::array<int64_t, 2> place) {
      if (transposed)
        std::swap(row, column);
      auto shift = [&](Value index, int64_t by) {
        return by == 0 ? index
                       : arith::AddIOp::create(
                             inside, loc, index,
                             arith::ConstantIndexOp::create(inside, loc, by))
                             .getResult();
      };
      Value value = LoadOp::create(
          inside, loc, tile,
          ValueRange{shift(row, place[0]), shift(column, place[1])});
      return convertElement(inside, loc, value, accType);
    };
    Value a = load(getA(), m, k, getTransposeA(), getPlace(/*ofB=*/false));
    Value b = load(getB(), k, n, getTransposeB(), getPlace(/*ofB=*/true));
    Value sum = multiplyAdd(inside, loc, a, b,
                            load(getAcc(), m, n, /*transposed=*/false, {0, 0}));
    StoreOp::create(inside, loc, sum, getAcc(), ValueRange{m, n});
  };
  emitNest(builder, loc, {getM(), getK(), getN()}, body);
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Combines elements in any order, which is nobody's promise: hence `reassoc`.
static Value combine(OpBuilder &builder, Location loc, ReduceOp reduce,
                     Value value, Value element) {
  Value result =
      emitCombine(builder, loc, reduce.getKind(), value,
                  emitContribution(builder, loc, reduce.getKind(), element));
  if (auto sum = result.getDefiningOp<arith::AddFOp>())
    sum.setFastmath(arith::FastMathFlags::reassoc);
  return result;
}

LogicalResult ReduceOp::emitScalarLoops(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  Location loc = getLoc();
  auto target = cast<MemRefType>(getTarget().getType());
  auto source = cast<MemRefType>(getSource().getType());
  Type stored = target.getElementType();
  Type combined = getReductionType(stored);

  // What is combined in a wider type is rounded once, at the end.
  Value sums = getTarget();
  if (combined != stored) {
    auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                            gpu::AddressSpace::Private);
    auto wide =
        MemRefType::get(target.getShape(), combined, AffineMap(), space);
    sums = AllocOp::create(builder, loc, wide, /*layout=*/Attribute(),
                           /*offset=*/IntegerAttr());
  }
  auto copyAll = [&](Value from, Value to, auto convert) {
    emitNest(builder, loc, target.getShape(),
             [&](OpBuilder &b, ValueRange indices) {
               Value value = LoadOp::create(b, loc, from, indices);
               StoreOp::create(b, loc, convert(b, value), to, indices);
             });
  };
  if (!getAccumulate()) {
    Value initial = arith::ConstantOp::create(
        builder, loc, getNeutralElement(getKind(), combined));
    emitNest(builder, loc, target.getShape(),
             [&](OpBuilder &b, ValueRange indices) {
               StoreOp::create(b, loc, initial, sums, indices);
             });
  } else if (combined != stored) {
    copyAll(getTarget(), sums, [&](OpBuilder &b, Value value) {
      return convertElement(b, loc, value, combined);
    });
  }
  bool isTile = target.getRank() == 1;
  emitNest(builder, loc, source.getShape(),
           [&](OpBuilder &b, ValueRange indices) {
             SmallVector<Value> kept(indices);
             kept.erase(kept.begin() + getDim());
             // The result of one dimension may be a tile of one element.
             if (kept.empty() && isTile)
               kept.push_back(arith::ConstantIndexOp::create(b, loc, 0));
             Value element = LoadOp::create(b, loc, getSource(), indices);
             element = convertElement(b, loc, element, combined);
             Value value = LoadOp::create(b, loc, sums, kept);
             value = combine(b, loc, *this, value, element);
             StoreOp::create(b, loc, value, sums, kept);
           });
  if (combined != stored)
    copyAll(sums, getTarget(), [&](OpBuilder &b, Value value) {
      return emitResult(b, loc, getKind(), value, stored);
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
