//===- RunAhead.cpp - Which copies may be started early -------------------===//
//
// The copy of iteration k is started up to `stages` - 1 iterations early, into
// one of several buffers in the place of its target. No statement can tell if
// all of this holds:
//
//  - The copy is executed in each iteration, once, and where it reads follows
//    from the loop's index by arithmetic, and by elements of tensors that the
//    loop does not write, such as a table of pages: it can be computed early.
//  - Nothing in the loop writes the tensor that it reads, under whatever name,
//  or
//    has to come before the read: an atomic operation with an order comes
//    before all that follow.
//  - The tensor is there before the loop: one at an address is not made in it.
//  - It fills all of the target, so that what other iterations left there is
//    gone in any case.
//  - No other block of the cluster reaches into the target.
//  - The loop does nothing else with the target but read it, behind the copy.
//  - What the loop leaves in the target is not read: each read elsewhere has an
//    op before it that overwrites all of the target, and the loop is not
//    between the two.
//
// Reads of the target before the loop, and writes to it elsewhere, are of the
// buffer that the program allocated; the loop has copies of its own.
//
//===----------------------------------------------------------------------===//

#include "tl/Dialect/TL/Analysis/RunAhead.h"

#include "tl/Dialect/TL/Analysis/Effects.h"
#include "tl/Dialect/TL/IR/Addresses.h"
#include "tl/Dialect/TL/IR/CopyTile.h"
#include "tl/Dialect/TL/IR/Locations.h"
#include "tl/Dialect/TL/IR/Pipes.h"
#include "tl/Dialect/TL/IR/Roles.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

/// True if `op` gives all elements of `buffer` new values.
static bool overwrites(Operation *op, Value buffer) {
  if (auto fill = dyn_cast<FillOp>(op))
    return fill.getTarget() == buffer;
  auto copy = dyn_cast<CopyOp>(op);
  return copy && copy.getTarget() == buffer && copy.getSource() != buffer &&
         !copy.getAsync() && fillsTarget(copy);
}

/// True if `read` sees what an op before it in some block around it wrote, and
/// not what the loop did.
static bool isOverwrittenBefore(Operation *read, Value buffer,
                                PipelinedOp loop) {
  return llvm::any_of(buffer.getUsers(), [&](Operation *writer) {
    if (!overwrites(writer, buffer))
      return false;
    Block *block = writer->getBlock();
    Operation *reader = block->findAncestorOpInBlock(*read);
    if (!reader || !writer->isBeforeInBlock(reader))
      return false;
    Operation *other = block->findAncestorOpInBlock(*loop);
    return !other || other->isBeforeInBlock(writer) ||
           reader->isBeforeInBlock(other);
  });
}

