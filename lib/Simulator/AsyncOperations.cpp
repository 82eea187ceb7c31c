//===- AsyncOperations.cpp - What is under way in a block -----------------===//
//
// See AsyncOperations.h.
//
//===----------------------------------------------------------------------===//

#include "AsyncOperations.h"

#include "Factors.h"
#include "Warp.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace tl::sim;

/// The bytes that a span names.
static uint8_t *getBytes(SharedMemory &shared, const Span &span) {
  return span.space == Space::Shared ? shared.at(span.address)
                                     : GlobalMemory::at(span.address);
}

/// Stores read and write at times of their own.
static bool isStore(const AsyncOperation &operation) {
  return operation.kind == AsyncKind::TensorStore;
}

AsyncOperation *AsyncOperations::find(AsyncId id) {
  auto found = llvm::lower_bound(operations, id,
                                 [](const AsyncOperation &operation,
                                    AsyncId id) { return operation.id < id; });
  return found != operations.end() && found->id == id ? &*found : nullptr;
}

//===----------------------------------------------------------------------===//
// Issue
//===----------------------------------------------------------------------===//

/// Makes one span of adjacent ones, of which no reader wants to know the order.
static void joinSpans(llvm::SmallVectorImpl<Span> &spans) {
  llvm::sort(spans, [](const Span &a, const Span &b) {
    return a.address < b.address;
  });
  size_t count = 0;
  for (const Span &span : spans) {
    Span *last = count ? &spans[count - 1] : nullptr;
    if (last && span.address <= last->address + last->bytes)
      last->bytes = std::max<uint64_t>(last->bytes, span.address + span.bytes -
                                                        last->address);
    else
      spans[count++] = span;
  }
  spans.truncate(count);
}

/// All that an operation will read and write. Which warp of a group reads which
/// rows of a `wgmma` is not said anywhere: each counts as reading all of them.
static void collectSpans(const AsyncOperation &operation,
                         const SharedMemory &shared,
                         llvm::SmallVectorImpl<Span> &reads,
                         llvm::SmallVectorImpl<Span> &writes) {
  for (const AsyncOperation::Part &part : operation.parts) {
    reads.push_back(part.copy.from);
    writes.push_back(part.copy.to);
  }
  for (const AsyncOperation::Product &product : operation.products)
    for (unsigned warp = 0; warp < 4; ++warp)
      (void)wgmmaReads(shared, product.wgmma, warp, reads);
  if (operation.kind == AsyncKind::Wgmma)
    joinSpans(reads);
}

