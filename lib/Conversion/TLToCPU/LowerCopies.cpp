//===- LowerCopies.cpp - Copies as loops over what is inside --------------===//
//
// A tile at the edge of a matrix hangs over it. Instead of a check for each
// element, the loops are cut to the part that is inside; what is missing from
// the source is zero. A tile that lies wholly inside, the usual case, gets
// loops of its own: with constant trip counts LLVM makes straight vector code
// of them.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/CopyTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;
using namespace tl::cpu;

namespace {
/// A box of tile coordinates: in dimension d from `lower[d]`, inclusive, to
/// `upper[d]`.
struct Box {
  SmallVector<Value> lower, upper;
};

class CopyLowering {
public:
  explicit CopyLowering(CopyOp copy)
      : copy(copy), loops(CopyLoops::of(copy)), builder(copy),
        loc(copy.getLoc()), source(copy.getSource()), target(copy.getTarget()) {
  }

  void emit();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  template <typename Op, typename... Args>
  Value fold(Args &&...args) {
    return builder.createOrFold<Op>(loc, std::forward<Args>(args)...);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return fold<arith::CmpIOp>(predicate, a, b);
  }

  Box getTile();
  Box clip(Value buffer, ValueRange offsets, ArrayRef<int64_t> dims);
  Box intersect(const Box &a, const Box &b);
  Value contains(const Box &outer, const Box &inner);
  SmallVector<Value> position(Value buffer, ValueRange offsets,
                              ArrayRef<int64_t> dims, ValueRange indices);
  void emitLoops(const Box &box,
                 function_ref<void(ValueRange indices)> emitBody);
  void emitCopy(const Box &box);
  void emitZeros(const Box &box);

  CopyOp copy;
  CopyLoops loops;
  OpBuilder builder;
  Location loc;
  View source, target;
};
} // namespace

Box CopyLowering::getTile() {
  Box box;
  for (int64_t extent : loops.extents) {
    box.lower.push_back(constant(0));
    box.upper.push_back(constant(extent));
  }
  return box;
}

/// The part of the tile that is inside of `buffer` when the tile starts at
/// `offsets` and its dimensions are `dims` of the buffer. Its upper bounds may
/// be below the lower ones: then it is empty.
Box CopyLowering::clip(Value buffer, ValueRange offsets,
                       ArrayRef<int64_t> dims) {
  Box box = getTile();
  if (!isInSpace(buffer, Space::Global) && offsets.empty())
    return box;
  size_t rank = cast<MemRefType>(buffer.getType()).getRank();
  Value zero = constant(0);
  for (size_t dim = 0; dim < rank; ++dim) {
    Value offset = offsets.empty() ? zero : offsets[dim];
    Value extent = fold<memref::DimOp>(buffer, static_cast<int64_t>(dim));
    const int64_t *found = llvm::find(dims, dim);
    if (found == dims.end()) {
      // A negative coordinate is a large one as an unsigned number.
      Value inside = compare(arith::CmpIPredicate::ult, offset, extent);
      box.upper[0] = fold<arith::SelectOp>(inside, box.upper[0], zero);
      continue;
    }
    Value &lower = box.lower[found - dims.begin()];
    Value &upper = box.upper[found - dims.begin()];
    lower =
        fold<arith::MaxSIOp>(lower, Value(fold<arith::SubIOp>(zero, offset)));
    upper =
        fold<arith::MinSIOp>(upper, Value(fold<arith::SubIOp>(extent, offset)));
  }
  return box;
}

Box CopyLowering::intersect(const Box &a, const Box &b) {
  Box box;
  for (size_t dim = 0; dim < a.lower.size(); ++dim) {
    box.lower.push_back(fold<arith::MaxSIOp>(a.lower[dim], b.lower[dim]));
    box.upper.push_back(fold<arith::MinSIOp>(a.upper[dim], b.upper[dim]));
  }
  return box;
}

/// An `i1` that says whether every dimension of `inner` is in `outer`'s.
Value CopyLowering::contains(const Box &outer, const Box &inner) {
  Value all = arith::ConstantIntOp::create(builder, loc, 1, 1);
  for (size_t dim = 0; dim < outer.lower.size(); ++dim) {
    Value low =
        compare(arith::CmpIPredicate::sle, outer.lower[dim], inner.lower[dim]);
    Value high =
        compare(arith::CmpIPredicate::sge, outer.upper[dim], inner.upper[dim]);
    all = fold<arith::AndIOp>(all, low);
    all = fold<arith::AndIOp>(all, high);
  }
  return all;
}

SmallVector<Value> CopyLowering::position(Value buffer, ValueRange offsets,
                                          ArrayRef<int64_t> dims,
                                          ValueRange indices) {
  size_t rank = cast<MemRefType>(buffer.getType()).getRank();
  SmallVector<Value> result(offsets);
  if (offsets.empty())
    result.assign(rank, constant(0));
  for (auto [dim, index] : llvm::zip_equal(dims, indices))
    result[dim] = fold<arith::AddIOp>(index, result[dim]);
  return result;
}

void CopyLowering::emitLoops(const Box &box,
                             function_ref<void(ValueRange indices)> emitBody) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> steps(box.lower.size(), constant(1));
  scf::buildLoopNest(builder, loc, box.lower, box.upper, steps,
                     [&](OpBuilder &inside, Location, ValueRange indices) {
                       OpBuilder::InsertionGuard guard(builder);
                       builder.setInsertionPoint(inside.getInsertionBlock(),
                                                 inside.getInsertionPoint());
                       emitBody(indices);
                     });
}

void CopyLowering::emitCopy(const Box &box) {
  emitLoops(box, [&](ValueRange indices) {
    Value value =
        source.load(builder, loc,
                    position(copy.getSource(), copy.getSourceOffsets(),
                             loops.source, indices));
    value =
        convertElement(builder, loc, value, target.getType().getElementType());
    target.store(builder, loc, value,
                 position(copy.getTarget(), copy.getTargetOffsets(),
                          loops.target, indices));
  });
}

void CopyLowering::emitZeros(const Box &box) {
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(target.getType().getElementType()));
  emitLoops(box, [&](ValueRange indices) {
    target.store(builder, loc, zero,
                 position(copy.getTarget(), copy.getTargetOffsets(),
                          loops.target, indices));
  });
}

void CopyLowering::emit() {
  Box tile = getTile();
  Box readable = clip(copy.getSource(), copy.getSourceOffsets(), loops.source);
  Box writable = clip(copy.getTarget(), copy.getTargetOffsets(), loops.target);
  Value inside =
      fold<arith::AndIOp>(contains(readable, tile), contains(writable, tile));
  if (isConstantIntValue(inside, 1))
    return emitCopy(tile);

  auto whole = scf::IfOp::create(builder, loc, inside, /*withElse=*/true);
  builder.setInsertionPointToStart(&whole.getThenRegion().front());
  emitCopy(tile);
  builder.setInsertionPointToStart(&whole.getElseRegion().front());
  if (isInSpace(copy.getSource(), Space::Global))
    emitZeros(writable);
  emitCopy(intersect(readable, writable));
}

void cpu::lowerCopy(CopyOp copy) { CopyLowering(copy).emit(); }
