//===- Roles.cpp - Parts of a block that go their own ways ----------------===//
//
// Verifiers and interfaces of the ops of Roles.td, whose constraints the labels
// (C1) … name.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/IR/OpImplementation.h"
#include "tl/Dialect/TL/IR/ThreadRange.h"

using namespace mlir;
using namespace tl;

#define GET_OP_CLASSES
#include "tl/Dialect/TL/IR/Roles.cpp.inc"

static constexpr int64_t kWarp = 32;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult RoleOp::verify() {
  int64_t first = getFirst(), count = getCount(), barrier = getBarrier();
  if (first % kWarp != 0) // C1
    return emitOpError("expects to begin with a warp, got thread ") << first;
  if (count != 1 && (count < 1 || count % kWarp != 0)) // C2
    return emitOpError("expects one thread or whole warps, got ")
           << count << " threads";
  auto kernel = cast<gpu::GPUFuncOp>((*this)->getParentOp());
  if (!kernel.getKnownBlockSize())
    return emitOpError("expects a kernel with `known_block_size`");
  int64_t threads = getNumThreads(kernel);
  if (first < 0 || first + count > threads) // C3
    return emitOpError("expects threads of the block, which has ")
           << threads << ", got " << first << " to " << first + count;
  if (barrier < 1 || barrier >= kNumBarriers) // C4
    return emitOpError("expects a barrier from 1 to ")
           << kNumBarriers - 1 << ", got " << barrier;
  for (auto other : kernel.getOps<RoleOp>()) { // C5
    if (other == *this)
      break;
    int64_t begin = other.getFirst(), end = begin + other.getCount();
    if (first < end && begin < first + count)
      return emitOpError("has threads in common with another role");
    if (static_cast<int64_t>(other.getBarrier()) == barrier)
      return emitOpError("has barrier ")
             << barrier << " in common with another role";
  }
  return success();
}

/// Seen from the block, the region is executed once: by threads that are known.
void RoleOp::getSuccessorRegions(RegionBranchPoint point,
                                 SmallVectorImpl<RegionSuccessor> &regions) {
  if (point.isParent())
    regions.push_back(RegionSuccessor(&getBody()));
  else
    regions.push_back(
        RegionSuccessor(getOperation(), getOperation()->getResults()));
}

//===----------------------------------------------------------------------===//
// Arrivals
//===----------------------------------------------------------------------===//

LogicalResult ArriveBarrierOp::verify() {
  auto type = cast<MemRefType>(getBarriers().getType());
  if (type.getRank() != 1 || !isa<MBarrierType>(type.getElementType()))
    return emitOpError("expects an array of mbarriers, got `") << type << "`";
  return success();
}

void ArriveBarrierOp::getEvents(SmallVectorImpl<Event> &events) {
  int64_t warps = (getThreads(*this).count + kWarp - 1) / kWarp;
  for (int64_t warp = 0; warp < warps; ++warp)
    events.push_back(Sync{.kind = Sync::Kind::Arrive,
                          .barrier = getBarriers(),
                          .index = getIndex()});
}
