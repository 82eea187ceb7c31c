//===- KernelEvents.cpp - The events of a kernel's ops --------------------===//

#include "tl/Dialect/TL/Analysis/KernelEvents.h"
#include "tl/Dialect/TL/Analysis/Memory.h"

using namespace mlir;
using namespace tl;

bool tl::isStep(Operation *op) {
  return op->getNumRegions() == 0 || isa<EventOpInterface>(op);
}

ArrayRef<Event> KernelEvents::of(Operation *op) {
  auto [it, isNew] = events.try_emplace(op);
  if (isNew)
    it->second = std::make_unique<SmallVector<Event, 4>>(
        isStep(op) ? getEvents(op) : SmallVector<Event, 4>());
  return *it->second;
}

/// Where a buffer lies in shared memory.
static std::pair<int64_t, int64_t> getBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (auto barriers = buffer.getDefiningOp<AllocBarriersOp>())
    return {*barriers.getOffset(),
            *barriers.getOffset() + type.getDimSize(0) * 8};
  auto alloc = buffer.getDefiningOp<AllocOp>();
  return {*alloc.getOffset(), *alloc.getOffset() + getSharedBytes(alloc)};
}

bool tl::shareBytes(Value a, Value b) {
  a = getBuffer(a);
  b = getBuffer(b);
  if (a == b)
    return true;
  if (!isInSpace(a, Space::Shared) || !isInSpace(b, Space::Shared))
    return false;
  auto [beginA, endA] = getBytes(a);
  auto [beginB, endB] = getBytes(b);
  return beginA < endB && beginB < endA;
}
