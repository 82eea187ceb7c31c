//===- ThreadSequence.cpp - Statements of threads in one loop -------------===//
//
// A program that is written thread by thread says in each statement what every
// thread does, and each sees what all threads have done before (S3, S4). As a
// parallel loop for each statement it would keep what a thread has in a
// variable outside of loops, and ask at each statement whether threads meet.
// Statements that follow each other, loops and branches of the block included,
// are one loop over threads,
//
//     for k in T.serial(8):                tl.parallel (%t) in (threads) {
//         a[k] = A[tid * 8 + k]              scf.for %k …
//     for k in T.serial(8):          ->      scf.for %k …
//         total[0] += a[k] * b[k]          }
//
// in which a thread does all of them before another one does any. Sound if
//
// - no thread touches an element that another one writes in a different
//   statement, or in another iteration of a loop of the block, of shared or
//   device memory (OwnElements.h). Within one statement that is a race as it
//   was;
// - nothing in it orders threads or is executed by all of them together: only
//   arithmetic, accesses, relaxed atomic operations, loops and branches are
//   taken;
// - what the block executes once, inside of a loop that is taken, thread 0 does
//   (`kOnceAttr`), and to variables of the block nothing is assigned but in a
//   loop that they are declared in;
// - reads of it are done in it, and those of others are not
//   (`keepReadsApart` in NormalizeStatements.cpp);
// - values of the block that are computed between the statements are computed
//   before them: they read nothing that a statement before has written.
//
// tl-verify-layouts and tl-verify-sync hold what becomes of it to account as
// any loop, and the simulator reports iterations that meet.
//
//===----------------------------------------------------------------------===//

#include "ThreadSequence.h"

#include "tl/Dialect/TL/Analysis/Variables.h"
#include "tl/Dialect/TL/IR/Addresses.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tl;

static bool isLoop(Operation *op) { return isa<scf::ForOp, scf::WhileOp>(op); }

/// True if `op`, or what is in it, is executed for each thread.
static bool holdsThreads(Operation *op, const ThreadDependence &dependence) {
  return op
      ->walk([&](Operation *nested) {
        return dependence.isPerThread(nested) ? WalkResult::interrupt()
                                              : WalkResult::advance();
      })
      .wasInterrupted();
}

bool ThreadSequence::add(Operation *op) {
  if (isa<AllocOp>(op))
    return true;
  if (!holdsThreads(op, dependence))
    return canStandInFront(op);
  // What differs between threads has a place for each; other results would be
  // the block's.
  for (Value result : op->getResults())
    if (!dependence.depends(result) && !result.use_empty())
      return false;
  newOnce.clear();
  newVariables = false;
  if (!collect(op, {op}))
    return false;
  once.append(newOnce);
  hasVariables |= newVariables;
  statements.push_back(op);
  numLoops += isLoop(op);
  numActive += op->getNumRegions() != 0 || !isMemoryEffectFree(op);
  return true;
}

bool ThreadSequence::pays() const {
  return hasVariables && (numActive > 1 || numLoops > 0);
}

void ThreadSequence::markOnce() {
  for (Operation *op : once)
    op->setAttr(kOnceAttr, UnitAttr::get(op->getContext()));
}

bool ThreadSequence::isWritten(Value buffer) const {
  return llvm::any_of(buffers, [&](const auto &entry) {
    return entry.second.isWritten && mayBeSame(entry.first, buffer);
  });
}

/// True for what computes values of the block, and reads nothing that was
/// written in the sequence.
bool ThreadSequence::canStandInFront(Operation *op) const {
  if (op->getNumRegions() == 0 && isMemoryEffectFree(op) && isScalarOp(op))
    return true;
  auto load = dyn_cast<LoadOp>(op);
  return load && !isInSpace(load.getSource(), Space::Fragment) &&
         !isWritten(getBuffer(load.getSource()));
}

//===----------------------------------------------------------------------===//
// What a statement is made of
//===----------------------------------------------------------------------===//

bool ThreadSequence::collect(Operation *op, Place place) {
  if (!place.unit && dependence.isPerThread(op))
    place.unit = op;
  if (op->hasTrait<OpTrait::IsTerminator>())
    return true;
  if (isa<AllocOp>(op))
    return isInSpace(op->getResult(0), Space::Private);
  if (auto load = dyn_cast<LoadOp>(op))
    return collectAccess(op, load.getSource(), load.getIndices(),
                         /*isWrite=*/false, place);
  if (auto store = dyn_cast<StoreOp>(op))
    return collectAccess(op, store.getTarget(), store.getIndices(),
                         /*isWrite=*/true, place);
  if (auto atomic = dyn_cast<AtomicOp>(op)) {
    bool isOrdered = atomic.getOrder() != MemoryOrder::Relaxed;
    // What the one thread gets would have to be handed to all.
    bool isGiven = !place.unit && !atomic.getOld().use_empty();
    return !isOrdered && !isGiven &&
           !isInSpace(atomic.getTarget(), Space::Private) &&
           collectAccess(op, atomic.getTarget(), atomic.getIndices(),
                         /*isWrite=*/true, place);
  }
  if (op->getNumRegions() == 0)
    return isMemoryEffectFree(op) && isScalarOp(op);
  if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
    return false;
  place.isRepeated |= isLoop(op) && !place.unit;
  for (Region &region : op->getRegions())
    for (Block &nested : region)
      for (Operation &inner : nested)
        if (!collect(&inner, place))
          return false;
  return true;
}

bool ThreadSequence::collectAccess(Operation *op, Value view,
                                   ValueRange indices, bool isWrite,
                                   Place place) {
  Value buffer = getBuffer(view);
  if (isInSpace(buffer, Space::Fragment))
    return false;
  if (isInSpace(buffer, Space::Private)) {
    bool isOfThread = dependence.depends(buffer);
    newVariables |= isOfThread;
    return isOfThread || !isWrite ||
           place.statement->isProperAncestor(buffer.getDefiningOp());
  }
  bool isOfFirst = isWrite && !place.unit;
  if (isOfFirst)
    newOnce.push_back(op);
  // A part of a buffer that is chosen anew each time is not looked into.
  if (!view.getParentRegion()->isAncestor(block.getParent()))
    return false;
  if (!place.unit)
    place.unit = op;
  return addAccess({view, indices, isWrite, isOfFirst}, place);
}

//===----------------------------------------------------------------------===//
// Whether threads meet
//===----------------------------------------------------------------------===//

bool ThreadSequence::addAccess(const ThreadAccess &access, Place place) {
  Value base = getBuffer(access.view);
  for (auto &[other, known] : buffers)
    if (other != base && mayBeSame(other, base) &&
        (access.isWrite || known.isWritten))
      return false;
  Buffer &buffer = buffers[base];
  buffer.accesses.push_back(access);
  buffer.units.insert(place.unit);
  buffer.isWritten |= access.isWrite;
  buffer.isRepeated |= place.isRepeated;
  if (!buffer.isWritten || (buffer.units.size() == 1 && !buffer.isRepeated))
    return true;
  if (buffer.own)
    return buffer.own->add(access);
  buffer.own = std::make_unique<OwnElements>(block, size, dependence);
  return llvm::all_of(buffer.accesses, [&](const ThreadAccess &each) {
    return buffer.own->add(each);
  });
}
