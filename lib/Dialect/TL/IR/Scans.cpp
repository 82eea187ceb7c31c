//===- Scans.cpp - Running sums and extremes ------------------------------===//
//
// Verifier and meaning of the op of Scans.td, whose constraints the labels (C1)
// … name.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Scans.h"

#include "tl/Dialect/TL/IR/Combine.h"
#include "tl/Dialect/TL/IR/Convert.h"
#include "tl/Dialect/TL/IR/ScalarLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tl;

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Scans.cpp.inc"

LogicalResult ScanOp::verify() {
  auto type = cast<MemRefType>(getSource().getType());
  int64_t dim = getDim();
  if (dim < 0 || dim >= type.getRank()) // C1
    return emitOpError("expects a dimension below ")
           << type.getRank() << ", got " << dim;
  if (getSpace(type) != Space::Fragment) // C2
    return emitOpError("expects fragments, got `") << type << "`";
  Type element = type.getElementType();
  if (!element.isSignlessIntOrFloat() || element.isInteger(1)) // C3
    return emitOpError("expects a float or an integer wider than `i1`, got `")
           << element << "`";
  ReduceKind kind = getKind();
  bool isUnsigned = kind == ReduceKind::UMax || kind == ReduceKind::UMin;
  if (kind == ReduceKind::AbsSum || kind == ReduceKind::AbsMax ||
      (isUnsigned && !element.isInteger())) // C4
    return emitOpError("expects `sum`, `max` or `min`, and `umax` and `umin` "
                       "for integers, got `")
           << stringifyReduceKind(kind) << "` of `" << element << "`";
  return success();
}

/// One element after the other: each is read before its place is written.
LogicalResult ScanOp::emitScalarLoops(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  Location loc = getLoc();
  auto type = cast<MemRefType>(getSource().getType());
  Type stored = type.getElementType();
  Type combined = getReductionType(stored);
  int64_t dim = getDim(), length = type.getDimSize(dim);
  SmallVector<int64_t> kept(type.getShape());
  kept.erase(kept.begin() + dim);
  emitNest(builder, loc, kept, [&](OpBuilder &b, ValueRange row) {
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    Value neutral = arith::ConstantOp::create(
        b, loc, getNeutralElement(getKind(), combined));
    scf::ForOp::create(
        b, loc, index(0), index(length), index(1), neutral,
        [&](OpBuilder &b, Location loc, Value place, ValueRange before) {
          if (getReverse())
            place = arith::SubIOp::create(b, loc, index(length - 1), place);
          SmallVector<Value> indices(row);
          indices.insert(indices.begin() + dim, place);
          Value element = LoadOp::create(b, loc, getSource(), indices);
          element = convertElement(b, loc, element, combined);
          Value all = emitCombine(b, loc, getKind(), before.front(), element);
          StoreOp::create(b, loc, emitResult(b, loc, getKind(), all, stored),
                          getTarget(), indices);
          scf::YieldOp::create(b, loc, all);
        });
  });
  return success();
}
