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
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tl;

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Warps.cpp.inc"

static constexpr int64_t kWarp = 32;

LogicalResult ShuffleOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto lanes = cast<MemRefType>(getLanes().getType());
  for (Value buffer : getOperands())
    if (!isInSpace(buffer, Space::Fragment)) // C1
      return emitOpError("expects fragments, got `") << buffer.getType() << "`";
  if (source.getRank() != 1 || source.getShape() != lanes.getShape()) // C1
    return emitOpError("expects an element for each thread, got `")
           << source << "` and `" << lanes << "`";
  auto kernel = (*this)->getParentOfType<gpu::GPUFuncOp>();
  if (kernel && kernel.getKnownBlockSize() && // C1
      !(*this)->getParentOfType<RoleOp>() &&
      getNumThreads(kernel) != source.getDimSize(0))
    return emitOpError("expects an element for each of ")
           << getNumThreads(kernel) << " threads, got `" << source << "`";
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