void AsyncOperations::issue(AsyncOperation operation) {
  operation.id = ++block.cluster.lastId;
  ++block.group.changes;
  if (block.getObserver()) {
    llvm::SmallVector<Span> reads, writes;
    collectSpans(operation, block.shared, reads, writes);
    if (operation.issue.warp.block != block.number)
      for (Span &span : reads)
        span.bytes = 0;
    auto event = makeEvent<AsyncEvent>(operation.issue);
    event.id = operation.id;
    event.kind = operation.kind;
    event.reads = reads;
    event.writes = writes;
    event.barrier = operation.mbarrier;
    event.accumulates = operation.add;
    block.getObserver()->onAsyncIssue(event);
  }
  operations.push_back(std::move(operation));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void AsyncOperations::forEachUncommitted(
    const Warp &warp, AsyncKind kind,
    llvm::function_ref<void(AsyncId, LaneMask &)> visit) {
  auto visitAll = [&](auto &list) {
    for (AsyncOperation &operation : list)
      if (operation.kind == kind && operation.issue.warp.warp == warp.number &&
          operation.uncommitted & warp.lanes)
        visit(operation.id, operation.uncommitted);
  };
  visitAll(done);
  visitAll(operations);
}

void AsyncOperations::commit(Warp &warp, AsyncKind kind,
                             InstructionId instruction, const uint32_t *sums,
                             uint32_t factor) {
  AsyncGroup group;
  group.instruction = instruction;
  group.sums = sums;
  group.factor = factor;
  group.kind = kind;
  group.warp = warp.number;
  group.lanes = warp.lanes;
  forEachUncommitted(warp, kind, [&](AsyncId id, LaneMask &lanes) {
    lanes &= ~warp.lanes;
    group.operations.push_back(id);
  });
  llvm::erase_if(done, [](const AsyncOperation &operation) {
    return !operation.uncommitted;
  });
  if (block.getObserver()) {
    auto event = makeEvent<GroupEvent>({warp.getId(), warp.lanes, instruction});
    event.kind = kind;
    event.operations = group.operations;
    block.getObserver()->onCommit(event);
  }
  groups.push_back(std::move(group));
}

std::optional<InstructionId>
AsyncOperations::findWriter(const Warp &warp, const uint32_t *sums) const {
  for (const AsyncGroup &group : groups)
    if (group.kind == AsyncKind::Wgmma && group.warp == warp.number &&
        group.sums == sums && !group.waited)
      return group.instruction;
  return std::nullopt;
}

void AsyncOperations::hold(const Warp &warp, uint32_t factor) {
  llvm::erase_if(unheld, [&](const ReadFactor &read) {
    return read.warp == warp.number && holdsFactor(factor, read.factor);
  });
}

std::optional<AsyncOperations::ReadFactor>
AsyncOperations::findUnheld(const Warp &warp) const {
  for (const ReadFactor &read : unheld)
    if (read.warp == warp.number)
      return read;
  return std::nullopt;
}

void AsyncOperations::wait(Warp &warp, AsyncKind kind, uint32_t pending,
                           bool readsOnly, InstructionId instruction) {
  std::array<uint32_t, kLanes> younger = {};
  llvm::SmallVector<AsyncId> complete;
  for (AsyncGroup &group : llvm::reverse(groups)) {
    if (group.kind != kind || group.warp != warp.number)
      continue;
    LaneMask due = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (group.lanes & warp.lanes & LaneMask(1) << lane &&
          younger[lane]++ >= pending)
        due |= LaneMask(1) << lane;
    // A wait for reads says nothing of what a later one waits for.
    if (!(due & ~group.waited))
      continue;
    if (group.factor)
      unheld.push_back(
          {group.warp, group.factor, group.instruction, instruction});
    if (!readsOnly)
      group.waited |= due;
    for (AsyncId id : group.operations) {
      complete.push_back(id);
      if (AsyncOperation *operation = find(id))
        this->complete(*operation, due, readsOnly);
    }
  }
  removeDone();
  while (!groups.empty() &&
         (groups.front().waited & groups.front().lanes) == groups.front().lanes)
    groups.pop_front();
  if (!block.getObserver())
    return;
  llvm::sort(complete);
  auto event = makeEvent<GroupEvent>({warp.getId(), warp.lanes, instruction});
  event.kind = kind;
  event.pending = pending;
  event.readsOnly = readsOnly;
  event.operations = complete;
  block.getObserver()->onWaitGroups(event);
}

void AsyncOperations::complete(AsyncOperation &operation, LaneMask lanes,
                               bool readsOnly) {
  if (operation.kind == AsyncKind::Wgmma) {
    // Those before it add to the same registers.
    for (AsyncOperation &earlier : operations) {
      if (earlier.kind == AsyncKind::Wgmma &&
          earlier.issue.warp == operation.issue.warp)
        while (!earlier.products.empty())
          doProduct(earlier);
      if (&earlier == &operation)
        return;
    }
  }
  // What goes to the end was looked at before.
  for (size_t i = operation.parts.size(); i-- > 0;) {
    AsyncOperation::Part &part = operation.parts[i];
    if (!(lanes & LaneMask(1) << part.lane))
      continue;
    if (isStore(operation) && !part.read)
      read(operation, part);
    if (!readsOnly)
      advance(operation, i);
  }
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

void AsyncOperations::tell(AsyncId id, const Span *read, const Span *write) {
  if (!block.getObserver())
    return;
  AsyncPart event;
  event.id = id;
  if (read)
    event.reads = *read;
  if (write)
    event.writes = *write;
  block.getObserver()->onAsyncPart(event);
}

/// The first half of a store.
void AsyncOperations::read(AsyncOperation &operation,
                           AsyncOperation::Part &part) {
  const Span &from = part.copy.from;
  part.read = std::make_unique<uint8_t[]>(from.bytes);
  std::memcpy(part.read.get(), getBytes(block.shared, from), from.bytes);
  tell(operation.id, &from, nullptr);
}

/// The second half of a store.
void AsyncOperations::write(AsyncOperation &operation,
                            AsyncOperation::Part &part) {
  const Span &to = part.copy.to;
  if (operation.add)
    operation.add(getBytes(block.shared, to), part.read.get(), to.bytes);
  else
    std::memcpy(getBytes(block.shared, to), part.read.get(), to.bytes);
  tell(operation.id, nullptr, &to);
}

void AsyncOperations::advance(AsyncOperation &operation, size_t index) {
  AsyncOperation::Part &part = operation.parts[index];
  if (isStore(operation)) {
    if (!part.read)
      return read(operation, part);
    write(operation, part);
  } else {
    copyPart(block.shared, part.copy);
    tell(operation.id, &part.copy.from, &part.copy.to);
  }
  uint32_t landed = part.copy.to.bytes;
  std::swap(part, operation.parts.back());
  operation.parts.pop_back();
  if (operation.isDone() && block.getObserver())
    block.getObserver()->onAsyncComplete(operation.id);
  if (operation.mbarrier)
    block.land(operation.issue, operation.mbarrier, landed, operation.id);
}

void AsyncOperations::doProduct(AsyncOperation &operation) {
  const AsyncOperation::Product &product = operation.products.back();
  unsigned warpInGroup = operation.issue.warp.warp % 4;
  if (block.getObserver()) {
    llvm::SmallVector<Span> reads;
    (void)wgmmaReads(block.shared, product.wgmma, warpInGroup, reads);
    AsyncPart event;
    event.id = operation.id;
    event.reads = reads;
    block.getObserver()->onAsyncPart(event);
  }
  wgmmaMultiply(block.shared, product.wgmma, warpInGroup,
                product.registers.data(), product.sums);
  operation.products.pop_back();
  if (operation.isDone() && block.getObserver())
    block.getObserver()->onAsyncComplete(operation.id);
}

void AsyncOperations::advance() {
  ++block.group.changes;
  AsyncOperation *chosen = &operations[block.choices.choose(
      Decision::Kind::Operation, operations.size())];
  if (chosen->kind == AsyncKind::Wgmma) {
    chosen = &*llvm::find_if(operations, [&](const AsyncOperation &earliest) {
      return earliest.kind == AsyncKind::Wgmma &&
             earliest.issue.warp == chosen->issue.warp;
    });
    doProduct(*chosen);
  } else {
    advance(*chosen,
            block.choices.choose(Decision::Kind::Part, chosen->parts.size()));
  }
  if (chosen->isDone())
    removeDone();
}

void AsyncOperations::finish() {
  while (!operations.empty())
    advance();
}

void AsyncOperations::removeDone() {
  for (AsyncOperation &operation : operations)
    if (operation.isDone() && operation.uncommitted)
      done.push_back(std::move(operation));
  std::erase_if(operations, [](const AsyncOperation &operation) {
    return operation.isDone();
  });
}
