//===- KernelEvents.cpp - The events of a kernel's ops --------------------===//

#include "tl/Dialect/TL/Analysis/KernelEvents.h"
#include "tl/Dialect/TL/Analysis/Memory.h"
#include "tl/Dialect/TL/IR/Addresses.h"

using namespace mlir;
using namespace tl;

bool tl::isStep(Operation *op) {
  return op->getNumRegions() == 0 || isa<EventOpInterface>(op);
}

/// The events of `op`. Elements of a tensor at an address are not told apart by
/// their indices: two of them may be at different places of the same memory.
static SmallVector<Event, 4> computeEvents(Operation *op) {
  if (!isStep(op))
    return {};
  SmallVector<Event, 4> events = getEvents(op);
  for (Event &event : events)
    if (auto *access = std::get_if<Access>(&event);
        access && isAtAddress(access->buffer))
      access->footprint = std::nullopt;
  return events;
}

ArrayRef<Event> KernelEvents::of(Operation *op) {
  auto [it, isNew] = events.try_emplace(op);
  if (isNew)
    it->second = std::make_unique<SmallVector<Event, 4>>(computeEvents(op));
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
    return mayBeSame(a, b);
  auto [beginA, endA] = getBytes(a);
  auto [beginB, endB] = getBytes(b);
  return beginA < endB && beginB < endA;
}