/// True if the loop writes memory that `tensor` may be of, too, through another
/// buffer.
static bool writesByOtherName(PipelinedOp loop, Value tensor) {
  WalkResult result = loop.getBody().walk([&](Operation *op) {
    bool writes = llvm::any_of(getEvents(op), [&](const Event &event) {
      auto *access = std::get_if<Access>(&event);
      Value buffer = access ? getBuffer(access->buffer) : Value();
      return access && access->writes && buffer != tensor &&
             mayBeSame(buffer, tensor);
    });
    return writes ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// True if `op` reads an element of device memory that is the same in all of
/// the loop. Outside of its tensor it reads zero, so that it can be done early.
static bool readsWhatStays(Operation *op, PipelinedOp loop) {
  auto load = dyn_cast<LoadOp>(op);
  return load && isInSpace(load.getSource(), Space::Global) &&
         !writesByOtherName(loop, load.getSource()) &&
         llvm::all_of(load.getSource().getUsers(), [&](Operation *user) {
           return !loop->isProperAncestor(user) ||
                  onlyReads(user, load.getSource());
         });
}

LogicalResult tl::collectOffsetOps(CopyOp copy, PipelinedOp loop,
                                   SetVector<Operation *> &ops) {
  SetVector<Value> worklist;
  worklist.insert_range(copy.getSourceOffsets());
  for (Region &places : copy.getPlaces()) {
    getUsedValuesDefinedAbove(places, worklist);
    bool stays = llvm::all_of(places.front(), [&](Operation &op) {
      return !isa<LoadOp>(op) || readsWhatStays(&op, loop);
    });
    if (!stays)
      return failure();
  }
  for (size_t i = 0; i < worklist.size(); ++i) {
    Operation *op = worklist[i].getDefiningOp();
    if (!op || !loop->isProperAncestor(op))
      continue;
    if (op->getBlock() != copy->getBlock() || op->getNumRegions() != 0 ||
        (!isPure(op) && !readsWhatStays(op, loop)))
      return failure();
    ops.insert(op);
    worklist.insert_range(op->getOperands());
  }
  return success();
}

/// "`As`", or "the tile" if it has no name.
static std::string getName(Value buffer) {
  StringAttr name = getGivenName(buffer.getLoc());
  return name ? ("`" + name.getValue() + "`").str() : "the tile";
}

/// True if `loop` has an atomic operation that orders other accesses.
static bool hasOrder(PipelinedOp loop) {
  return loop.getBody()
      .walk([](AtomicOp atomic) {
        return atomic.getOrder() == MemoryOrder::Relaxed
                   ? WalkResult::advance()
                   : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Why the copy must be done in its own iteration; empty if it need not.
static std::string whyNotAhead(CopyOp copy, PipelinedOp loop) {
  Value target = copy.getTarget(), source = copy.getSource();
  std::string name = getName(target);
  Block *body = &loop.getBody().front();
  SetVector<Operation *> ops;
  if (copy->getBlock() != body)
    return "the copy into " + name + " stands in a branch or an inner loop";
  if (!target.getDefiningOp<AllocOp>())
    return "the copy fills a slot that the program itself chose";
  if (isReachedByOthers(target))
    return "other blocks of the cluster reach into " + name;
  if (hasOrder(loop))
    return "the loop has an atomic operation that other accesses are ordered "
           "by";
  if (!fillsTarget(copy))
    return "the copy fills only a part of " + name +
           ", and the rest is left by other iterations";
  if (failed(collectOffsetOps(copy, loop, ops)))
    return "where the copy into " + name +
           " reads takes more to find out than arithmetic on the loop index "
           "and elements of tensors that the loop does not write";
  if (Operation *maker = source.getDefiningOp();
      maker && loop->isProperAncestor(maker))
    return "the loop makes the tensor that the copy into " + name + " reads";
  if (writesByOtherName(loop, source))
    return "the loop writes to memory that the tensor which the copy into " +
           name + " reads may be of, since one of the two is at an address";
  for (Operation *user : source.getUsers())
    if (loop->isProperAncestor(user) && !onlyReads(user, source))
      return "the loop writes to the tensor that the copy into " + name +
             " reads";
  for (Operation *user : target.getUsers()) {
    if (user == copy)
      continue;
    Operation *place = body->findAncestorOpInBlock(*user);
    if (!place) {
      if (!hasOnlyEffect<MemoryEffects::Write>(user, target) &&
          !isOverwrittenBefore(user, target, loop))
        return "what the loop leaves in " + name + " may be read outside of it";
    } else if (!onlyReads(user, target)) {
      return "the copy is not all that the loop writes to " + name;
    } else if (place->isBeforeInBlock(copy)) {
      return "the loop reads " + name + " before it is filled";
    }
  }
  return "";
}

/// Whether `store` copies an element from device memory into shared memory.
static bool copiesElement(StoreOp store) {
  auto load = store.getValue().getDefiningOp<LoadOp>();
  return load && isInSpace(load.getSource(), Space::Global) &&
         isInSpace(store.getTarget(), Space::Shared);
}

RunAhead RunAhead::of(PipelinedOp loop) {
  RunAhead result;
  loop.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    // The copies of a loop inside are its own affair.
    if (isa<PipelinedOp>(op))
      return WalkResult::skip();
    if (auto store = dyn_cast<StoreOp>(op); store && copiesElement(store)) {
      result.filledByElements = getName(store.getTarget());
      auto copied = store->getParentOfType<ParallelOp>();
      if (copied && copied->hasAttr(kCutAttr))
        result.cuts.push_back(copied);
    }
    auto copy = dyn_cast<CopyOp>(op);
    if (!copy || !isInSpace(copy.getSource(), Space::Global) ||
        !isInSpace(copy.getTarget(), Space::Shared))
      return WalkResult::advance();
    std::string reason = whyNotAhead(copy, loop);
    if (reason.empty())
      result.copies.push_back(copy);
    else
      result.refusals.push_back({copy, reason});
    return WalkResult::advance();
  });
  return result;
}

std::string RunAhead::whyNone() const {
  assert(copies.empty() && "asked of loops that have none");
  if (!refusals.empty())
    return refusals.front().reason;
  if (!cuts.empty())
    return whyNotCut();
  if (!filledByElements.empty())
    return "the copy into " + filledByElements +
           " is one of single elements: of a `T.Parallel` that does not go "
           "along the rows of a tensor which the kernel only reads, or of a "
           "`T.copy` "
           "whose tile does not lie along the last dimensions of the tensor";
  return "it has no copy from device memory into shared memory";
}

std::string RunAhead::whyNotCut() {
  return "a slice ends where only the running kernel knows, so that its "
         "copy is made element by element";
}
