//===- Warps.cpp - What threads of a warp give each other -----------------===//
//
// Verifiers and interfaces of the ops of Warps.td, whose constraints the labels
// (C1) … name.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Warps.h"

#include "tl/Dialect/TL/IR/Roles.h"
#include "tl/Dialect/TL/IR/ScalarLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tl;

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Warps.cpp.inc"

static constexpr int64_t kWarp = 32;

/// C1 of both ops: `type` is that of fragments with an element for each thread.
static LogicalResult verifyFragments(Operation *op, MemRefType type) {
  for (Value buffer : op->getOperands())
    if (!isInSpace(buffer, Space::Fragment)) // C1
      return op->emitOpError("expects fragments, got `")
             << buffer.getType() << "`";
  if (type.getRank() != 1) // C1
    return op->emitOpError("expects an element for each thread, got `")
           << type << "`";
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  if (kernel && kernel.getKnownBlockSize() && // C1
      !op->getParentOfType<RoleOp>() &&
      getNumThreads(kernel) != type.getDimSize(0))
    return op->emitOpError("expects an element for each of ")
           << getNumThreads(kernel) << " threads, got `" << type << "`";
  return success();
}

//===----------------------------------------------------------------------===//
// ShuffleOp
//===----------------------------------------------------------------------===//

LogicalResult ShuffleOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto lanes = cast<MemRefType>(getLanes().getType());
  if (failed(verifyFragments(*this, source))) // C1
    return failure();
  if (source.getShape() != lanes.getShape()) // C1
    return emitOpError("expects an element for each thread, got `")
           << source << "` and `" << lanes << "`";
  if (!lanes.getElementType().isInteger(32)) // C2
    return emitOpError("expects numbers of lanes of i32, got `")
           << lanes << "`";
  Type element = source.getElementType();
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (!llvm::is_contained({8u, 16u, 32u, 64u}, bits)) // C2
    return emitOpError("expects numbers of 8 to 64 bits, got `")
           << source << "`";
  return success();
}

void ShuffleOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(Access{.buffer = getSource()});
  events.push_back(Access{.buffer = getLanes()});
  events.push_back(Access{.buffer = getTarget(), .writes = true});
}

LogicalResult ShuffleOp::emitScalarLoops(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  Location loc = getLoc();
  auto type = cast<MemRefType>(getSource().getType());
  emitNest(builder, loc, type.getShape(), [&](OpBuilder &b, ValueRange thread) {
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, loc, value);
    };
    Value lane = arith::IndexCastOp::create(
        b, loc, b.getIndexType(), LoadOp::create(b, loc, getLanes(), thread));
    lane = arith::AndIOp::create(b, loc, lane, index(kWarp - 1));
    Value warp = arith::AndIOp::create(b, loc, thread[0], index(-kWarp));
    Value other = arith::AddIOp::create(b, loc, warp, lane);
    Value value = LoadOp::create(b, loc, getSource(), other);
    StoreOp::create(b, loc, value, getTarget(), thread);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// VoteOp
//===----------------------------------------------------------------------===//

LogicalResult VoteOp::verify() {
  auto type = cast<MemRefType>(getSource().getType());
  if (failed(verifyFragments(*this, type))) // C1
    return failure();
  if (!type.getElementType().isInteger(32)) // C2
    return emitOpError("expects numbers of i32, got `") << type << "`";
  return success();
}

void VoteOp::getEvents(SmallVectorImpl<Event> &events) {
  events.push_back(Access{.buffer = getSource()});
  events.push_back(Access{.buffer = getTarget(), .writes = true});
}

/// For each warp: what its lanes say, and then the same to each of them.
LogicalResult VoteOp::emitScalarLoops(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  Location loc = getLoc();
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Type word = builder.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(word, value));
  };
  Value first = index(0), step = index(1), lanes = index(kWarp),
        threads = index(cast<MemRefType>(getSource().getType()).getDimSize(0)),
        none = constant(0), one = constant(1);
  auto warps = scf::ForOp::create(builder, loc, first, threads, lanes);
  builder.setInsertionPointToStart(warps.getBody());
  Value begin = warps.getInductionVar();
  Value left = arith::SubIOp::create(builder, loc, threads, begin);
  Value count = arith::MinUIOp::create(builder, loc, left, lanes);
  auto votes = scf::ForOp::create(
      builder, loc, first, count, step, none,
      [&](OpBuilder &b, Location loc, Value lane, ValueRange found) {
        Value thread = arith::AddIOp::create(b, loc, begin, lane);
        Value said = LoadOp::create(b, loc, getSource(), thread);
        Value isYes =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, said, none);
        Value number = arith::IndexCastOp::create(b, loc, word, lane);
        Value bit = arith::ShLIOp::create(b, loc, one, number);
        bit = arith::SelectOp::create(b, loc, isYes, bit, none);
        Value both = arith::OrIOp::create(b, loc, found.front(), bit);
        scf::YieldOp::create(b, loc, both);
      });
  scf::ForOp::create(
      builder, loc, first, count, step, ValueRange{},
      [&](OpBuilder &b, Location loc, Value lane, ValueRange) {
        Value thread = arith::AddIOp::create(b, loc, begin, lane);
        StoreOp::create(b, loc, votes.getResult(0), getTarget(), thread);
        scf::YieldOp::create(b, loc);
      });
  return success();
}
